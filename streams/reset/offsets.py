"""The shell of a reset: what Kafka says of the workers' group, and setting its offsets on `outbox.events`.

Place in the data's way: before it. What always holds: only that group's offsets of that topic are touched, only while
it has no member, and only where it stands as it did when the plan was made. What is written carries no more than the
mark of the reset: nothing beyond is settled, and a worker that was cut off from the group, and still lives, forgets by
it what it had delivered lately (docs/adr/0021). Blocking.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from connectors.kafka.committed import GroupCommit
from connectors.kafka.errors import GroupNotEmpty
from connectors.kafka.group_offsets import GroupMember
from streams import topics
from streams.commit import metadata
from streams.errors import ResetRefused
from streams.reset.plan import Aim, PartitionPlan, Standing, ToTime, plan_reset

__all__ = ["GroupPort", "OffsetReset", "TopicPort"]

_LOOK_AGAIN_S = 0.5


class GroupPort(Protocol):
    """What this asks of a group, as `connectors.kafka.group_offsets` does it."""

    def members(self, group: str) -> tuple[GroupMember, ...]:
        """Who is in it."""
        ...

    def commits(self, group: str, topic: str) -> Mapping[int, GroupCommit]:
        """What it has committed."""
        ...

    def put(self, group: str, topic: str, offsets: Mapping[int, int], *, metadata: str) -> None:
        """Set its offsets."""
        ...


class TopicPort(Protocol):
    """What this asks of a topic, as `connectors.kafka.topic_offsets` does it."""

    def begins(self, topic: str) -> Mapping[int, int]:
        """Where its partitions begin."""
        ...

    def ends(self, topic: str) -> Mapping[int, int]:
        """Where they end."""
        ...

    def at_time(self, topic: str, moment: datetime) -> Mapping[int, int]:
        """Where a time is."""
        ...


class OffsetReset:
    """Resets of the workers' group. All methods raise `KafkaEdgeError` as Kafka answers."""

    def __init__(self, *, group: GroupPort, topic: TopicPort) -> None:
        self._group = group
        self._topic = topic

    def members(self) -> tuple[GroupMember, ...]:
        """The workers that are in the group."""
        return self._group.members(topics.WORKER_GROUP)

    def wait_until_empty(
        self, limit: timedelta, *, monotonic_s: Callable[[], float], pause: Callable[[float], object]
    ) -> tuple[GroupMember, ...]:
        """Wait until the group has no member, so long at most; returns who is still in it."""
        end_s = monotonic_s() + limit.total_seconds()
        while (members := self.members()) and (left_s := end_s - monotonic_s()) > 0:
            pause(min(_LOOK_AGAIN_S, left_s))
        return members

    def plan(self, aim: Aim) -> tuple[PartitionPlan, ...]:
        """What a reset would do now.

        Raises:
            ResetRefused: a partition or an offset that is asked for is not there.
        """
        at_time = self._topic.at_time(topics.EVENTS, aim.moment) if isinstance(aim, ToTime) else {}
        # The commits before the ends: a worker that runs may have committed what was not there yet.
        commits = self._group.commits(topics.WORKER_GROUP, topics.EVENTS)
        begins, ends = self._topic.begins(topics.EVENTS), self._topic.ends(topics.EVENTS)
        standings = [
            _standing(number, begin=begins[number], end=end, commit=commits.get(number))
            for number, end in sorted(ends.items())
        ]
        return plan_reset(aim, standings, at_time=at_time)

    def write(self, plans: Sequence[PartitionPlan], *, reset_id: str) -> None:
        """Set the offsets of the plans that change something.

        Raises:
            GroupNotEmpty: a worker has joined; nothing was changed.
            ResetRefused: the group stands elsewhere than when the plan was made; nothing was changed.
            OffsetsUncertain: some may be set.
        """
        if self.members():
            raise GroupNotEmpty(topics.WORKER_GROUP)
        commits = self._group.commits(topics.WORKER_GROUP, topics.EVENTS)
        moved = [plan.number for plan in plans if not _stands(plan.standing, commits.get(plan.number))]
        if moved:
            raise ResetRefused(
                f"the group has committed meanwhile (partition {', '.join(map(str, moved))}): a worker has run. "
                "Nothing was changed; look again"
            )
        self._group.put(
            topics.WORKER_GROUP,
            topics.EVENTS,
            {plan.number: plan.to for plan in plans if plan.changes},
            metadata=metadata.encode(0, (), mark=reset_id),
        )


def _standing(number: int, *, begin: int, end: int, commit: GroupCommit | None) -> Standing:
    if commit is None:
        return Standing(number=number, begin=begin, end=end, committed=None)
    settled = tuple(metadata.decode(commit.offset, commit.metadata))
    return Standing(number=number, begin=begin, end=end, committed=commit.offset, settled=settled)


def _stands(standing: Standing, commit: GroupCommit | None) -> bool:
    return standing == _standing(standing.number, begin=standing.begin, end=standing.end, commit=commit)
