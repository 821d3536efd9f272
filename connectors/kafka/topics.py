"""Topics as they should be, as they are, and the changes between: pure values, no client.

Place in the data's way: none of it; `outbox setup` plans with this and `connectors.kafka.admin` carries it
out. Invariants: nothing is ever deleted and no partition count shrinks, because either loses records.
Configuration keys that are not named here stay as the operators set them. Replication is chosen when a topic
is created and not changed after: moving replicas is the operators' work, and `outbox doctor` says when it is
due.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from connectors.counted import counted

__all__ = [
    "ChangeConfig",
    "CreateTopic",
    "ExistingTopic",
    "GrowTopic",
    "TooManyPartitions",
    "Topic",
    "TopicChange",
    "TopicsPlan",
    "plan_topics",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic as it should be."""

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingTopic:
    """A topic as the cluster has it; `config` holds every key that the broker reports."""

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """A topic that isn't there yet."""

    topic: Topic

    def __str__(self) -> str:
        """Say what will change."""
        topic = self.topic
        return (
            f"create topic {topic.name}: {counted(topic.partitions, 'partition')},"
            f" replication {topic.replication_factor}{_kept(topic.config)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowTopic:
    """A topic with too few partitions. Keys move to other partitions: what is in flight loses its order."""

    name: str
    from_partitions: int
    to_partitions: int

    def __str__(self) -> str:
        """Say what will change."""
        return f"grow topic {self.name} from {self.from_partitions} to {self.to_partitions} partitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeConfig:
    """Configuration keys of a topic that differ."""

    name: str
    before: Mapping[str, str | None]
    after: Mapping[str, str]

    def __str__(self) -> str:
        """Say what will change."""
        changes = (f"{key} from {self.before[key]} to {value}" for key, value in sorted(self.after.items()))
        return f"change topic {self.name}: {', '.join(changes)}"


TopicChange = CreateTopic | GrowTopic | ChangeConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class TooManyPartitions:
    """A topic with more partitions than wanted: it can't shrink, so what is wanted has to change."""

    name: str
    partitions: int
    wanted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsPlan:
    """What to change, and what no change can put right."""

    changes: tuple[TopicChange, ...]
    conflicts: tuple[TooManyPartitions, ...]


def plan_topics(wanted: Sequence[Topic], existing: Mapping[str, ExistingTopic]) -> TopicsPlan:
    """Compare what should be with what is. A plan that was carried out leaves nothing to plan.

    >>> plan = plan_topics([Topic(name="t", partitions=3, replication_factor=1)], {})
    >>> [str(change) for change in plan.changes]
    ['create topic t: 3 partitions, replication 1']
    """
    changes: list[TopicChange] = []
    conflicts: list[TooManyPartitions] = []
    for topic in wanted:
        found = existing.get(topic.name)
        if found is None:
            changes.append(CreateTopic(topic))
            continue
        changes += _changes(topic, found)
        if found.partitions > topic.partitions:
            conflicts.append(
                TooManyPartitions(name=topic.name, partitions=found.partitions, wanted=topic.partitions)
            )
    return TopicsPlan(changes=tuple(changes), conflicts=tuple(conflicts))


def _changes(topic: Topic, found: ExistingTopic) -> Iterable[TopicChange]:
    if found.partitions < topic.partitions:
        yield GrowTopic(name=topic.name, from_partitions=found.partitions, to_partitions=topic.partitions)
    after = {key: value for key, value in topic.config.items() if found.config.get(key) != value}
    if after:
        yield ChangeConfig(name=topic.name, before={key: found.config.get(key) for key in after}, after=after)


def _kept(config: Mapping[str, str]) -> str:
    """Say how long records stay, for people."""
    if config.get("cleanup.policy") == "compact":
        return ", compacted"
    kept_ms = config.get("retention.ms")
    return "" if kept_ms is None else f", kept {int(kept_ms) / 3_600_000:g} h"
