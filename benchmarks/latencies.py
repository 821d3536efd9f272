"""From commits and receipts to latencies. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.distribution import Distribution
from benchmarks.load import Commit
from benchmarks.receiver import Receipt

__all__ = ["duplicates", "first_receipts", "latencies"]


def first_receipts(receipts: Iterable[Receipt]) -> dict[str, float]:
    """Give the moment at which each event came first."""
    first: dict[str, float] = {}
    for receipt in receipts:
        at_s = first.get(receipt.event_id)
        if at_s is None or receipt.at_s < at_s:
            first[receipt.event_id] = receipt.at_s
    return first


def latencies(
    commits: Sequence[Commit], received_s: Mapping[str, float], *, ended_at_s: float
) -> Distribution:
    """Give the times from commit to receipt; what wasn't received had waited until `ended_at_s`."""
    ended, unended = [], []
    for commit in commits:
        at_s = received_s.get(commit.event_id)
        if at_s is None:
            unended.append((ended_at_s - commit.committed_at_s) * 1000)
        else:
            ended.append((at_s - commit.committed_at_s) * 1000)
    return Distribution.of(ended, unended)


def duplicates(receipts: Sequence[Receipt]) -> int:
    """How many came to an endpoint that had had them."""
    return len(receipts) - len({(receipt.event_id, receipt.endpoint) for receipt in receipts})
