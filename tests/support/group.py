"""The workers' group as the broker knows it: who has which partition, and what of it counts as settled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from streams.commit import metadata
from tests.support.child import Child
from tests.support.eventually import eventually
from tests.support.topics import Committed, Record, committed, group_members

__all__ = [
    "SCHEDULERS",
    "WORKERS",
    "is_settled",
    "lanes_of",
    "owner_of",
    "partitions_of",
    "wait_until_empty",
    "wait_until_settled",
    "wait_until_shared",
]

WORKERS: Final = "outbox-worker"
SCHEDULERS: Final = "outbox-scheduler"


def is_settled(commits: Mapping[tuple[str, int], Committed], record: Record) -> bool:
    """Whether a new owner would skip this record: it lies before the commit, or its metadata names it."""
    commit = commits.get((record.topic, record.partition))
    if commit is None:
        return False
    runs = metadata.decode(commit.offset, commit.metadata)
    return record.offset < commit.offset or any(first <= record.offset < end for first, end in runs)


def wait_until_settled(bootstrap_servers: str, records: Collection[Record], *, group: str = WORKERS) -> None:
    """Wait until the group has committed all of these, in its offsets or in their metadata."""

    def done() -> bool:
        commits = committed(bootstrap_servers, group)
        return all(is_settled(commits, record) for record in records)

    eventually(done, what=f"the commit of {len(records)} records")


def partitions_of(worker: Child) -> set[tuple[str, int]]:
    """What a worker was assigned last, as its log says."""
    listed = str(worker.of("partitions_assigned")[-1]["partitions"]).split()
    return {(name.rpartition("/")[0], int(name.rpartition("/")[2])) for name in listed}


def wait_until_shared(workers: Sequence[Child]) -> None:
    """Wait until these workers, and no others, share all partitions, and each has some."""
    for worker in workers:
        worker.wait_for("worker_started")

    def shared() -> bool:
        assigned = [partitions_of(worker) for worker in workers]
        return all(assigned) and len(set[tuple[str, int]]().union(*assigned)) == sum(map(len, assigned)) == 12

    eventually(shared, what=f"an assignment to {len(workers)} workers")


def owner_of(record: Record, workers: Sequence[Child]) -> Child:
    """Which worker has this record's partition. In the midst of a rebalance, none or two say that they do."""

    def the_one() -> Child | None:
        owners = [worker for worker in workers if (record.topic, record.partition) in partitions_of(worker)]
        return owners[0] if len(owners) == 1 else None

    return eventually(the_one, what=f"the owner of {record.topic}/{record.partition}")


def lanes_of(schedulers: Iterable[Child]) -> list[int]:
    """How many lanes each scheduler was assigned last."""
    return [scheduler.of("lanes_assigned")[-1]["count"] for scheduler in schedulers]


def wait_until_empty(bootstrap_servers: str, group: str) -> None:
    """Wait until the broker has missed a killed member, so that the next test's process need not wait for that."""
    eventually(lambda: group_members(bootstrap_servers, group) == 0, what=f"the end of group {group}")
