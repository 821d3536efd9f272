"""What `outbox.attempts` says, by event: the record that the product itself keeps of every turn."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import orjson

from tests.support.topics import Record, TopicTail

__all__ = ["AttemptLog", "Turn"]

Turn = Mapping[str, Any]
_ENDS = {"done", "dead-letter"}


class AttemptLog:
    """The turns recorded since this was made."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._tail = TopicTail(bootstrap_servers, "outbox.attempts")
        self._turns: dict[str, list[Turn]] = defaultdict(list)
        self._read = 0

    def of(self, event_id: object, target: str = "") -> Sequence[Turn]:
        """The turns of one event in the order in which they were recorded; of one target, if one is named."""
        return [turn for turn in self._turns[str(event_id)] if target in turn["target"]]

    def outcomes(self, event_id: object, target: str = "") -> list[str]:
        return [turn["outcome"] for turn in self.of(event_id, target)]

    def having(self, event_ids: Iterable[object], outcome: str) -> set[str]:
        """Which of these events have a turn with that outcome."""
        return {str(event_id) for event_id in event_ids if outcome in self.outcomes(event_id)}

    def parked(self, event_ids: Iterable[object], target: str = "") -> list[str]:
        """Which of these deliveries are not at their end: nothing recorded yet, or something that goes on."""
        last = ((str(event_id), self.of(event_id, target)[-1:]) for event_id in event_ids)
        return [event_id for event_id, turn in last if not turn or turn[0]["next"] not in _ENDS]

    def wait_until(self, holds: Callable[[Self], bool], *, what: str, timeout_s: float = 40.0) -> None:
        """Read until something holds of the log."""

        def taken(records: Sequence[Record]) -> bool:
            self._take(records)
            return holds(self)

        self._tail.wait_until(taken, what=what, timeout_s=timeout_s)

    def wait_for(
        self, event_id: object, *outcomes: str, target: str = "", timeout_s: float = 40.0
    ) -> Sequence[Turn]:
        """Wait until an event has this many turns, assert that they came out like this, and give them."""
        count = len(outcomes)
        self.wait_until(
            lambda log: len(log.of(event_id, target)) >= count,
            what=f"{count} turns of {event_id}",
            timeout_s=timeout_s,
        )
        assert self.outcomes(event_id, target)[:count] == list(outcomes)
        return self.of(event_id, target)[:count]

    def to_the_end(self) -> Self:
        """Read all that is there now."""
        self._take(self._tail.to_the_end())
        return self

    def close(self) -> None:
        self._tail.close()

    def _take(self, records: Sequence[Record]) -> None:
        for record in records[self._read :]:
            turn = orjson.loads(record.value or b"{}")
            self._turns[turn["event_id"]].append(turn)
        self._read = len(records)
