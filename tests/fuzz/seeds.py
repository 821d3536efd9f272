"""Valid HTTP responses of every kind that the sender reads, to be mutated."""

import gzip
import zlib

__all__ = ["BODY", "ENCODED", "RESPONSES"]

BODY = b'{"error": "no such order", "trace": "hunter2"}' * 2
ENCODED = {
    "gzip": gzip.compress(BODY, mtime=0),
    "deflate": zlib.compress(BODY),
    "deflate, raw": zlib.compress(BODY, wbits=-15),
}


def with_length(head: bytes, body: bytes) -> bytes:
    return b"%b\r\ncontent-length: %d\r\n\r\n%b" % (head, len(body), body)


def chunked(head: bytes, body: bytes) -> bytes:
    half = len(body) // 2
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:half], body[half:]) if part)
    return b"%b\r\ntransfer-encoding: chunked\r\n\r\n%b0\r\n\r\n" % (head, chunks)


RESPONSES = [
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n",
    with_length(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain", b"ok"),
    with_length(b"HTTP/1.0 500 Oops\r\nx-trace: hunter2", BODY),
    with_length(b"HTTP/1.1 503 No\r\nRetry-After: 7\r\nconnection: close", b""),
    with_length(b"HTTP/1.1 301 Moved\r\nlocation: https://new.example/?t=hunter2", b"moved"),
    with_length(b"HTTP/1.1 400 Bad\r\ncontent-encoding: gzip", ENCODED["gzip"]),
    with_length(b"HTTP/1.1 400 Bad\r\ncontent-encoding: deflate", ENCODED["deflate, raw"]),
    chunked(b"HTTP/1.1 200 OK", b"ok"),
    chunked(b"HTTP/1.1 422 No\r\ncontent-encoding: deflate", ENCODED["deflate"]),
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x\r\n\r\n2;a=b\r\nok\r\n0\r\nx: hunter2\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\nuntil the end " + BODY,
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\n"
    + with_length(b"HTTP/1.1 201 Made", b"1"),
    b"HTTP/1.1 101 Up\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n\x81\x00",
    b"HTTP/1.1 304 Not Modified\r\ncontent-length: 100\r\n\r\n",
]
