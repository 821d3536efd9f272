"""The verification: in which order Postgres and Kafka are looked at, so that what is under way raises no alarm.

Place in the data's way: beside it; `outbox verify`. Nothing stands still for it, so the order is what makes it right
(docs/adr/0023):

1. The committed rows, and how far the WAL is.
2. How far the scheduler's group is, then how far the workers' is. Below that all is settled: its attempts are on
   `outbox.attempts`, and what waits lies beyond.
3. Where `outbox.attempts` ends; the events on Kafka, to the end; rows that are not among them are waited for, until the
   connector has confirmed the position of 1.
4. The recorder comes to the end of 3. What the log says is open is taken now.
5. Where the dead letters end; what waits on Kafka, from 2 to the end of now. The recorder comes to that end.
6. All of it is put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from connectors.counted import counted
from connectors.kafka_connect.connector import SLOT_NAME
from connectors.postgres.event_facts import Fact
from connectors.postgres.reconciliation import Period, Reconciliation
from connectors.postgres.stored_endpoint import StoredEndpoint
from outbox.handlers import Handler
from streams.errors import VerificationBehind
from streams.replay.event_range import CLOCKS_DIFFER
from streams.topics import ATTEMPTS, DEAD_LETTER, EVENTS, LETTERS_GROUP, RECORDER_GROUP
from streams.verify.expectation import Expectation
from streams.verify.found import found_events, held_deliveries
from streams.verify.judgement import breaking, counted_verdicts, judge
from streams.verify.kafka_side import KafkaSide
from streams.verify.report import BrokenEvent, Report, Source

__all__ = ["Asked", "Surroundings", "Verification"]

_LOOK_EVERY_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be verified, and with what patience.

    Attributes:
        period: events of which time.
        source: which of them count as committed.
        limit: at most so many events are listed.
        patience: how long connector and recorder are waited for, each time.
        letters_since: since when all dead letters are still listed.
        discard_unrouted: whether workers settle what nobody wants without a dead letter.
        warnings: what is known already not to be seen.
    """

    period: Period
    source: Source
    limit: int
    patience: timedelta
    letters_since: datetime
    discard_unrouted: bool
    warnings: tuple[str, ...] = ()


class Surroundings(Protocol):
    """Time, and somebody who listens."""

    def monotonic_s(self) -> float:
        """Seconds that only go forward."""
        ...

    def pause(self, seconds: float) -> None:
        """Let some time pass."""
        ...

    def say(self, what: str) -> None:
        """Say what it does, or waits for."""
        ...

    def read(self, number: int) -> None:
        """So many more records were read."""
        ...


