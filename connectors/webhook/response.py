"""Reading a response out of bytes, within bounds. Pure: no socket, no clock.

Place in the data's way: between `connection`, which feeds it what arrives, and httptools (llhttp), which
parses it and calls the `on_…` methods in the middle of `feed`. Invariants: it comes to an outcome after a
bounded number of bytes, whatever they are; once it has a head, that decides, and no fault of the body turns
it into a failure.
"""

from typing import Final

import httptools

from connectors.webhook.answer import NoAnswerReason, Stage
from connectors.webhook.excerpt import Excerpt
from connectors.webhook.limits import Limits
from connectors.webhook.reply import Failure, Reply

__all__ = ["ResponseReader"]

_CONTINUE: Final = 100
_SWITCHING_PROTOCOLS: Final = 101
_OK: Final = 200
_MAX_HEADER_CHARS: Final = 1024


class ResponseReader:
    r"""Reads the responses of one connection, one after another.

    >>> reader = ResponseReader(Limits())
    >>> reader.feed(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok")
    >>> reader.outcome, reader.is_reusable
    (Reply(status=201, retry_after=None, location=None, excerpt=b'ok', is_excerpt_whole=True), True)
    """

    __slots__ = (
        "_encoding",
        "_excerpt",
        "_has_head",
        "_is_framed",
        "_limits",
        "_location",
        "_parser",
        "_received_bytes",
        "_retry_after",
        "_status",
        "is_reusable",
        "outcome",
    )

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._parser = httptools.HttpResponseParser(self)
        self.begin()

    def begin(self) -> None:
        """Get ready for the response to the next request."""
        self._received_bytes = 0
        self.outcome: Reply | Failure | None = None
        self.is_reusable = False
        """Whether the connection may carry another request: the response ended cleanly, and agreed to it."""
        self._begin_message()

    def _begin_message(self) -> None:
        self._has_head = self._is_framed = False
        self._status = 0
        self._retry_after: str | None = None
        self._location: str | None = None
        self._encoding = ""
        self._excerpt: Excerpt | None = None

    @property
    def has_begun(self) -> bool:
        """Whether a byte of the response has come."""
        return self._received_bytes > 0

    def feed(self, data: bytes) -> None:
        """Take what arrived."""
        self._received_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.is_reusable = False
        except httptools.HttpParserError as error:
            self.is_reusable = False
            # llhttp's messages are fixed texts; they quote nothing.
            self._end_early(
                NoAnswerReason.RESPONSE_MALFORMED, f"what came is not an HTTP/1.1 response: {error}"
            )
        if self.outcome is None:
            self._check_bounds()

    def cut_off(self, reason: NoAnswerReason, detail: str) -> None:
        """End the response here: time is up."""
        self._end_early(reason, detail)

    def end_of_stream(self, *, is_orderly: bool) -> None:
        """End the response where the connection ended. Orderly: closed, not reset."""
        if self._has_head:
            # A body without a length ends with its connection; any other was cut short.
            self._end(is_whole=is_orderly and not self._is_framed)
        elif self.has_begun:
            detail = "the connection was closed in the middle of the answer's headers"
            self._end_early(NoAnswerReason.CONNECTION_LOST, detail)
        elif self.outcome is None:
            detail = "the connection was closed without an answer"
            self.outcome = Failure(
                NoAnswerReason.CONNECTION_LOST, Stage.SENT, detail, is_unanswered_loss=True
            )

    # What the parser calls

    def on_message_begin(self) -> None:
        """Notice a second response to one request: it must not become the next answer."""
        if self.outcome is not None:
            self.is_reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the few headers that count, and of one that is repeated the first; of trailers none."""
        if self._has_head:
            return  # RFC 9110, 6.5.1: a trailer is no header, and whoever sent the head may not have seen it
        match name.lower():
            case b"content-length" | b"transfer-encoding":
                self._is_framed = True
            case b"retry-after" if self._retry_after is None:
                self._retry_after = _text(value)
            case b"location" if self._location is None:
                self._location = _text(value)
            case b"content-encoding":
                # Two encodings, one over the other, make a list that `Excerpt` doesn't know.
                self._encoding += ("," if self._encoding else "") + _text(value)

    def on_headers_complete(self) -> None:
        """Note the status. An interim response (1xx) is not the answer."""
        self._status = status = self._parser.get_status_code()
        self._has_head = not _CONTINUE <= status < _OK or status == _SWITCHING_PROTOCOLS

    def on_body(self, piece: bytes) -> None:
        """Keep the body's beginning."""
        if self._excerpt is None:
            self._excerpt = Excerpt(encoding=self._encoding, limit_bytes=self._limits.excerpt_bytes)
        self._excerpt.feed(piece)

    def on_message_complete(self) -> None:
        """End the response, unless it was an interim one."""
        if self._has_head:
            self.is_reusable = self.outcome is None and self._parser.should_keep_alive()
            self._end(is_whole=True)
        else:
            self._begin_message()

    # How a response ends

    def _end(self, *, is_whole: bool) -> None:
        if self.outcome is not None:
            return
        excerpt = self._excerpt
        self.outcome = Reply(
            self._status,
            self._retry_after,
            self._location,
            b"" if excerpt is None else excerpt.kept,
            is_whole and (excerpt is None or excerpt.is_whole),
        )

    def _end_early(self, reason: NoAnswerReason, detail: str) -> None:
        if self._has_head:
            self._end(is_whole=False)
        elif self.outcome is None:
            self.outcome = Failure(reason, Stage.ANSWER if self.has_begun else Stage.SENT, detail)

    def _check_bounds(self) -> None:
        limit = self._limits.response_bytes if self._has_head else self._limits.response_head_bytes
        if self._received_bytes >= limit:
            detail = f"the answer's headers had not ended after {self._received_bytes} bytes"
            self._end_early(NoAnswerReason.RESPONSE_HEAD_TOO_LARGE, detail)


def _text(value: bytes) -> str:
    return value[:_MAX_HEADER_CHARS].decode("latin-1")
