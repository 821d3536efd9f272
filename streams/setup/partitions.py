"""Partition counts against the settings that ask for them: one answer for each setting, not for each topic.

Place in the data's way: none; setup's problems and doctor's findings are both made of it, so that they agree.
Pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from connectors.counted import counted
from connectors.kafka.topics import ExistingTopic, Topic
from streams.setup.topics import partitions_setting

__all__ = ["Mismatch", "too_few", "too_many"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Topics that differ from what one setting asks for; without a setting, each asks for a fixed number."""

    setting: str | None
    wanted: int
    counts: Mapping[str, int]

    @property
    def most(self) -> int:
        """The largest count: what the setting has to be when topics can't shrink."""
        return max(self.counts.values())

    def __str__(self) -> str:
        """Say what is asked for and what is there."""
        there = ", ".join(f"{name} has {counted(count, 'partition')}" for name, count in self.counts.items())
        return f"{self.setting or 'the wanted number'} is {self.wanted}, and {there}"


def too_few(wanted: Iterable[Topic], found: Mapping[str, ExistingTopic]) -> tuple[Mismatch, ...]:
    """Give the topics that setup will grow."""
    return tuple(_grouped(wanted, found, lambda count, asked: count < asked))


def too_many(wanted: Iterable[Topic], found: Mapping[str, ExistingTopic]) -> tuple[Mismatch, ...]:
    """Give the topics that would have to shrink, which none can."""
    return tuple(_grouped(wanted, found, lambda count, asked: count > asked))


def _grouped(
    wanted: Iterable[Topic], found: Mapping[str, ExistingTopic], differs: Callable[[int, int], bool]
) -> Iterator[Mismatch]:
    groups: dict[tuple[str | None, int], dict[str, int]] = {}
    for topic in wanted:
        existing = found.get(topic.name)
        if existing is not None and differs(existing.partitions, topic.partitions):
            group = groups.setdefault((partitions_setting(topic.name), topic.partitions), {})
            group[topic.name] = existing.partitions
    for (setting, asked), counts in groups.items():
        yield Mismatch(setting=setting, wanted=asked, counts=counts)
