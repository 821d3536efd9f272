"""The commit rule, broken on purpose: each of these patches the ledger that workers and schedulers share."""

from typing import Any

import pytest

from streams.commit.ledger import Commit, PartitionLedger

__all__ = ["LEDGER_MUTATIONS"]


def commit_early(patch: pytest.MonkeyPatch) -> None:
    """All that was received is committed, settled or not."""
    right = PartitionLedger.commit

    def commit(self: PartitionLedger) -> Commit | None:
        return right(self) and Commit(self._next or 0, "")

    patch.setattr(PartitionLedger, "commit", commit)


def claim_too_much(patch: pytest.MonkeyPatch) -> None:
    """The metadata says that everything beyond the commit is settled."""

    def settled_beyond(self: PartitionLedger, base: int) -> Any:
        if self._next is not None and self._next > base + 1:
            yield base + 1, self._next

    patch.setattr(PartitionLedger, "_settled_beyond", settled_beyond)


def forget_what_was_settled_beyond(patch: pytest.MonkeyPatch) -> None:
    """The metadata of the commit is not read."""
    right = PartitionLedger.__init__

    def init(self: PartitionLedger, **given: Any) -> None:
        right(self, **{**given, "committed_metadata": ""})

    patch.setattr(PartitionLedger, "__init__", init)


LEDGER_MUTATIONS = [
    commit_early,
    claim_too_much,
    forget_what_was_settled_beyond,
]
