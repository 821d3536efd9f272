"""The outbox row: fields that are checked, and errors that name them without showing what they hold."""

from __future__ import annotations

import json
import string
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.endpoint import Endpoint
from connectors.webhook.request import Request
from connectors.webhook.secret import Secret
from connectors.webhook.wire import encode_request
from outbox import EventFilter, InvalidFieldError, OutboxRow
from outbox.event_id import new_event_id, uuid7
from outbox.headers import RESERVED_HEADER_NAMES, headers_json

VALID: dict[str, Any] = {"type": "order.created", "aggregate": ("order", "42"), "payload": "{}"}

visible = "".join(map(chr, range(0x21, 0x7F)))
header_names = st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=40).filter(
    lambda name: (
        name[0] != "-" and name not in RESERVED_HEADER_NAMES and not name.startswith(("outbox-", "webhook-"))
    )
)
header_values = st.text(visible + " ", max_size=60).map(str.strip)
headers = st.dictionaries(header_names, header_values, max_size=20)
content_types = st.builds(
    "{}/{}{}".format,
    st.text(string.ascii_letters + string.digits + "!#$&^_.+-", min_size=1, max_size=60),
    st.text(string.ascii_letters + string.digits + "!#$&^_.+-", min_size=1, max_size=60),
    st.text(visible + " ", min_size=1, max_size=60).map(str.strip).filter(bool).map(";".__add__)
    | st.just(""),
)


def test_a_row_has_what_was_given() -> None:
    """Nothing is added to an event, and nothing is taken away."""
    event_id = uuid4()
    row = OutboxRow.of(
        type="order.created",
        aggregate=("order", "42"),
        payload=b'{"a": 1}',
        headers={"traceparent": "00-1"},
        content_type="application/cloudevents+json",
        id=event_id,
    )
    assert row == OutboxRow(
        id=event_id,
        type="order.created",
        aggregate_type="order",
        aggregate_id="42",
        payload='{"a": 1}',
        content_type="application/cloudevents+json",
        headers='{"traceparent": "00-1"}',
    )


def test_a_row_without_the_optional_fields_has_their_defaults() -> None:
    """An event of four fields is JSON without headers, under an id of its own."""
    first, second = OutboxRow.of(**VALID), OutboxRow.of(**VALID)
    assert (first.content_type, first.headers) == ("application/json", "{}")
    assert first.id != second.id


