"""The endpoint record and its JSON."""

from dataclasses import replace
from datetime import UTC, timedelta, timezone

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.endpoint import (
    MAX_CONCURRENCY,
    MAX_RATE_PER_S,
    MAX_SECRETS,
    MIN_RATE_PER_S,
    Endpoint,
)
from connectors.webhook.errors import EndpointInvalidError
from connectors.webhook.event_payload import _UNREAD, EventPayload
from connectors.webhook.payload_filter import PayloadFilter
from connectors.webhook.secret import Secret
from outbox.event_filter import EventFilter
from tests.support.deliveries import an_event
from tests.unit.webhook.records import NOW, SECRET, endpoint

ENDPOINTS = st.builds(
    Endpoint,
    id=st.from_regex(r"ep_[A-Za-z0-9_-]{1,64}", fullmatch=True),
    url=st.sampled_from(
        ["https://receiver.example/in?token=1", "http://127.0.0.1:8080", "https://bücher.example/ü"]
    ),
    event_types=st.lists(
        st.sampled_from(["*", "order.*", "order.created"]).map(EventFilter), min_size=1, max_size=3
    ).map(tuple),
    secrets=st.lists(st.binary(min_size=24, max_size=64).map(Secret), min_size=1, max_size=MAX_SECRETS).map(
        tuple
    ),
    enabled=st.booleans(),
    description=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    created_at=st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3, minutes=30))])),
    concurrency=st.none() | st.integers(1, MAX_CONCURRENCY),
    rate_limit_per_s=st.none() | st.floats(MIN_RATE_PER_S, MAX_RATE_PER_S),
    payload_filter=st.none()
    | st.just({"total": [{"numeric": [">=", 1e2]}], "a": [1.0, "x"]}).map(PayloadFilter.of),
)


@given(ENDPOINTS)
def test_an_endpoint_survives_its_json(one: Endpoint) -> None:
    """What one process writes to `outbox.endpoints` is what every worker reads, secrets and their order included."""
    read = Endpoint.from_json(one.to_json())

    assert read == one
    assert read.target == one.target


def test_a_field_of_a_later_version_is_left_out() -> None:
    """An older worker keeps working while a newer one writes."""
    record = orjson.loads(endpoint().to_json()) | {"rate_limit": {"per_s": 10}}

    assert Endpoint.from_json(orjson.dumps(record)) == endpoint()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": None}, "id is missing"),
        ({"id": "1"}, "id is ep_"),
        ({"id": "ep_\r\n"}, "id is ep_"),
        ({"id": "hunter2" * 100_000, "url": 3}, "^an endpoint's id is ep_"),
        ({"description": "\0"}, "ep_1: description holds a NUL"),
        ({"url": 3}, "ep_1: url is missing"),
        ({"url": "gopher://receiver.example"}, "ep_1: url: .*https"),
        ({"event_types": "order.*"}, "ep_1: event_types is missing or not a list"),
        ({"event_types": []}, "ep_1: event_types is empty"),
        ({"event_types": ["*.created"]}, "ep_1: .*no event filter"),
        ({"secrets": []}, "ep_1: 0 secrets"),
        ({"secrets": [1]}, "ep_1: secrets is missing or not a list"),
        ({"secrets": ["hunter2-secret"]}, "ep_1: .*starts with whsec_"),
        ({"secrets": ["whsec_" + "aGVsbG8h" * 4] * (MAX_SECRETS + 1)}, "ep_1: 9 secrets"),
        ({"enabled": "yes"}, "ep_1: enabled is missing"),
        ({"description": None}, "ep_1: description is missing"),
        ({"concurrency": 0}, "ep_1: concurrency is not a whole number from 1"),
        ({"concurrency": 1.5}, "ep_1: concurrency is not a whole number"),
        ({"concurrency": True}, "ep_1: concurrency is not a whole number"),
        ({"rate_limit_per_s": 0}, "ep_1: rate_limit_per_s is not from"),
        ({"rate_limit_per_s": 10_001}, "ep_1: rate_limit_per_s is not from"),
        ({"rate_limit_per_s": "hunter2"}, "ep_1: rate_limit_per_s is not a number"),
        ({"payload_filter": {"a": ["x", {"hunter2": 1}]}}, "ep_1: payload_filter at /a/1: an object"),
        ({"created_at": "yesterday"}, "ep_1: created_at is not"),
        ({"created_at": "2026-03-01T12:00:00"}, "ep_1: created_at has no time zone"),
    ],
)
def test_a_bad_record_is_refused_by_name(change: dict[str, object], said: str) -> None:
    """The error names endpoint and field, and shows no secret, nor does an error behind it (INV-9)."""
    record = orjson.loads(endpoint().to_json()) | change

    with pytest.raises(EndpointInvalidError, match=said) as raised:
        Endpoint.from_json(orjson.dumps(record))

    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None or "hunter2" not in str(raised.value.__cause__)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"\xff", b'"ep_1"'])
