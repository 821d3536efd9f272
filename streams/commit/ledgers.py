"""The ledgers of all partitions assigned to this worker."""

from collections.abc import Iterator

from streams.commit.ledger import Commit, PartitionLedger

__all__ = ["Ledgers", "Partition"]

#: Topic and partition number.
Partition = tuple[str, int]


class Ledgers:
    """One ledger per assigned partition, replaced as a whole at each rebalance."""

    def __init__(self) -> None:
        self._by_partition: dict[Partition, PartitionLedger] = {}
        #: Of the last assignment, for what the next one may remember of it.
        self._before: dict[Partition, PartitionLedger] = {}

    def get(self, partition: Partition) -> PartitionLedger | None:
        """The ledger of a partition; None if the partition isn't ours."""
        return self._by_partition.get(partition)

    def assign(self, ledgers: dict[Partition, PartitionLedger]) -> None:
        """A new assignment: what was before is closed, and what is known of partitions that stay is kept."""
        self.revoke()
        stayed = {partition: self._before[partition] for partition in ledgers if partition in self._before}
        # An event that comes once more comes with its retries, on the partition of the same number: those are named
        # as those before, and wanted as well.
        set_back = {
            partition[1] for partition, before in stayed.items() if ledgers[partition].was_set_back(before)
        }
        for partition, before in stayed.items():
            if partition[1] not in set_back:
                ledgers[partition].go_on_from(before)
        self._by_partition = ledgers
        self._before = {}

    def revoke(self) -> None:
        """Nothing is ours any more: whatever settles late is not committed by us."""
        for ledger in self._by_partition.values():
            ledger.close()
        self._before |= self._by_partition
        self._by_partition = {}

    def commits(self) -> dict[Partition, Commit]:
        """What there is to commit now."""
        found = ((partition, ledger.commit()) for partition, ledger in self._by_partition.items())
        return {partition: commit for partition, commit in found if commit is not None}

    def one_again(self) -> dict[Partition, Commit]:
        """One partition's commit as it stands, to be made again; none where nothing is known of any."""
        found = ((partition, ledger.standing()) for partition, ledger in self._by_partition.items())
        return next(({partition: commit} for partition, commit in found if commit is not None), {})

    def committed(self, commits: dict[Partition, Commit]) -> None:
        """Kafka acknowledged these."""
        for partition, commit in commits.items():
            ledger = self._by_partition.get(partition)
            if ledger is not None:
                ledger.committed(commit)

    def uncommitted(self) -> None:
        """It is unknown what Kafka has of the last commits: make them again."""
        for ledger in self._by_partition.values():
            ledger.uncommitted()

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._by_partition)

    def unsettled(self) -> int:
        """How many received records are not settled, over all partitions."""
        return sum(len(ledger) for ledger in self._by_partition.values())
