"""Asking for deliveries: what passes is what was meant, and what doesn't is named."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgres.logged_delivery import DeliveryPage, DeliveryQuery, LoggedAttempt, LoggedDelivery
from streams.api.delivery_operations import DELIVERY_OPERATIONS, delivery_query
from streams.api.delivery_views import AttemptView, DeliveryView, deliveries_page, delivery_detail
from streams.api.models import DeliveriesQuery
from streams.api.problem import ProblemError
from streams.api.validation import read_query
from tests.unit.webhook.records import NOW

EVENT = UUID("01890a5d-ac96-774b-bcce-b302099a8057")


def asked(*pairs: tuple[str, str]) -> DeliveryQuery:
    return delivery_query(read_query(DeliveriesQuery, pairs))


def test_every_filter_is_passed_on() -> None:
    """Each by its own name; none at all asks for everything."""
    assert asked() == DeliveryQuery()
    assert asked(
        ("target", "handler:bill"),
        ("event_id", str(EVENT).upper()),
        ("event_type", "order.created"),
        ("status", "failed"),
        ("since", "2026-11-29T00:00:00Z"),
        ("until", "2026-11-30T01:30:00.25+01:30"),
    ) == DeliveryQuery(
        target="handler:bill",
        event_id=EVENT,
        event_type="order.created",
        statuses=frozenset({"failed"}),
        since=datetime(2026, 11, 29, tzinfo=UTC),
        until=datetime(2026, 11, 30, microsecond=250_000, tzinfo=UTC),
    )
    assert asked(("endpoint_id", "ep_1")).target == "endpoint:ep_1"


def test_statuses_are_repeated_or_separated_by_commas() -> None:
    """As on the command line; twice the same is once."""
    pairs = [("status", "failed, retrying"), ("status", "pending"), ("status", "failed")]
    assert asked(*pairs).statuses == {"failed", "retrying", "pending"}


@given(st.datetimes(min_value=datetime(1, 1, 1), timezones=st.timezones()))  # noqa: DTZ001 - hypothesis wants it naive
def test_a_time_means_itself_in_any_zone(moment: datetime) -> None:
    """To the second; at the ends of all time it is as far as UTC goes."""
    offset = moment.utcoffset() or timedelta()
    if offset % timedelta(minutes=1):  # as zones were before there were zones: RFC 3339 has no seconds there
        return
    text = moment.isoformat()
    since = asked(("since", text)).since
    assert since is not None
    assert since.tzinfo is UTC
    try:
        assert since == moment.astimezone(UTC)
    except OverflowError:
        assert since.replace(tzinfo=None) in (datetime.min, datetime.max)  # noqa: DTZ901 - as naive as since is here


@pytest.mark.parametrize(
    "wrong",
    [
        ("since", "2026-11-30"),
        ("since", "2026-11-30T14:00:00"),
        ("since", "2026-11-30T14:00:00 01:00"),
        ("since", "2026-11-30 14:00:00Z"),
        ("since", "2026-02-30T00:00:00Z"),
        ("since", "2026-11-30T24:00:00Z"),
        ("since", "1772368200"),
        ("until", "15m"),
        ("until", ""),
        ("status", "done"),
        ("status", ""),
        ("status", "failed,"),
        ("status", "Failed"),
        ("event_id", "ep_1"),
        ("event_id", f"{{{EVENT}}}"),
        ("event_id", EVENT.hex),
        ("event_type", "order.*"),
        ("event_type", ""),
        ("event_type", "x" * 201),
        ("endpoint_id", "1"),
        ("target", "ep_1"),
        ("target", "webhook:1"),
        ("target", "handler:"),
        ("target", "handler:a\n"),
        ("limit", "201"),
        ("type", "order.created"),
    ],
)
def test_a_filter_that_is_none_is_named(wrong: tuple[str, str]) -> None:
    """Not passed over, which would show all the rest; nor answered with an empty list, which would say something."""
    name = wrong[0]
    with pytest.raises(ProblemError) as raised:
        asked(("limit", "5"), wrong) if name != "limit" else asked(wrong)
    problem = raised.value.problem
    assert (problem.kind, problem.status) == ("query-invalid", 400)
    assert [error.name for error in problem.errors] == [name]


def test_what_can_be_said_once_only_is_not_said_twice() -> None:
    """A target beside an endpoint; a time that is repeated."""
    for pairs in (
        [("target", "endpoint:ep_1"), ("endpoint_id", "ep_1")],
        [("since", "2026-11-30T14:00:00Z"), ("since", "2026-11-30T14:00:00Z")],
    ):
        with pytest.raises(ProblemError) as raised:
            asked(*pairs)
        assert [error.name for error in raised.value.problem.errors] == [pairs[0][0]]


def test_many_wrong_statuses_are_one_mistake() -> None:
    """Said once, however often it was made."""
    with pytest.raises(ProblemError) as raised:
        asked(("status", ",".join(["x"] * 500)))
    assert len(raised.value.problem.errors) == 1


def test_views_show_what_the_log_says() -> None:
    """All of its fields under its names, so that the API and the command line speak of the same."""
    assert set(DeliveryView.model_fields) == {field.name for field in fields(LoggedDelivery)}
    assert set(AttemptView.model_fields) == {field.name for field in fields(LoggedAttempt)}


def a_delivery() -> LoggedDelivery:
    return LoggedDelivery(
        id=UUID(int=1),
        created_at=NOW,
        event_id=EVENT,
        event_type="order.created",
        target="handler:bill",
        origin="outbox.events/3/1000",
        status="pending",
        attempts=0,
        last_attempt_at=NOW,
        next_attempt_at=None,
        http_status=None,
        error_code=None,
        error=None,
        replay_id=None,
    )


def an_attempt(number: int) -> LoggedAttempt:
    return LoggedAttempt(
        id=UUID(int=number),
        attempt=1,
        deferrals=number,
        replay_id=None,
        started_at=NOW,
        duration_ms=0.5,
        outcome="deferred",
        http_status=None,
        error_code=None,
        error=None,
        excerpt=None,
        next="outbox.retry-1s",
        next_attempt_at=None,
    )


@pytest.mark.parametrize(
    ("there", "shown", "omitted"), [(0, [], False), (2, [0, 1], False), (3, [1, 2], True)]
)
def test_of_too_many_attempts_the_newest_are_shown(there: int, shown: list[int], omitted: bool) -> None:  # noqa: FBT001 - a column of the table
    """Oldest first, and it is said that there are others."""
    detail = delivery_detail(a_delivery(), [an_attempt(number) for number in range(there)], most=2)
    assert [attempt.deferrals for attempt in detail.attempts_made] == shown
    assert detail.attempts_omitted is omitted


def test_a_page_says_where_the_next_one_begins() -> None:
    """Or that there is none."""
    for cursor in ("x", None):
        page = deliveries_page(DeliveryPage(deliveries=(a_delivery(),), next_cursor=cursor))
        assert (len(page.items), page.next_cursor) == (1, cursor)


def test_reading_the_log_needs_no_more_than_read() -> None:
    """And each of its operations runs where it can't hold up the others."""
    assert {(one.method, one.scope, one.reads_log) for one in DELIVERY_OPERATIONS} == {("GET", "read", True)}
