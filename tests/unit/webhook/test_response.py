"""Reading a response out of bytes: every one ends, whatever they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.answer import NoAnswerReason, Stage
from connectors.webhook.limits import Limits
from connectors.webhook.reply import Failure, Reply
from connectors.webhook.response import ResponseReader

LIMITS = Limits(response_head_bytes=1_000, response_bytes=2_000, excerpt_bytes=10)


def read(*pieces: bytes) -> ResponseReader:
    reader = ResponseReader(LIMITS)
    for piece in pieces:
        if reader.outcome is None:
            reader.feed(piece)
    return reader


def reply(status: int, excerpt: bytes = b"", *, whole: bool = True) -> Reply:
    return Reply(status, None, None, excerpt, whole)


@pytest.mark.parametrize(
    ("sent", "expected", "is_reusable"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", reply(204), True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", reply(200, b"ok"), True),
        (b"HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", reply(200), True),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\ntrailer: x\r\n\r\n",
            reply(200, b"ok"),
            True,
        ),
        (b"HTTP/1.1 500 No\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno", reply(500, b"no"), False),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", reply(200, b"ok"), False),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n" + b"x" * 20,
            reply(200, b"x" * 10, whole=False),
            True,
        ),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
            reply(204),
            True,
        ),
        (b"HTTP/1.1 101 Up\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", reply(101), False),
        # Two responses to one request: the second must never become the answer to the next.
        (b"HTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", reply(204), False),
        (b"HTTP/1.1 204 No\r\n\r\ngarbage", reply(204), False),
        # Faults of the body, after a head that decides.
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", reply(200, whole=False), False),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n" + b"x" * 3_000,
            reply(200, b"x" * 10, whole=False),
            False,
        ),
        (
            b"HTTP/1.1 503 No\r\nRetry-After: 7\r\nretry-after: 8\r\nLOCATION: /x\r\ncontent-length: 0\r\n\r\n",
            Reply(503, "7", "/x", b"", is_excerpt_whole=True),
            True,
        ),
    ],
)
@pytest.mark.parametrize("piece_bytes", [1, 7, 100_000])
def test_a_response_is_read_however_it_is_cut(
    sent: bytes,
    expected: Reply,
    is_reusable: bool,  # noqa: FBT001 - a parameter of the cases
    piece_bytes: int,
) -> None:
    """The same bytes in one piece or in many give the same reply, and the right word on reuse."""
    reader = read(*(sent[at : at + piece_bytes] for at in range(0, len(sent), piece_bytes)))

    assert reader.outcome == expected
    if piece_bytes == len(sent) or piece_bytes == 100_000:
        assert reader.is_reusable == is_reusable


@pytest.mark.parametrize(
    "sent",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"<html>",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nname : value\r\n\r\n",
    ],
)
def test_what_is_not_http_is_malformed(sent: bytes) -> None:
    """Before the head is complete, and two lengths that differ are not HTTP either."""
    outcome = read(sent).outcome

    assert isinstance(outcome, Failure)
    assert outcome.reason is NoAnswerReason.RESPONSE_MALFORMED
    assert not outcome.is_unanswered_loss


@pytest.mark.parametrize(
    "piece", [b"x-more: and more\r\n", b"\r\nHTTP/1.1 103 Early Hints\r\n", b"more-and-more-of-the-same-name"]
)
def test_headers_without_end_are_cut_off(piece: bytes) -> None:
    """Endless fields, endless interim responses, one endless field: all within the head's bound."""
    reader = read(b"HTTP/1.1 103 Early Hints\r\n", *([piece] * 1_000))

    assert isinstance(reader.outcome, Failure)
    assert reader.outcome.reason is NoAnswerReason.RESPONSE_HEAD_TOO_LARGE
    assert not reader.is_reusable


@given(st.lists(st.binary(max_size=300), min_size=20, max_size=20), st.booleans())
def test_whatever_comes_there_is_an_outcome_in_the_end(pieces: list[bytes], is_after_head: bool) -> None:  # noqa: FBT001 - drawn
    """No bytes raise, and the end of the stream always settles it."""
    start = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" if is_after_head else b""

    reader = read(start, *(piece for piece in pieces if piece))
    reader.end_of_stream(is_orderly=True)

    assert reader.outcome is not None
    assert isinstance(reader.outcome, Reply) or not is_after_head


@pytest.mark.parametrize(
    ("sent", "is_orderly", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nall of it", True, reply(200, b"all of it")),
        (b"HTTP/1.1 200 OK\r\n\r\nhalf", False, reply(200, b"half", whole=False)),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", True, reply(200, b"half", whole=False)),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nhalf",
            True,
            reply(200, b"half", whole=False),
        ),
    ],
)
def test_the_end_of_the_connection_ends_a_body(sent: bytes, is_orderly: bool, expected: Reply) -> None:  # noqa: FBT001 - a parameter of the cases
    """Only a body without a length may end so; any other was cut short, and the head counts all the same."""
    reader = read(sent)
    reader.end_of_stream(is_orderly=is_orderly)

    assert reader.outcome == expected
    assert not reader.is_reusable


def test_a_loss_before_the_first_byte_is_told_from_one_after_it() -> None:
    """Only the first may be repeated on a fresh connection (CASES 23)."""
    silent, torn = read(), read(b"HTTP/1.1 20")
    for reader in (silent, torn):
        reader.end_of_stream(is_orderly=True)

    assert isinstance(silent.outcome, Failure)
    assert isinstance(torn.outcome, Failure)
    assert (silent.outcome.is_unanswered_loss, silent.outcome.stage) == (True, Stage.SENT)
    assert (torn.outcome.is_unanswered_loss, torn.outcome.stage) == (False, Stage.ANSWER)


def test_a_reader_forgets_the_last_response() -> None:
    """Nothing of one answer shows in the next on the same connection."""
    reader = read(b"HTTP/1.1 503 No\r\nretry-after: 7\r\nlocation: /x\r\ncontent-length: 2\r\n\r\nno")

    reader.begin()
    reader.feed(b"HTTP/1.1 204 No\r\n\r\n")

    assert reader.outcome == reply(204)
    assert reader.is_reusable
