"""The kept beginning of a body. CASES 18, 19."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.excerpt import Excerpt


def raw_deflate(body: bytes) -> bytes:
    return zlib.compress(body, wbits=-15)


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "GZIP": gzip.compress,
    "deflate": zlib.compress,
    "deflate, raw": raw_deflate,
}


@given(st.sampled_from(sorted(ENCODERS)), st.binary(max_size=300), st.integers(1, 120), st.integers(1, 50))
def test_the_beginning_is_kept_however_it_was_encoded_and_cut(
    encoding: str, body: bytes, limit_bytes: int, piece_bytes: int
) -> None:
    """Decoded in any pieces, exactly the first bytes up to the limit stay, and it is known whether that is all."""
    sent = ENCODERS[encoding](body)
    excerpt = Excerpt(encoding=encoding.partition(",")[0], limit_bytes=limit_bytes)

    for at in range(0, len(sent), piece_bytes):
        excerpt.feed(sent[at : at + piece_bytes])

    assert excerpt.kept == body[:limit_bytes]
    if encoding in {"", "identity"} or len(body) > limit_bytes + 1:
        assert excerpt.is_whole == (len(body) <= limit_bytes)


def test_cases_19_a_bomb_is_not_unpacked() -> None:
    """100 MB of zeros in 100 KB: no more than the limit is ever decoded."""
    bomb = gzip.compress(bytes(100_000_000), compresslevel=1)
    excerpt = Excerpt(encoding="gzip", limit_bytes=1024)

    tracemalloc.start()
    excerpt.feed(bomb)
    excerpt.feed(bomb)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 2 * len(bomb)
    assert excerpt.kept == bytes(1024)
    assert not excerpt.is_whole


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "nonsense"])
def test_of_an_unknown_encoding_nothing_is_kept(encoding: str) -> None:
    """Undecoded bytes would tell nobody anything."""
    excerpt = Excerpt(encoding=encoding, limit_bytes=10)

    excerpt.feed(b"anything")

    assert excerpt.kept == b""
    assert not excerpt.is_whole


@given(st.binary(min_size=1, max_size=200), st.sampled_from(["gzip", "deflate"]))
def test_what_is_not_what_it_says_is_no_error(body: bytes, encoding: str) -> None:
    """A body is for people to look at; a broken one must not break the attempt."""
    excerpt = Excerpt(encoding=encoding, limit_bytes=50)

    excerpt.feed(body)
    excerpt.feed(body)

    assert len(excerpt.kept) <= 50


def test_a_stream_that_breaks_keeps_what_came_before() -> None:
    """The good beginning of a corrupt answer still says something."""
    excerpt = Excerpt(encoding="gzip", limit_bytes=50)

    excerpt.feed(gzip.compress(b"so far so good", mtime=0)[:-8] + b"XXXXXXXX")
    excerpt.feed(b"more")

    assert excerpt.kept == b"so far so good"[: len(excerpt.kept)]
