"""A committed event as a verification meets it, and what became of it, said without bits, tables or joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import strategies as st

from connectors.postgres.reconciliation import ExpectedTarget
from streams.verify.judgement import Verdict

__all__ = [
    "BASE",
    "TARGETS",
    "TYPES",
    "KnownDelivery",
    "KnownEvent",
    "any_event",
    "any_expected",
    "naive_verdict",
]

BASE = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TARGETS = ("endpoint:ep_a", "endpoint:ep_b", "handler:c")
TYPES = ("order.created", "order.paid")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDelivery:
    """One row of the log, and whether what it says is borne out: a record that waits, a letter that is there."""

    status: str
    held: bool
    letter: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownEvent:
    """`records` are those on `outbox.events`: true for one that the workers have not committed."""

    id: UUID
    type: str
    at_ms: int
    has_row: bool
    records: tuple[bool, ...]
    unwanted: bool
    deliveries: Mapping[str, KnownDelivery] = field(default_factory=dict)
    whole_letter: bool = False
    routed_again: bool = False

    @property
    def created_at(self) -> datetime:
        return BASE + timedelta(milliseconds=self.at_ms)


def naive_verdict(event: KnownEvent, expected: list[ExpectedTarget]) -> Verdict:  # noqa: PLR0911 - one a rule
    """What became of it, told one rule after the other."""
    if any(event.records):
        return Verdict.WAITING
    wanting = {one.target for one in expected if one.type == event.type and one.since <= event.created_at}
    if not event.deliveries and not event.whole_letter and not event.routed_again:
        if not event.records:
            return Verdict.NOT_ON_KAFKA
        return Verdict.UNWANTED if event.unwanted and not wanting else Verdict.NO_OUTCOME
    fates = {_fate(delivery) for delivery in event.deliveries.values()}
    for lost in (Verdict.WAIT_LOST, Verdict.LETTER_LOST):
        if lost in fates:
            return lost
    if wanting - event.deliveries.keys() and not event.whole_letter and not event.routed_again:
        return Verdict.TARGET_MISSING
    if event.routed_again:
        return Verdict.WAITING
    for fate in (Verdict.WAITING, Verdict.DEAD, Verdict.DELIVERED, Verdict.CANCELLED):
        if fate in fates:
            return fate
    return Verdict.DEAD


def _fate(delivery: KnownDelivery) -> Verdict:
    match delivery.status:
        case "succeeded":
            return Verdict.DELIVERED
        case "cancelled":
            return Verdict.CANCELLED
        case "failed":
            # One that is on its way again is open on Kafka: its letter may be a moment away.
            return Verdict.DEAD if delivery.letter or delivery.held else Verdict.LETTER_LOST
        case _:
            if delivery.held:
                return Verdict.WAITING
            return Verdict.DEAD if delivery.letter else Verdict.WAIT_LOST


_any_delivery = st.builds(
    KnownDelivery,
    status=st.sampled_from(["succeeded", "cancelled", "failed", "pending", "retrying"]),
    held=st.booleans(),
    letter=st.booleans(),
)

any_event = st.builds(
    KnownEvent,
    id=st.uuids(),
    type=st.sampled_from(TYPES),
    at_ms=st.integers(0, 20),
    has_row=st.booleans(),
    records=st.lists(st.booleans(), max_size=2).map(tuple),
    unwanted=st.booleans(),
    deliveries=st.dictionaries(st.sampled_from(TARGETS), _any_delivery, max_size=3),
    whole_letter=st.booleans() | st.just(value=False),
    routed_again=st.booleans() | st.just(value=False),
).filter(lambda event: event.has_row or event.records)

any_expected = st.lists(
    st.builds(
        ExpectedTarget,
        st.sampled_from(TYPES),
        st.sampled_from(TARGETS),
        st.integers(-5, 25).map(lambda ms: BASE + timedelta(milliseconds=ms)),
    ),
    max_size=4,
    unique_by=lambda one: (one.type, one.target),
)
