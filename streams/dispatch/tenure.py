"""Tenure: whether the partitions are surely still ours, and waiting until they are again.

Place in the data's way: asked before an attempt begins, before its outcome is written, and before a record is buried.
Without it a process that was frozen would do what another worker does by now. Must not decide what becomes of what
waits.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from streams.commit.ledger import PartitionLedger

__all__ = ["Tenure"]

_PAUSE_S: Final = 0.05


class Tenure:
    """The lease, as dispatch sees it.

    Args:
        held: whether the partitions are surely ours.
        draining: whether a drain is on; then nobody waits for the lease.
    """

    __slots__ = ("_draining", "held")

    def __init__(self, held: Callable[[], bool], *, draining: Callable[[], bool]) -> None:
        self.held = held
        self._draining = draining

    async def again(self, ledger: PartitionLedger) -> bool:
        """Wait until the partition is surely ours again. False: what waits is the next owner's."""
        try:
            while not self.held():
                if ledger.closed or self._draining():
                    return False
                await asyncio.sleep(_PAUSE_S)
        except asyncio.CancelledError:  # the drain limit
            return False
        return True
