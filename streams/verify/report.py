"""What a verification found: counts that add up, and the events that break INV-1. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from streams.verify.judgement import ACCOUNTED, Verdict

__all__ = ["BrokenEvent", "Report", "Source"]

Source = Literal["both", "postgres", "topic"]
"""Which events count as committed: those with a row or a record, those with a row, those with a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenEvent:
    """An event that is not accounted for."""

    id: UUID
    type: str
    created_at: datetime
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One verification.

    Attributes:
        since, until: the events were committed in [since, until).
        source: which of them count.
        rows: how many have a row in `outbox.outbox`.
        on_kafka: how many have a record on `outbox.events`.
        verdicts: how many events have each.
        deliveries: how many deliveries of these events have each status, by the log.
        events: those that break INV-1, oldest first, as many as were asked for.
        not_judged: why the events that are not on Kafka are not judged yet; None: they are.
        warnings: what could not be seen.
    """

    since: datetime
    until: datetime
    source: Source
    rows: int
    on_kafka: int
    verdicts: Mapping[Verdict, int]
    deliveries: Mapping[str, int]
    events: Sequence[BrokenEvent]
    not_judged: str | None
    warnings: tuple[str, ...]

    @property
    def committed(self) -> int:
        """How many events were looked at."""
        return sum(self.verdicts.values())

    @property
    def unjudged(self) -> int:
        """Events that are not on Kafka, where the connector may still bring them."""
        return self.verdicts[Verdict.NOT_ON_KAFKA] if self.not_judged is not None else 0

    @property
    def unaccounted(self) -> int:
        """Events that break INV-1: committed, and none of all else."""
        accounted = sum(self.verdicts[verdict] for verdict in ACCOUNTED)
        return self.committed - accounted - self.unjudged