class Verification:
    """One verification; `run` it once."""

    def __init__(
        self,
        asked: Asked,
        *,
        tables: Reconciliation,
        kafka: KafkaSide,
        endpoints: Callable[[], Iterable[StoredEndpoint]],
        handlers: Iterable[Handler],
        around: Surroundings,
    ) -> None:
        self._asked = asked
        self._tables = tables
        self._kafka = kafka
        self._endpoints = endpoints
        self._handlers = handlers
        self._around = around
        self._cut = False

    def run(self) -> Report:
        """Look at everything, in order.

        Raises:
            VerificationBehind: the recorder is behind, so nothing can be said yet.
            PostgresError, KafkaEdgeError: as they say.
        """
        written = self._take_rows()
        unsettled = self._kafka.unsettled()
        # After that: an endpoint as it is now has not been changed since, so what is settled was sent by it.
        expectation = Expectation(
            self._endpoints(),
            self._handlers,
            since=self._asked.period.since,
            discard_unrouted=self._asked.discard_unrouted,
        )
        attempts_end = self._kafka.ends(ATTEMPTS)
        not_judged = self._find_events(unsettled.events, expectation, written=written)
        self._wait_for_recorder(RECORDER_GROUP, ATTEMPTS, attempts_end)
        self._tables.take_open(letters_since=self._asked.letters_since)
        letters_end = self._kafka.ends(DEAD_LETTER)
        self._around.say("reading what waits on Kafka")
        for topic, begins in unsettled.held.items():
            for records in self._kafka.pieces(topic, begins, self._kafka.ends(topic), self._around.read):
                self._tables.add_held(held_deliveries(records))
        self._wait_for_recorder(LETTERS_GROUP, DEAD_LETTER, letters_end)
        self._around.say("putting it together")
        self._tables.add_expected(expectation.targets(self._tables.types()))
        self._tables.put_together(
            died_since=self._asked.period.since - CLOCKS_DIFFER, rows_only=self._asked.source == "postgres"
        )
        return self._report(not_judged)

    def _take_rows(self) -> int | None:
        """The position in the WAL by which all rows were written; None where rows don't count."""
        if self._asked.source == "topic":
            return None
        self._around.say("reading the outbox table")
        return self._tables.take_rows()

    def _find_events(
        self, committed: Mapping[int, int], expectation: Expectation, *, written: int | None
    ) -> str | None:
        """Take the events on Kafka; why those that are missing can't be judged yet."""
        self._around.say(f"reading {EVENTS}")
        begins, self._cut = self._kafka.events_since(self._asked.period.since)
        end_s = self._around.monotonic_s() + self._asked.patience.total_seconds()
        while True:
            # In this order: what the connector has confirmed by now is before the end that is noted next.
            confirmed = self._tables.confirmed(SLOT_NAME)
            ends = self._kafka.ends(EVENTS)
            for records in self._kafka.pieces(EVENTS, begins, ends, self._around.read):
                self._tables.add_found(
                    found_events(
                        records, period=self._asked.period, committed=committed, expectation=expectation
                    )
                )
            begins = ends
            missing = 0 if written is None else self._tables.missing()
            if not missing or (confirmed is not None and written is not None and confirmed >= written):
                return None
            if self._around.monotonic_s() >= end_s:
                return _not_judged(missing, slot_is_there=confirmed is not None)
            self._around.say(f"waiting for the connector: {counted(missing, 'row')} not on {EVENTS} yet")
            self._around.pause(_LOOK_EVERY_S)

    def _wait_for_recorder(self, group: str, topic: str, ends: Mapping[int, int]) -> None:
        end_s = self._around.monotonic_s() + self._asked.patience.total_seconds()
        while left := self._kafka.left(group, topic, ends):
            if self._around.monotonic_s() >= end_s:
                raise VerificationBehind(
                    f"The recorder has {counted(left, 'record')} of {topic} to write first, so the delivery log does "
                    "not say yet what became of these events. Does `outbox recorder` run? Ask again when it has "
                    "caught up, or with a longer --wait."
                )
            self._around.say(f"waiting for the recorder: {counted(left, 'record')} of {topic} to go")
            self._around.pause(_LOOK_EVERY_S)

    def _report(self, not_judged: str | None) -> Report:
        counts = self._tables.counts()
        broken = self._tables.events_of(breaking(counts), most=self._asked.limit)
        return Report(
            since=self._asked.period.since,
            until=self._asked.period.until,
            source=self._asked.source,
            rows=_with(counts, Fact.HAS_ROW),
            on_kafka=_with(counts, Fact.ON_KAFKA),
            verdicts=counted_verdicts(counts),
            deliveries=self._tables.deliveries(),
            events=[
                BrokenEvent(
                    id=event.id,
                    type=event.type,
                    created_at=event.created_at,
                    verdict=judge(Fact(event.facts)),
                )
                for event in broken
            ],
            not_judged=not_judged,
            warnings=tuple(self._warnings()),
        )

    def _warnings(self) -> Iterable[str]:
        yield from self._asked.warnings
        if self._cut:
            yield (
                f"Kafka has deleted events of {EVENTS} that may be of this time (OUTBOX_RETENTION_HOURS): those "
                "without a row were not seen, and those with one that nobody wanted are listed as not-on-kafka"
            )


def _with(counts: Mapping[int, int], fact: Fact) -> int:
    return sum(number for facts, number in counts.items() if facts & fact)


def _not_judged(missing: int, *, slot_is_there: bool) -> str | None:
    """Without a slot nobody will bring them: that is no lag."""
    if not slot_is_there:
        return None
    return (
        f"{counted(missing, 'row')} not on {EVENTS}, and Debezium's connector has not confirmed their position yet: "
        "it is behind, or stands still. `outbox doctor` says which"
    )
