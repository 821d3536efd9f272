"""Commit metadata: anybody may have written it, and what is read from it must never skip an unsettled record."""

from base64 import b64encode
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from streams.commit.metadata import METADATA_MAX_BYTES, Run, decode, encode, reset_mark
from tests.fuzz.mutation import any_text, mutated, mutated_text
from tests.fuzz.profile import FUZZ

BASES = st.sampled_from([0, 1, 10, 2**31, 2**62])
WRITTEN = [
    encode(0, runs)
    for runs in ([(1, 2)], [(3, 200), (70_000, 2**40)], [(2 * n + 1, 2 * n + 2) for n in range(3_000)])
]
MARKED = [encode(0, runs, mark="019cb1f0-0000-7000-8000-000000000000") for runs in ([], [(1, 2)], [(3, 200)])]


@st.composite
def settled_runs(draw: st.DrawFn) -> tuple[int, list[Run]]:
    """A base and runs that ascend beyond it without touching, some of them too many to be written."""
    base = position = draw(BASES)
    runs: list[Run] = []
    for gap, length in draw(st.lists(st.tuples(st.integers(1, 300), st.integers(1, 300)), max_size=30)):
        runs.append((position + gap, position + gap + length))
        position = runs[-1][1]
    for _ in range(draw(st.sampled_from([0, 0, 0, 2_000]))):
        runs.append((position + 1, position + 2))
        position = runs[-1][1]
    return base, runs


def assert_runs(base: int, runs: list[Run]) -> None:
    """Beyond the base, ascending, each with something in it and something before it."""
    for (_, end), (first, _) in pairwise([(base, base), *runs]):
        assert first > end
    assert all(first < end for first, end in runs)


@FUZZ
@given(base=BASES, metadata=mutated_text(WRITTEN) | any_text | any_text.map("1:".__add__))
@example(base=0, metadata="1:" + "9" * 5_000)
@example(base=0, metadata="1:\ud800")
def test_any_text_is_runs_beyond_the_base_or_nothing(base: int, metadata: str) -> None:
    """INV-2: never a run at or below the commit, never two that touch; unreadable is nothing known."""
    assert_runs(base, decode(base, metadata))


@FUZZ
@given(base=BASES, raw=mutated([b"\x02\x03\x01\x01", b"\xff\xff\x03\x01", b"\xff" * 8 + b"\x7f\x01"]))
def test_any_lengths_are_runs_beyond_the_base_or_nothing(base: int, raw: bytes) -> None:
    """The bytes inside of the base64: lengths of 0, without an end, longer than any log."""
    metadata = "1:" + b64encode(raw).decode()
    runs = decode(base, metadata)
    assert_runs(base, runs)
    if runs and len(metadata) <= METADATA_MAX_BYTES:
        assert decode(base, encode(base, runs)) == runs


@FUZZ
@given(settled=settled_runs(), metadata=mutated_text(MARKED) | any_text.map("@".__add__))
@example(settled=(0, [(2 * n + 1, 2 * n + 2) for n in range(3_000)]), metadata="@" + "é" * 36)
@example(settled=(0, []), metadata="@\ud800")
def test_whatever_stands_for_a_mark_the_next_commit_fits(
    settled: tuple[int, list[Run]], metadata: str
) -> None:
    """INV-2: it is carried on, or dropped; it never makes a commit that a broker would refuse, nor hides runs."""
    base, runs = settled
    mark = reset_mark(metadata)
    written = encode(base, runs, mark=mark)
    assert len(written.encode()) <= METADATA_MAX_BYTES
    assert reset_mark(written) == mark
    kept = decode(base, written)
    assert kept == decode(base, encode(base, runs))


@FUZZ
@given(settled_runs())
def test_what_is_written_fits_and_reads_back_as_its_beginning(settled: tuple[int, list[Run]]) -> None:
    """INV-8: at most what a broker takes; what was left out is left out from the far end."""
    base, runs = settled
    metadata = encode(base, runs)
    assert len(metadata.encode()) <= METADATA_MAX_BYTES
    kept = decode(base, metadata)
    assert kept == runs[: len(kept)]
    assert len(kept) == len(runs) or len(metadata) > METADATA_MAX_BYTES - 80
