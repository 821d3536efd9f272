"""Reading requests: what passes is what was meant, and what doesn't is named."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.endpoint import Endpoint
from outbox.event_filter import EventFilter
from streams.api.budgets import check_budgets
from streams.api.cursor import audit_cursor, endpoint_cursor, read_audit_cursor, read_endpoint_cursor
from streams.api.models import AuditQuery, EndpointChange, EndpointNew, PageQuery
from streams.api.problem import CONTENT_TYPE, KINDS, Problem, ProblemError
from streams.api.replay_models import RangeReplay
from streams.api.validation import read_body, read_query
from streams.settings import Settings
from tests.fuzz.refusal import read_or_refused
from tests.unit.webhook.records import NOW, SECRET

MOMENTS = st.datetimes(min_value=datetime(2000, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis wants it naive


@given(MOMENTS, st.from_regex(r"ep_[A-Za-z0-9_-]{1,64}", fullmatch=True), st.integers(1, 2**63 - 1))
def test_a_cursor_comes_back_as_it_was(created_at: datetime, endpoint_id: str, entry_id: int) -> None:
    """A text that needs no escaping in a URL, and that the models take."""
    cursor = endpoint_cursor(created_at, endpoint_id)
    assert read_query(PageQuery, [("cursor", cursor)]).cursor == cursor
    assert read_endpoint_cursor(cursor) == (created_at, endpoint_id)
    assert read_audit_cursor(audit_cursor(entry_id)) == entry_id


@given(st.text("ABCabc019_-", min_size=1, max_size=60) | st.text(max_size=20))
def test_any_other_cursor_is_named(cursor: str) -> None:
    """Or it is one, of whatever page: there is no third."""
    for read in (lambda: read_endpoint_cursor(cursor), lambda: read_audit_cursor(cursor)):
        found = read_or_refused(read, ProblemError)
        if isinstance(found, ProblemError):
            assert [wrong.name for wrong in found.problem.errors] == ["cursor"]


def test_numbers_of_a_query_are_read_and_bounded() -> None:
    """Each parameter once, and none that is not known."""
    assert read_query(AuditQuery, [("limit", "7"), ("endpoint_id", "ep_1")]).limit == 7
    assert read_query(PageQuery, []).limit == 50
    for pairs in ([("limit", "0")], [("limit", "1.5")], [("limit", "1"), ("limit", "1")], [("x" * 999, "1")]):
        with pytest.raises(ProblemError) as raised:
            read_query(PageQuery, pairs)
        assert [len(error.name) <= 65 for error in raised.value.problem.errors] == [True]


def test_many_mistakes_are_named_at_once_and_not_without_end() -> None:
    """Up to twenty, each short."""
    body = b'{"url": 1, "event_types": [' + b",".join([b"1"] * 90) + b'], "' + b"x" * 5_000 + b'": 1}'
    with pytest.raises(ProblemError) as raised:
        read_body(EndpointNew, body)
    errors = raised.value.problem.errors
    assert len(errors) == 20
    assert max(len(error.name) + len(error.detail) for error in errors) < 300


def test_what_is_not_given_is_told_from_null() -> None:
    """A merge patch needs the difference."""
    assert read_body(EndpointChange, b"{}").model_fields_set == set()
    assert read_body(EndpointChange, b'{"timeout_s": null}').model_fields_set == {"timeout_s"}


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ('"headers": {"X-A": "1", "x-a": "2"}', "#/headers"),
        ('"headers": {"x-a": "sealed:hunter2"}', "#/headers/x-a"),
        ('"secret": "sealed:v1:k1:hunter2"', "#/secret"),
    ],
)
def test_what_would_not_be_kept_as_it_was_meant_is_refused(fields: str, pointer: str) -> None:
    """One of two headers would be dropped; what looks sealed could never be opened."""
    body = f'{{"url": "https://receiver.example/", "event_types": ["*"], {fields}}}'
    with pytest.raises(ProblemError) as raised:
        read_body(EndpointNew, body.encode())
    [wrong] = raised.value.problem.errors
    assert wrong.name == pointer
    assert "hunter2" not in wrong.detail


def test_a_merge_patch_names_a_header_once() -> None:
    """In whatever case: to remove it and to set it at once says nothing."""
    with pytest.raises(ProblemError) as raised:
        read_body(EndpointChange, b'{"headers": {"X-A": null, "x-a": "1"}}')
    assert [wrong.name for wrong in raised.value.problem.errors] == ["#/headers"]


def an_endpoint(**fields: object) -> Endpoint:
    return Endpoint(
        id="ep_1",
        url="https://receiver.example/",
        event_types=(EventFilter("*"),),
        secrets=(SECRET,),
        created_at=NOW,
        **fields,  # type: ignore[arg-type]  # any field
    )


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({}, []),
        ({"timeout": timedelta(seconds=15)}, []),
        ({"timeout": timedelta(seconds=15.1)}, ["#/timeout_s"]),
        ({"schedule": ()}, []),
        ({"schedule": (timedelta(hours=96),)}, []),
        ({"schedule": (timedelta(hours=96), timedelta(seconds=1))}, ["#/schedule_s"]),
        ({"max_age": timedelta(hours=1)}, ["#/max_age_s"]),
        ({"max_age": timedelta(hours=1), "schedule": (timedelta(hours=1),)}, []),
        ({"max_age": timedelta(hours=167, minutes=45)}, []),
        ({"max_age": timedelta(hours=167, minutes=46)}, ["#/max_age_s"]),
    ],
)
def test_only_what_the_workers_obey_is_taken(fields: dict[str, object], wrong: list[str]) -> None:
    """Timeout, schedule and age against the defaults: 15 s, 96 h, and 168 h less the longest tier on Kafka."""
    found = read_or_refused(lambda: check_budgets(an_endpoint(**fields), Settings()), ProblemError)
    problems = found.problem.errors if isinstance(found, ProblemError) else ()
    assert [one.name for one in problems] == wrong


def test_an_age_is_no_longer_than_the_log_keeps_a_delivery() -> None:
    """As for the settings' own: what outlives its day in the log would be retried unseen."""
    settings = Settings(log_retention_days=4)
    check_budgets(an_endpoint(max_age=timedelta(days=4)), settings)
    with pytest.raises(ProblemError) as raised:
        check_budgets(an_endpoint(max_age=timedelta(days=4, seconds=1)), settings)
    [wrong] = raised.value.problem.errors
    assert (wrong.name, "delivery log" in wrong.detail) == ("#/max_age_s", True)


