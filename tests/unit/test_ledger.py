"""The commit rule: INV-2 and the memory of what was settled beyond a commit (INV-8), under arbitrary interleavings."""

from hypothesis import given
from hypothesis import strategies as st

from streams.commit.ledger import Commit, PartitionLedger
from streams.commit.metadata import METADATA_MAX_BYTES, decode, encode


def _received(ledger: PartitionLedger, *offsets: int) -> list[bool]:
    return [ledger.receive(offset) for offset in offsets]


def test_commit_stops_at_the_first_unsettled_offset() -> None:
    """INV-2: with the first of many messages slow, the commit does not move, however many settle behind it."""
    ledger = PartitionLedger(committed=10)
    _received(ledger, *range(10, 20))
    for offset in range(11, 20):
        ledger.settle(offset)
    commit = ledger.commit()
    assert commit is not None
    assert commit.offset == 10
    assert decode(10, commit.metadata) == [(11, 20)]


def test_next_owner_skips_what_was_settled_beyond_the_commit() -> None:
    """INV-8: what the metadata names is not delivered again; what it does not name is."""
    first = PartitionLedger(committed=10)
    _received(first, *range(10, 20))
    for offset in (12, 13, 17):
        first.settle(offset)
    commit = first.commit()
    assert commit is not None
    second = PartitionLedger(committed=commit.offset, committed_metadata=commit.metadata)
    taken = [offset for offset in range(10, 20) if second.receive(offset)]
    assert taken == [10, 11, 14, 15, 16, 18, 19]


def test_knowledge_beyond_the_last_received_offset_survives_a_second_hand_over() -> None:
    """A commit made before the known offsets are read again must not forget them (two crashes in a row)."""
    second = PartitionLedger(committed=10, committed_metadata=encode(10, [(12, 100), (150, 160)]))
    _received(second, 10, 11)
    second.settle(10)
    commit = second.commit()
    assert commit is not None
    assert commit.offset == 11
    assert decode(11, commit.metadata) == [(12, 100), (150, 160)]
    second.committed(commit)
    second.settle(11)
    assert second.commit() == Commit(100, encode(100, [(150, 160)]))


def test_holes_in_the_log_do_not_hold_the_commit() -> None:
    """Faust #606.

    An offset that never arrives (compaction, transaction markers) is not waited for, nor passed early.
    """
    ledger = PartitionLedger(committed=None)
    _received(ledger, 5, 9, 40)
    ledger.settle(5)
    ledger.settle(40)
    assert ledger.commit() == Commit(9, encode(9, [(10, 41)]))
    ledger.settle(9)
    assert ledger.commit() == Commit(41, "")


def test_nothing_new_is_not_committed_again() -> None:
    """An idle partition costs no commit requests."""
    ledger = PartitionLedger(committed=3)
    _received(ledger, 3)
    ledger.settle(3)
    commit = ledger.commit()
    assert commit == Commit(4, "")
    assert commit is not None
    ledger.committed(commit)
    assert ledger.commit() is None


def test_a_closed_ledger_commits_nothing() -> None:
    """A zombie's late settlement can't move the commit of a partition it has lost."""
    ledger = PartitionLedger(committed=3)
    _received(ledger, 3)
    ledger.close()
    ledger.settle(3)
    assert ledger.commit() is None


def test_a_record_read_again_in_one_assignment_is_skipped() -> None:
    """A seek back, as Faust does when its flow stops, repeats no delivery."""
    ledger = PartitionLedger(committed=0)
    assert _received(ledger, 0, 1, 0, 1, 2) == [True, True, False, False, True]


@given(
    start=st.integers(0, 2**40),
    steps=st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=200),
    hand_overs=st.lists(st.integers(0, 200), max_size=3),
)
def test_any_interleaving_loses_nothing_and_repeats_only_the_unsettled(
    start: int, steps: list[tuple[int, bool]], hand_overs: list[int]
) -> None:
    """For any settle order and any number of owners: settled offsets are never taken again, others always are."""
    offsets = [start]
    for gap, _ in steps:
        offsets.append(offsets[-1] + gap)
    settles = {offset: settled for offset, (_, settled) in zip(offsets, steps, strict=False)}
    ledger = PartitionLedger(committed=start)
    settled: set[int] = set()
    resumes_at = start
    for hand_over in [*sorted(hand_overs), len(offsets)]:
        for offset in (offset for offset in offsets[:hand_over] if offset >= resumes_at):
            taken = ledger.receive(offset)
            assert not (taken and offset in settled)
            if taken and settles.get(offset, False):
                ledger.settle(offset)
                settled.add(offset)
        commit = ledger.commit()
        if commit is not None:
            assert all(offset in settled for offset in offsets[:hand_over] if offset < commit.offset)
            assert len(commit.metadata) <= METADATA_MAX_BYTES
            ledger = PartitionLedger(committed=commit.offset, committed_metadata=commit.metadata)
            resumes_at = commit.offset


@given(
    base=st.integers(0, 2**50),
    lengths=st.lists(st.integers(1, 2**20), max_size=40).filter(lambda lengths: len(lengths) % 2 == 0),
)
def test_metadata_round_trip(base: int, lengths: list[int]) -> None:
    """Runs written are runs read."""
    edges = [base]
    for length in lengths:
        edges.append(edges[-1] + length)
    runs = list(zip(edges[1::2], edges[2::2], strict=True))
    assert decode(base, encode(base, runs)) == runs


@given(st.text(max_size=50) | st.text(alphabet="1:AQIDgA==/+", max_size=50))
def test_unreadable_metadata_means_nothing_known(text: str) -> None:
    """Foreign or cut metadata never raises and never skips a record before its offset."""
    assert all(first > 7 for first, _ in decode(7, text))


def test_metadata_that_would_overflow_keeps_the_nearest_runs_and_asks_for_back_pressure() -> None:
    """The broker's limit is never passed; what is left out is the far end, and the agent is told to hold back."""
    ledger = PartitionLedger(committed=0)
    _received(ledger, *range(20_000))
    for offset in range(1, 20_000, 2):
        ledger.settle(offset)
    commit = ledger.commit()
    assert commit is not None
    assert len(commit.metadata) <= METADATA_MAX_BYTES
    assert ledger.congested
    assert decode(0, commit.metadata)[:2] == [(1, 2), (3, 4)]
