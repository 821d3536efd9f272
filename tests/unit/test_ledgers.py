"""The ledgers of an assignment, and the memory of what was taken lately."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.commit.ledger import Commit, PartitionLedger
from streams.commit.ledgers import Ledgers, Partition
from streams.commit.metadata import decode, reset_mark
from streams.commit.recent import Recent

FIRST: Partition = ("outbox.events", 0)
SECOND: Partition = ("outbox.events", 1)
RETRIES: Partition = ("outbox.redelivery", 0)


def assigned(*partitions: Partition) -> Ledgers:
    ledgers = Ledgers()
    ledgers.assign({partition: PartitionLedger(committed=5) for partition in partitions})
    return ledgers


def settle(ledgers: Ledgers, partition: Partition, offset: int) -> None:
    ledger = ledgers.get(partition)
    assert ledger is not None
    assert ledger.receive(offset)
    ledger.settle(offset)


def test_each_partition_commits_for_itself() -> None:
    """INV-2: one partition's unsettled record holds no other's commit."""
    ledgers = assigned(FIRST, SECOND)
    settle(ledgers, FIRST, 5)
    held = ledgers.get(SECOND)
    assert held is not None
    held.receive(5)
    assert ledgers.commits() == {FIRST: Commit(6, "")}
    assert ledgers.unsettled() == 1
    assert list(ledgers) == [FIRST, SECOND]


def test_what_was_committed_is_not_committed_again_unless_it_may_not_have_arrived() -> None:
    """A commit whose answer was an error is made again, whether or not anything new has settled."""
    ledgers = assigned(FIRST)
    settle(ledgers, FIRST, 5)
    commits = ledgers.commits()
    ledgers.committed(commits)
    assert ledgers.commits() == {}
    ledgers.uncommitted()
    assert ledgers.commits() == commits


def test_after_a_revocation_nothing_is_committed() -> None:
    """INV-2: what settles late may be somebody else's already."""
    ledgers = assigned(FIRST)
    old = ledgers.get(FIRST)
    assert old is not None
    old.receive(5)
    ledgers.revoke()
    old.settle(5)
    assert ledgers.commits() == {}
    assert ledgers.get(FIRST) is None
    assert old.closed
    assert old.commit() is None


def test_a_new_assignment_closes_what_was_before() -> None:
    """INV-2: also where no revocation came first."""
    ledgers = assigned(FIRST)
    old = ledgers.get(FIRST)
    ledgers.assign({FIRST: PartitionLedger(committed=9)})
    assert old is not None
    assert old.closed
    ledgers.committed({SECOND: Commit(1, "")})
    assert ledgers.commits() == {}


def test_a_partition_that_stays_keeps_its_memory_of_what_was_settled() -> None:
    """INV-8: what was left to the next owner is attempted by it, even if that is the same worker."""
    ledgers = assigned(FIRST)
    before = ledgers.get(FIRST)
    assert before is not None
    for offset, key in [(5, "settled"), (6, "left")]:
        before.receive(offset)
        assert before.recent.first_time(key, offset=offset)
    before.settle(5)
    ledgers.committed(ledgers.commits())
    ledgers.revoke()
    ledgers.assign({FIRST: PartitionLedger(committed=6)})
    after = ledgers.get(FIRST)
    assert after is not None
    assert not after.recent.first_time("settled", offset=9)
    assert after.recent.first_time("left", offset=6)


@pytest.mark.parametrize(("committed", "found"), [(None, 0), (3, 3), (6, 0)])
def test_a_log_that_was_made_anew_is_delivered_whole(committed: int | None, found: int) -> None:
    """CASES 31: what is in it now is wanted, although the worker has settled the same events in the log before."""
    ledgers = assigned(FIRST)
    before = ledgers.get(FIRST)
    assert before is not None
    before.receive(5)
    before.recent.first_time("event", offset=5)
    before.settle(5)
    ledgers.committed(ledgers.commits())
    ledgers.assign({FIRST: PartitionLedger(committed=committed)})
    after = ledgers.get(FIRST)
    assert after is not None
    after.receive(found)
    assert after.recent.first_time("event", offset=found)


