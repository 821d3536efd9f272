"""Events and deliveries to test with: plain ones, changed by keyword, and hypothesis strategies for any."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from outbox.event import Event
from streams.records.delivery import Delivery, Origin
from streams.records.outcome import ErrorCode
from streams.records.target import TargetName
from streams.retry.policy import ExponentialBackoff, RetryPolicy, ScheduledBackoff
from streams.retry.tiers import RetryTiers
from streams.settings.fields import Fields

__all__ = [
    "DEFAULT_TIERS",
    "ENDPOINT_POLICY",
    "ENDPOINT_SCHEDULE",
    "HANDLER_POLICY",
    "NOW_MS",
    "a_delivery",
    "an_event",
    "any_delivery",
    "any_event",
    "default_tiers",
]

NOW_MS = 1_770_000_000_000

DEFAULT_TIERS: tuple[timedelta, ...] = Fields.model_fields["tiers"].default
ENDPOINT_SCHEDULE: tuple[timedelta, ...] = Fields.model_fields["endpoint_schedule"].default

HANDLER_POLICY = RetryPolicy(
    max_attempts=8,
    max_age=timedelta(hours=24),
    backoff=ExponentialBackoff(base=timedelta(seconds=1), cap=timedelta(minutes=15)),
    exhausted_code=ErrorCode.HANDLER_TEMPORARY_FAILURE,
)
ENDPOINT_POLICY = RetryPolicy(
    max_attempts=len(ENDPOINT_SCHEDULE) + 1,
    max_age=timedelta(hours=96),
    backoff=ScheduledBackoff(delays=ENDPOINT_SCHEDULE),
    exhausted_code=ErrorCode.ENDPOINT_EXHAUSTED,
)


@cache
def default_tiers(*, lanes: int = 6) -> RetryTiers:
    return RetryTiers(DEFAULT_TIERS, lanes=lanes)


def an_event(**changes: Any) -> Event:
    event = Event(
        id=UUID("01890a5d-ac96-774b-bcce-b302099a8057"),
        type="order.created",
        aggregate_type="order",
        aggregate_id="42",
        payload=b'{"total": 1.10}',
        content_type="application/json",
        headers={"tenant": "acme"},
        created_at=datetime(2026, 3, 1, 12, 30, 0, 123456, tzinfo=UTC),
    )
    return replace(event, **changes)


def a_delivery(**changes: Any) -> Delivery:
    delivery = Delivery(
        event=an_event(), target=TargetName("endpoint", "ep_1"), origin=Origin("outbox.events", 3, 1_000)
    )
    return replace(delivery, **changes)


#: What a text column of Postgres holds: any Unicode but NUL and lone surrogates.
_texts = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=30)
_names = _texts.filter(bool)

any_event = st.builds(
    Event,
    id=st.uuids(),
    type=_names,
    aggregate_type=_names,
    aggregate_id=_texts,
    payload=st.binary(max_size=200),
    content_type=_names,
    headers=st.dictionaries(_texts, _texts, max_size=4),
    created_at=st.datetimes(timezones=st.just(UTC)),
)

any_delivery = st.builds(
    Delivery,
    event=any_event,
    target=st.builds(TargetName, st.sampled_from(["handler", "endpoint"]), _names),
    origin=st.builds(Origin, st.just("outbox.events"), st.integers(0, 2**31 - 1), st.integers(0, 10**18 - 1)),
    attempt=st.integers(1, 1_000),
    deferrals=st.integers(0, 1_000),
    first_failed_at_ms=st.none() | st.integers(0, 2**45),
    replay_id=st.none() | _names,
    booked_for_ms=st.none() | st.integers(0, 10**18 - 1),
    held_since_ms=st.none() | st.integers(0, 10**18 - 1),
)
