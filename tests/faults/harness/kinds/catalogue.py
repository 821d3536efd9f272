"""Which faults a run has, and in what order. Pure, by its seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Literal

from tests.faults.harness.kinds.clock import ClockStepped
from tests.faults.harness.kinds.hasty import Hasty
from tests.faults.harness.kinds.kind import Kind
from tests.faults.harness.kinds.network import Dropped, Partitioned
from tests.faults.harness.kinds.ours import Frozen, Killed, RecorderAway, Scaled, Terminated
from tests.faults.harness.kinds.poison import Poisoned
from tests.faults.harness.kinds.produce import ProduceRefused
from tests.faults.harness.kinds.receiving import ReceiverFrozen, ReceiverRefuses
from tests.faults.harness.kinds.services import DiskFull, ServiceDown

__all__ = ["Form", "schedule"]

Form = Literal["short", "full"]


def schedule(form: Form, *, rng: Random, only: Sequence[str] = ()) -> list[Kind]:
    """The faults of a run in a random order. `only` names kinds; none means all of the form."""
    kinds = [*_short()] if form == "short" else [*_short(), *_full()]
    if only:
        kinds = [kind for kind in [*_short(), *_full()] if kind.name in only]
    rng.shuffle(kinds)
    return kinds if form == "short" or only else [*kinds, *_storm(rng)]


def _storm(rng: Random) -> list[Kind]:
    """At the end, one fault into the other: what is lost there is lost as well."""
    kinds = [
        *(Killed("worker") for _ in range(4)),
        *(Killed("scheduler") for _ in range(2)),
        Killed("recorder"),
        Terminated("worker"),
        Frozen("worker"),
        ServiceDown("kafka", down_s=1, killed=True),
        ServiceDown("connect", down_s=0, killed=True),
        Dropped(),
        ReceiverRefuses(),
    ]
    rng.shuffle(kinds)
    return [Hasty(kind) for kind in kinds]


def _short() -> list[Kind]:
    """Each kind once, briefly: some minutes."""
    return [
        Killed("worker"),
        Killed("scheduler"),
        Killed("recorder"),
        Terminated("worker"),
        Terminated("scheduler"),
        Terminated("recorder"),
        Frozen("worker"),
        Scaled(),
        ServiceDown("connect", down_s=0, killed=True),
        ServiceDown("kafka", down_s=0, killed=True),
        ServiceDown("postgres", down_s=5, killed=True),
        ProduceRefused(lasts_s=4, killing=True),
        Dropped(),
        Partitioned(),
        ReceiverRefuses(),
        ClockStepped(),
        Poisoned(),
    ]


def _full() -> list[Kind]:
    """What takes longer, and repetitions: recovery has a spread."""
    return [
        Killed("worker"),
        Killed("worker"),
        Killed("scheduler"),
        Killed("scheduler"),
        Terminated("worker"),
        Frozen("scheduler"),
        Killed("recorder"),
        RecorderAway(lasts_s=40),
        Frozen("worker"),
        ServiceDown("connect", down_s=0, killed=False),
        ServiceDown("connect", down_s=5, killed=True),
        ServiceDown("kafka", down_s=0, killed=False),
        ServiceDown("kafka", down_s=30, killed=True),
        ServiceDown("postgres", down_s=0, killed=False),
        ServiceDown("postgres", down_s=120, killed=True),
        ProduceRefused(lasts_s=8, killing=False),
        DiskFull(),
        Dropped(times=6),
        ReceiverFrozen(),
        Poisoned(),
    ]
