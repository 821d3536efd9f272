"""Settlement: what came of a turn becomes records, and once Kafka has them, a settled offset.

Place in the data's way: the last step of dispatch. What always holds: an offset settles when Kafka has acknowledged
what came of each of its deliveries, and never before (INV-2). Must not decide where a delivery goes: that is
`streams.retry.policy`.
"""

from collections.abc import Callable

import structlog

from streams.dispatch.drain import Drain
from streams.dispatch.holding import Holding
from streams.dispatch.hops import records_after
from streams.dispatch.ports import Produces, Surroundings
from streams.dispatch.turn import Flight, Turn
from streams.dispatch.window import Window
from streams.records.attempt import Attempt
from streams.records.outcome import Outcome
from streams.retry.policy import decide
from streams.retry.tiers import RetryTiers

__all__ = ["Settlement"]

_log = structlog.get_logger("streams.dispatch")

#: Open turns of a flight that is left to the next owner: so far below zero that no number of endings settles it.
_NEVER_SETTLES = -(10**9)


class Settlement:
    """Ends turns.

    Args:
        producer: where outcome records go.
        tiers: where a failed delivery can wait.
        window: gets the room of a turn back.
        drain: is told of every turn that closes.
        observe: told of every finished turn, for the log and the metrics.
        surroundings: time, chance and names.
        holding: what keeps deliveries from being buried in a flood; None: nothing.
    """

    def __init__(
        self,
        *,
        producer: Produces,
        tiers: RetryTiers,
        window: Window,
        drain: Drain,
        observe: Callable[[Attempt], None],
        surroundings: Surroundings,
        holding: Holding | None = None,
    ) -> None:
        self.producer = producer
        self._tiers = tiers
        self._window = window
        self._drain = drain
        self._observe = observe
        self._around = surroundings
        self._holding = holding

    def conclude(
        self, turn: Turn, outcome: Outcome, *, started_at_ms: int | None = None, duration_ms: float = 0.0
    ) -> None:
        """Write what came of a turn, and close it when Kafka has it."""
        now_ms = self._around.clock_ms()
        next_hop = decide(
            turn.delivery,
            outcome,
            policy=turn.target.policy,
            tiers=self._tiers,
            now_ms=now_ms,
            random=self._around.random,
        )
        if self._holding is not None:
            next_hop = self._holding.checked(turn.delivery.target, outcome, next_hop)
        attempt = Attempt(
            attempt_id=self._around.new_id(),
            delivery=turn.delivery,
            outcome=outcome,
            next_hop=next_hop,
            started_at_ms=now_ms if started_at_ms is None else started_at_ms,
            duration_ms=duration_ms,
        )
        try:
            self._observe(attempt)
        except Exception:  # noqa: BLE001 - a defect in the log or the metrics must not hold a delivery
            _log.exception("attempt_not_observed", event_id=str(turn.delivery.event.id))
        self.producer.produce(records_after(attempt), lambda: self.close(turn.flight))

    def close(self, flight: Flight) -> None:
        """Kafka has what came of one of its turns."""
        flight.open_turns -= 1
        if flight.open_turns == 0:
            flight.ledger.settle(flight.offset)
        self._closed()

    def leave(self, flight: Flight) -> None:
        """One of its turns is left to the partition's next owner: the record stays unsettled."""
        flight.open_turns = _NEVER_SETTLES
        self._closed()

    def _closed(self) -> None:
        self._window.leave()
        self._drain.changed()
