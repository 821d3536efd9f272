"""How many events of a range match, per type and target: what somebody sees before anything is sent.

Place in the data's way: beside the replayer, and reads what it would read. It sends nothing. An event that stands
twice on its topic, since Debezium repeated it, counts twice here; it is sent once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from streams.records.target import TargetName
from streams.replay.event_range import event_of
from streams.replay.range_selection import RangeSelection
from streams.replay.range_source import RangePorts, Targets

__all__ = ["RangeCount", "count_range"]

_READ = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeCount:
    """What there is now: events read, deliveries of each type to each target, and what can't be reached."""

    read: int
    matching: int
    deliveries: Counter[tuple[str, TargetName]] = field(default_factory=Counter)
    warning: str | None = None

    @property
    def number(self) -> int:
        """All deliveries."""
        return self.deliveries.total()


def count_range(
    selection: RangeSelection, ports: RangePorts, *, progress: Callable[[int, int], None]
) -> RangeCount:
    """Read a range, and count.

    Args:
        selection: which events, and to whom.
        ports: Postgres and Kafka.
        progress: told of how many events were read, of how many.

    Raises:
        ReplayRefused: an endpoint is disabled or was removed, or the events can't be read there.
        KafkaEdgeError, PostgresError: as they say.
    """
    targets = Targets(selection.targets, ports.endpoints())
    bounds = ports.bounds()
    reading = ports.events(bounds.begins, bounds.ends)
    read = matching = 0
    deliveries: Counter[tuple[str, TargetName]] = Counter()
    try:
        while not reading.done:
            records = reading.read(_READ)
            read += len(records)
            for record in records:
                event = event_of(record)
                if event is not None and selection.matches(event):
                    matching += 1
                    deliveries.update((event.type, target) for target in targets.of(event))
            progress(read, bounds.to_read)
    finally:
        reading.close()
    return RangeCount(read=read, matching=matching, deliveries=deliveries, warning=bounds.warning)
