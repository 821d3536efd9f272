"""Bodies that were compressed, or say so: decoded to a bounded beginning, whatever they are."""

from hypothesis import example, given
from hypothesis import strategies as st

from connectors.webhook.excerpt import Excerpt
from tests.fuzz.mutation import any_text, mutated, mutated_text, pieces_of
from tests.fuzz.profile import FUZZ
from tests.fuzz.seeds import BODY, ENCODED

ENCODINGS = ["", "identity", "gzip", "x-gzip", "deflate", "GZIP", "gzip, deflate", "br"]
CUTS = st.lists(st.integers(1, 40), min_size=1, max_size=4)


def fed(encoding: str, pieces: list[bytes], *, limit_bytes: int) -> Excerpt:
    excerpt = Excerpt(encoding=encoding, limit_bytes=limit_bytes)
    for piece in pieces:
        excerpt.feed(piece)
    return excerpt


@FUZZ
@given(
    encoding=st.sampled_from(ENCODINGS) | mutated_text(ENCODINGS) | any_text,
    raw=mutated([BODY, *ENCODED.values()]),
    cuts=CUTS,
    limit_bytes=st.integers(1, 120),
)
def test_any_body_has_a_bounded_beginning(
    encoding: str, raw: bytes, cuts: list[int], limit_bytes: int
) -> None:
    """CASES 19: never more than the limit, never an exception; of an unknown encoding nothing."""
    excerpt = fed(encoding, pieces_of(raw, cuts), limit_bytes=limit_bytes)
    assert len(excerpt.kept) <= limit_bytes
    known = encoding.strip().lower()
    if known in {"", "identity"}:
        assert excerpt.kept == raw[:limit_bytes]
        assert excerpt.is_whole == (len(raw) <= limit_bytes)
    elif known not in {"gzip", "x-gzip", "deflate"}:
        assert excerpt.kept == b""


@FUZZ
@given(
    encoding=st.sampled_from(["gzip", "deflate"]),
    raw=mutated(list(ENCODED.values())),
    cuts=CUTS,
    limit_bytes=st.integers(1, 120),
)
@example(encoding="deflate", raw=ENCODED["deflate, raw"], cuts=[1], limit_bytes=120)
@example(encoding="gzip", raw=ENCODED["gzip"], cuts=[1], limit_bytes=len(BODY))
@example(encoding="gzip", raw=ENCODED["gzip"] * 2, cuts=[1], limit_bytes=120)
def test_how_a_body_was_cut_changes_nothing(
    encoding: str, raw: bytes, cuts: list[int], limit_bytes: int
) -> None:
    """A bare deflate stream is known as one from its first byte alone, and so is what comes behind an end."""
    whole = fed(encoding, [raw] if raw else [], limit_bytes=limit_bytes)
    cut = fed(encoding, pieces_of(raw, cuts), limit_bytes=limit_bytes)
    # A stream that breaks gives what was decoded before the piece with the break in it: that may be less in one piece.
    assert cut.kept.startswith(whole.kept)
    if whole.is_whole:
        assert (cut.kept, cut.is_whole) == (whole.kept, whole.is_whole)


def test_what_comes_behind_a_compressed_body_is_left_out_and_said_so() -> None:
    """A second member of a gzip file is legal (RFC 1952, 2.2), and is not shown: the excerpt is not whole then."""
    two = ENCODED["gzip"] * 2
    for pieces in ([two], [ENCODED["gzip"], ENCODED["gzip"]], pieces_of(two, [1])):
        excerpt = fed("gzip", pieces, limit_bytes=1_000)
        assert (excerpt.kept, excerpt.is_whole) == (BODY, False)
