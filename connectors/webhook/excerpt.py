"""The first bytes of a response's body, decoded. Pure.

Invariant: never more than the limit is decoded, so a compressed bomb costs no more than its own bytes on the
wire (CASES 19), which the connection bounds. We ask for no compression; some receivers compress all the same.
"""

import zlib
from typing import Final, Protocol

__all__ = ["Excerpt"]

_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_RAW_DEFLATE: Final = -zlib.MAX_WBITS
# What tells a gzip or zlib stream from a bare one.
_MAGIC_BYTES: Final = 2


class _Inflater(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


class Excerpt:
    """Takes a body piece by piece and keeps its decoded beginning.

    `encoding` is the Content-Encoding header's value. Of an encoding that isn't known, nothing is kept:
    undecoded bytes would tell nobody anything.

    >>> excerpt = Excerpt(encoding="gzip", limit_bytes=4)
    >>> excerpt.feed(zlib.compress(b"abcdef", wbits=31))
    >>> excerpt.kept, excerpt.is_whole
    (b'abcd', False)
    """

    __slots__ = ("_inflater", "_is_begun", "_kept", "_limit_bytes", "_start", "is_whole")

    def __init__(self, *, encoding: str, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._kept = bytearray()
        self._inflater: _Inflater | None = None
        self._is_begun = False
        self._start: bytes | None = b""
        self.is_whole = True
        """Whether nothing was left out so far."""
        match encoding.strip().lower():
            case "" | "identity":
                pass
            case "gzip" | "x-gzip" | "deflate":
                self._inflater = zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
            case _:
                self._limit_bytes = 0

    @property
    def kept(self) -> bytes:
        """The decoded bytes so far."""
        return bytes(self._kept)

    def feed(self, piece: bytes) -> None:
        """Take the next piece of the body."""
        room = self._limit_bytes - len(self._kept)
        if self._inflater is None:
            self._keep(piece, room)
        elif self._inflater.eof:
            self.is_whole = False
        elif self.is_whole:
            # Also without room: what comes may be the stream's last words, and nothing of the body.
            self._inflate(self._inflater, piece, room)

    def _keep(self, decoded: bytes, room: int) -> None:
        self._kept += decoded[:room]
        if len(decoded) > room:
            self.is_whole = False

    def _inflate(self, inflater: _Inflater, piece: bytes, room: int) -> None:
        if self._start is not None:
            piece = self._start + piece
            self._start = piece if len(piece) < _MAGIC_BYTES else None
            if self._start is not None:
                return
        # One byte more than there is room for shows whether there is more, without decoding it.
        self._keep(self._inflated(inflater, piece, room + 1), room)
        # Behind the end there may be another member (RFC 1952, 2.2): not for an excerpt.
        if self._inflater is not None and self._inflater.unused_data:
            self.is_whole = False

    def _inflated(self, inflater: _Inflater, piece: bytes, limit_bytes: int) -> bytes:
        is_start, self._is_begun = not self._is_begun, True
        try:
            return inflater.decompress(piece, limit_bytes)
        except zlib.error:
            pass
        if is_start:
            # "deflate" means zlib, but some send the bare stream (RFC 9110, 8.4.1.2, notes it).
            self._inflater = raw = zlib.decompressobj(wbits=_RAW_DEFLATE)
            return self._inflated(raw, piece, limit_bytes)
        self._limit_bytes = len(self._kept)
        self.is_whole = False
        return b""