def test_neither_payload_nor_headers_show_in_a_repr() -> None:
    """INV-9: a row that ends in a log or a traceback shows none of its content."""
    row = OutboxRow.of(**VALID | {"payload": '"secret-1"', "headers": {"session": "secret-2"}})
    assert "secret" not in repr(row)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"type": ""}, "type: '' is no event type"),
        ({"type": "order created"}, "type: 'order created' is no event type"),
        ({"type": "order.*"}, "type: 'order.*' is no event type"),
        ({"type": "bestellung.übernommen"}, "type: 'bestellung.übernommen' is no event type"),
        ({"type": "order.created\n"}, r"type: 'order.created\n' is no event type"),
        ({"type": "a" * 201}, "is no event type"),
        ({"type": None}, "type: is NoneType"),
        ({"type": "endpoint.failing"}, "type: 'endpoint.failing' is reserved"),
        ({"type": "endpoint.disabled"}, "type: 'endpoint.disabled' is reserved"),
        ({"aggregate": "order/42"}, "aggregate: is not a pair"),
        ({"aggregate": ("order",)}, "aggregate: is not a pair"),
        ({"aggregate": ("order", 42)}, "aggregate: has a part that is not a str"),
        ({"aggregate": ("", "42")}, "aggregate: its type is empty"),
        ({"aggregate": ("order", "")}, "aggregate: its id is empty"),
        ({"aggregate": ("or\0der", "42")}, "aggregate: its type has a control character"),
        ({"aggregate": ("order", "4\n2")}, "aggregate: its id has a control character"),
        ({"aggregate": ("order", "4" * 513)}, "aggregate: its id has 513 bytes"),
        ({"aggregate": ("ö" * 101, "42")}, "aggregate: its type has 202 bytes"),
        ({"aggregate": ("order", "\ud800")}, "aggregate: its id has half of a surrogate pair"),
        ({"content_type": "json"}, "content_type: 'json' is no media type"),
        ({"content_type": "text/plain\r\nx: y"}, "is no media type"),
        ({"content_type": "text/" + "a" * 200}, "is no media type"),
        ({"content_type": 1}, "content_type: is int"),
        (
            {"content_type": "text/csv", "payload": [1]},
            "the payload is an object (list), which is stored as JSON",
        ),
        ({"id": "x"}, "id: is str"),
        ({"headers": [("a", "b")]}, "headers: is list"),
        ({"headers": {"A": "b"}}, "headers: 'A' is no header name"),
        ({"headers": {"a_b": "b"}}, "headers: 'a_b' is no header name"),
        ({"headers": {"": "b"}}, "headers: '' is no header name"),
        ({"headers": {1: "b"}}, "headers: '1' is no header name"),
        ({"headers": {"a" * 101: "b"}}, "is no header name"),
        ({"headers": {"content-type": "b"}}, "headers: 'content-type' is a reserved name"),
        ({"headers": {"webhook-id": "b"}}, "headers: 'webhook-id' is a reserved name"),
        ({"headers": {"outbox-attempt": "b"}}, "headers: 'outbox-attempt' is a reserved name"),
        ({"headers": {"a": 1}}, "headers: the value of 'a' is int"),
        (
            {"headers": {"a": "b\r\nc: d"}},
            "headers: the value of 'a' has a character that is not printable ASCII",
        ),
        ({"headers": {"a": "é"}}, "headers: the value of 'a' has a character that is not printable ASCII"),
        ({"headers": {"a": " b"}}, "or a space at an end"),
        ({"headers": {"a": "b" * 4096}}, "headers: take 4,105 bytes, and the limit is 4,096"),
        ({"headers": {f"h{number}": "" for number in range(65)}}, "headers: has 65 of them"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_its_field(fields: dict[str, Any], message: str) -> None:
    """An error names the field and what is wrong with it, before anything is written."""
    with pytest.raises(InvalidFieldError) as caught:
        OutboxRow.of(**VALID | fields)
    assert message in str(caught.value)
    assert caught.value.field in fields


@given(st.dictionaries(st.text(), st.text() | st.integers(), min_size=1), st.text(min_size=1))
def test_an_error_shows_no_payload_and_no_header_value(bad_headers: dict[str, Any], payload: str) -> None:
    """INV-9, for any content: the message is the same whatever the values are."""
    marked = {name: f"value-\t-{value}" for name, value in bad_headers.items()}
    with pytest.raises(InvalidFieldError) as caught:
        OutboxRow.of(**VALID | {"payload": f"content-{payload}", "headers": marked})
    assert "value-" not in str(caught.value)
    assert "content-" not in str(caught.value)


@given(headers, content_types)
def test_what_append_takes_the_sender_of_webhooks_can_send(
    event_headers: dict[str, str], content_type: str
) -> None:
    """What would be refused at the last step is refused at the first, where its cause can be corrected."""
    row = OutboxRow.of(**VALID | {"headers": event_headers, "content_type": content_type})
    endpoint = Endpoint(
        id="ep_1",
        url="https://example.com/",
        event_types=(EventFilter("*"),),
        secrets=(Secret(b"k" * 32),),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    request = Request(
        endpoint=endpoint,
        message_id=str(row.id),
        timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        body=row.payload.encode(),
        content_type=row.content_type,
        headers=json.loads(row.headers),
    )
    lines = encode_request(request, user_agent="outbox").decode().split("\r\n")
    assert f"content-type: {content_type}" in lines
    for name, value in event_headers.items():
        assert f"{name}: {value}" in lines


@given(headers)
def test_headers_become_a_json_object(event_headers: dict[str, str]) -> None:
    """Header values survive JSON's escapes."""
    assert json.loads(headers_json(event_headers)) == event_headers


def test_ids_are_of_version_7_and_in_the_order_of_time() -> None:
    """RFC 9562: version and variant are in their bits, and a later millisecond sorts later."""
    earlier = uuid7(unix_ms=1, random_bits=(1 << 74) - 1)
    later = uuid7(unix_ms=2, random_bits=0)
    assert earlier < later
    for event_id in (earlier, later, new_event_id()):
        assert (event_id.version, event_id.variant) == (7, UUID(int=1 << 63).variant)


def test_a_uuid7_is_that_of_the_rfc() -> None:
    """RFC 9562, appendix A.6: the example's time and random bits give the example's id."""
    rand_a, rand_b = 0xCC3, 0x18C4DC0C0C07398F
    assert uuid7(unix_ms=0x017F22E279B0, random_bits=rand_a << 62 | rand_b) == UUID(
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
    )