def test_an_age_has_a_least() -> None:
    """Below a minute, a restart of the workers would give deliveries up that nobody has attempted."""
    body = b'{"url": "https://receiver.example/", "event_types": ["*"], "max_age_s": %s}'
    assert read_body(EndpointNew, body % b"60").max_age_s == 60
    with pytest.raises(ProblemError) as raised:
        read_body(EndpointNew, body % b"59.9")
    assert [wrong.name for wrong in raised.value.problem.errors] == ["#/max_age_s"]


def test_every_kind_of_problem_is_an_answer() -> None:
    """With its status, and the media type of RFC 9457."""
    for kind, (status, title) in KINDS.items():
        response = Problem(kind=kind, detail="x").response("r-1")
        assert (response.status, response.content_type) == (status, CONTENT_TYPE)
        assert title.encode() in response.body  # type: ignore[operator]  # bytes here


@pytest.mark.parametrize("aggregate", [r"order/\u0000", r"or\u0000der/42"])
def test_an_aggregate_that_no_row_can_have_is_named(aggregate: str) -> None:
    """Postgres would refuse the replay's row, which is no answer to who asked for it."""
    body = (
        '{"from": "2026-03-01T00:00:00Z", "to": "2026-03-02T00:00:00Z", "types": ["*"], '
        f'"targets": ["handler:billing"], "aggregates": ["{aggregate}"]}}'
    )
    with pytest.raises(ProblemError) as raised:
        read_body(RangeReplay, body.encode())
    assert [wrong.name for wrong in raised.value.problem.errors] == ["#/aggregates/0"]
