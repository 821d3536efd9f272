"""The endpoint record and its JSON."""

from dataclasses import replace
from datetime import UTC, timedelta, timezone

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.endpoint import MAX_SECRETS, Endpoint
from connectors.webhook.errors import EndpointInvalidError
from connectors.webhook.secret import Secret
from outbox.event_filter import EventFilter
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