def test_a_partition_that_was_away_has_no_memory() -> None:
    """Bounded memory: that of the partitions assigned now."""
    ledgers = assigned(FIRST)
    before = ledgers.get(FIRST)
    assert before is not None
    before.recent.first_time("settled", offset=5)
    ledgers.assign({SECOND: PartitionLedger(committed=0)})
    ledgers.assign({FIRST: PartitionLedger(committed=5)})
    after = ledgers.get(FIRST)
    assert after is not None
    assert after.recent.first_time("settled", offset=5)


@pytest.mark.parametrize(
    ("now", "forgets"),
    [(Commit(6, "@1"), True), (Commit(7, "@1"), True), (Commit(5, ""), True), (Commit(7, ""), False)],
)
def test_cases_36_who_was_cut_off_forgets_over_a_reset(now: Commit, *, forgets: bool) -> None:
    """What the worker delivered before the offsets were reset is wanted once more, whoever has committed since.

    A frozen worker is in no group and doesn't hinder a reset. It wakes up with its memory, and with a commit of its own
    that lies before what it had settled, since later ones never arrived: the new offset may lie between.
    """
    ledgers = assigned(FIRST)
    before = ledgers.get(FIRST)
    assert before is not None
    for offset in (5, 6, 7):
        before.receive(offset)
        assert before.recent.first_time(offset, offset=offset)
        before.settle(offset)
        if offset == 5:
            ledgers.committed(ledgers.commits())
    ledgers.assign({FIRST: PartitionLedger(committed=now.offset, committed_metadata=now.metadata)})
    after = ledgers.get(FIRST)
    assert after is not None
    assert after.recent.first_time(7, offset=7) == forgets


@pytest.mark.parametrize("now", [Commit(5, "@1"), Commit(4, "")])
def test_cases_36_retries_of_what_comes_once_more_are_wanted_as_well(now: Commit) -> None:
    """Its second attempt has the name of the one that the worker made before; dropped, the event would end nowhere."""
    ledgers = assigned(FIRST, RETRIES, SECOND)
    for partition in (FIRST, RETRIES, SECOND):
        before = ledgers.get(partition)
        assert before is not None
        before.recent.first_time("attempt 2", offset=5)
        settle(ledgers, partition, 5)
    ledgers.committed(ledgers.commits())
    stays = PartitionLedger(committed=6)
    ledgers.assign(
        {
            SECOND: stays,
            RETRIES: PartitionLedger(committed=6),
            FIRST: PartitionLedger(committed=now.offset, committed_metadata=now.metadata),
        }
    )
    after = ledgers.get(RETRIES)
    assert after is not None
    assert after.recent.first_time("attempt 2", offset=6)
    assert not stays.recent.first_time("attempt 2", offset=6)


def test_the_mark_of_a_reset_is_in_every_commit_after_it() -> None:
    """Or only the first worker would know: beside what is settled beyond the commit, and without it."""
    ledger = PartitionLedger(committed=5, committed_metadata="@1")
    assert ledger.commit() is None
    for offset in (5, 6, 7):
        ledger.receive(offset)
    ledger.settle(6)
    beyond = ledger.commit()
    assert beyond is not None
    assert (decode(5, beyond.metadata), reset_mark(beyond.metadata)) == ([(6, 7)], "1")
    ledger.settle(5)
    ledger.settle(7)
    assert ledger.commit() == Commit(8, "@1")


@given(keys=st.lists(st.integers(0, 20), max_size=100), size=st.integers(1, 10))
def test_recent_keys_are_known_and_old_ones_forgotten(keys: list[int], size: int) -> None:
    """Against a list: a key is new unless it is among the last `size` new ones."""
    recent = Recent(size=size)
    naive: list[int] = []
    for offset, key in enumerate(keys):
        new = key not in naive[-size:]
        assert recent.first_time(key, offset=offset) == new
        if new:
            naive.append(key)
