"""The log doesn't go on where the group had committed (CASES 31)."""

from hypothesis import given
from hypothesis import strategies as st

from streams.commit.ledger import Commit, Jump, PartitionLedger
from streams.commit.metadata import encode


@given(committed=st.integers(1, 2**40), before=st.integers(1, 2**40), count=st.integers(1, 20))
def test_a_log_that_was_cut_skips_nothing(committed: int, before: int, count: int) -> None:
    """INV-1: every record before the commit is taken, whatever the metadata knew, and the commit follows them."""
    found = max(committed - before, 0)
    known = encode(committed, [(committed + 1, committed + 100)])
    ledger = PartitionLedger(committed=committed, committed_metadata=known)
    offsets = range(found, found + count)
    assert all(ledger.receive(offset) for offset in offsets)
    assert ledger.jump == Jump(committed, found)
    assert ledger.commit() == Commit(found, "")
    for offset in offsets:
        ledger.settle(offset)
    assert ledger.commit() == Commit(found + count, "")


def test_records_that_are_gone_are_counted() -> None:
    """Behind the commit only what is there can be taken; how many are not stands in the jump."""
    ledger = PartitionLedger(committed=10, committed_metadata=encode(10, [(12, 40)]))
    assert [ledger.receive(offset) for offset in (30, 39, 40)] == [False, False, True]
    assert ledger.jump == Jump(10, 30)


def test_a_log_that_goes_on_is_no_jump() -> None:
    """Neither at its first record nor when a seek goes back within the assignment."""
    ledger = PartitionLedger(committed=10)
    assert [ledger.receive(offset) for offset in (10, 11, 10)] == [True, True, False]
    fresh = PartitionLedger(committed=None)
    assert fresh.receive(7)
    assert (ledger.jump, fresh.jump) == (None, None)