def test_what_is_no_record_is_refused(text: bytes) -> None:
    """A consumer of `outbox.endpoints` has one error to catch."""
    with pytest.raises(EndpointInvalidError):
        Endpoint.from_json(text)


def test_an_endpoint_subscribes_by_any_of_its_filters() -> None:
    """One match is enough."""
    one = endpoint(event_types=("order.*", "invoice.paid"))

    assert [one.subscribes_to(t) for t in ("order.created", "invoice.paid", "invoice.sent", "orders")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("event_type", "payload", "content_type", "wanted"),
    [
        ("order.created", b'{"total": 100}', "application/json", True),
        ("order.created", b'{"total": 100}', "application/cloudevents+json; charset=utf-8", True),
        ("invoice.paid", b'{"total": 100}', "application/json", False),
        ("order.created", b'{"total": 99}', "application/json", False),
        ("order.created", b'{"total": 100}', "text/plain", False),
        ("order.created", b'{"total": 100', "application/json", False),
        ("order.created", b"[100]", "application/json", False),
        ("order.created", b"", "application/json", False),
        ("order.created", b'{"total": "\xff"}', "application/json", False),
    ],
)
def test_an_endpoint_wants_what_both_of_its_filters_want(
    event_type: str,
    payload: bytes,
    content_type: str,
    wanted: bool,  # noqa: FBT001 - pytest calls it
) -> None:
    """Type and payload; and what is no JSON, by its name or by its bytes, is wanted by no payload filter."""
    by_type = endpoint(event_types=("order.*",))
    by_both = replace(by_type, payload_filter=PayloadFilter.of({"total": [{"numeric": [">=", 100]}]}))
    event = an_event(type=event_type, payload=payload, content_type=content_type)

    assert by_both.wants(event) == wanted
    assert by_type.wants(event) == (event_type == "order.created")


def test_a_payload_is_read_once_for_all_endpoints_and_only_for_a_filter() -> None:
    """However many ask; where nobody filters, nobody reads."""
    one = replace(endpoint(), payload_filter=PayloadFilter.of({"total": [100]}))
    payload = EventPayload(an_event(payload=b'{"total": 100}'))

    assert endpoint().wants_payload(payload)
    assert payload._json is _UNREAD
    assert one.wants_payload(payload)
    assert payload.json() is payload.json()


def test_an_endpoint_shows_neither_secret_nor_token() -> None:
    """INV-9: its repr may end in a log."""
    shown = repr(endpoint("https://receiver.example/hunter2?token=hunter2"))

    assert "hunter2" not in shown
    assert SECRET.reveal() not in shown
    assert "https" in shown or "receiver.example" in shown


def test_a_description_that_is_no_text_is_refused() -> None:
    """Bytes of a terminal that are no UTF-8 come as half characters: an endpoint that exists can be written."""
    with pytest.raises(EndpointInvalidError, match="half of a surrogate pair"):
        replace(endpoint(), description="\udcff")


def test_an_endpoint_without_a_time_zone_is_refused() -> None:
    """Records of different machines must compare."""
    with pytest.raises(EndpointInvalidError, match="time zone"):
        Endpoint(
            id="ep_1",
            url="https://receiver.example",
            event_types=(EventFilter("*"),),
            secrets=(SECRET,),
            created_at=NOW.replace(tzinfo=None),
        )
