"""What must be: for every committed event and each of its targets, one expectation. Pure.

Together they say exactly which deliveries, attempts, stays in retry topics and dead letters there have to be: anything
less is lost, anything more is a duplicate.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from demo.evidence import Committed
from demo.story import KINDS, Kind

__all__ = ["RETRY_TOPICS", "Expectation", "expectations"]

RETRY_TOPICS: Mapping[int, str] = {2: "outbox.retry-1s", 3: "outbox.retry-2s"}
"""Where a delivery waits for its second and third attempt. The demo's schedule has delays of 1 s and 2 s; jitter takes
up to half of that, and a tier's lanes hold exactly that range, so no other tier is ever right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What must come of one event at one target (None: nobody wants it)."""

    event_id: str
    target: str | None
    attempts: int
    code: str | None

    @property
    def retries(self) -> tuple[tuple[int, str], ...]:
        """The attempts after the first, each with the topic in which it is waited for."""
        return tuple((attempt, RETRY_TOPICS[attempt]) for attempt in range(2, self.attempts + 1))


def expectations(committed: Iterable[Committed], *, kinds: Iterable[Kind] = KINDS) -> tuple[Expectation, ...]:
    """All that must come of these events.

    >>> event = Committed(event_id="e1", type="order.cancelled", payload=b"{}", at_ns=0)
    >>> [(expected.target, expected.code) for expected in expectations([event])]
    [('endpoint:ep_warehouse', None), ('endpoint:ep_legacy', 'ENDPOINT_REJECTED')]
    """
    targets = {kind.type: kind.targets for kind in kinds}
    return tuple(
        Expectation(event_id=event.event_id, target=target.name, attempts=target.attempts, code=target.code)
        for event in committed
        for target in targets[event.type]
    )
