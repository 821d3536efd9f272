"""What an application appends: a row that every later step takes, or an error that shows nothing of its content."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.webhook.wire import encode_request
from outbox import Event, EventFilter, EventFilterError, InvalidFieldError, OutboxRow, PayloadNotJsonError
from outbox.headers import MAX_HEADERS_BYTES
from outbox.payload import MAX_PAYLOAD_BYTES
from outbox.row import MAX_AGGREGATE_ID_BYTES, MAX_AGGREGATE_TYPE_BYTES
from streams.records.wire import decode_event, encode_event, header_map
from tests.fuzz.mutation import any_text, mutated, mutated_text
from tests.fuzz.profile import FUZZ
from tests.fuzz.refusal import read_or_refused
from tests.unit.webhook.records import NOW, endpoint, request

#: Payloads and header values begin with it; no message may show it.
MARK = "hunter2"
TYPES = ["order.created", "Order_Created-v2.x", "order.*", "*"]
PAYLOADS = [f'"{MARK}"', f'{{"{MARK}": [1, 2.50, null, "ü\\u0000"]}}', f"{MARK},x\r\n"]
CONTENT_TYPES = ["application/json", "application/cloudevents+json; charset=utf-8", "text/csv"]
NAMES = ["traceparent", "x-tenant-id", "content-type", "webhook-id", "outbox-x"]
VALUES = [f"{MARK}-00-4bf92f35", f"{MARK} a b", MARK]
OBJECTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats()
    | any_text
    | st.binary(max_size=5)
    | st.datetimes()
    | st.uuids()
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(any_text | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


def appended(**fields: Any) -> OutboxRow | None:
    """The row; None where it is refused, briefly and without its content."""
    given_fields = {"type": "order.created", "aggregate": ("order", "42"), "payload": "{}", **fields}
    found = read_or_refused(lambda: OutboxRow.of(**given_fields), InvalidFieldError)
    if isinstance(found, InvalidFieldError):
        assert MARK not in str(found)
        assert len(str(found)) <= 3_000
        assert found.field in given_fields
        assert found.__cause__ is None
        assert found.__suppress_context__ or found.__context__ is None
        return None
    return found


@st.composite
def fields_of_a_row(draw: st.DrawFn) -> dict[str, Any]:
    """Valid fields, of which one or two are mutated."""
    fields: dict[str, Any] = {
        "type": TYPES[0],
        "aggregate": ("order", "42"),
        "payload": draw(st.sampled_from(PAYLOADS)),
        "headers": {NAMES[0]: VALUES[0]},
        "content_type": draw(st.sampled_from(CONTENT_TYPES)),
    }
    mutations = {
        "type": mutated_text(TYPES),
        "aggregate": st.tuples(st.just("order"), mutated_text(["42", "a/b c"]))
        | st.tuples(mutated_text(["order", "bücher"]), st.just("42")),
        "payload": mutated_text(PAYLOADS) | mutated([payload.encode() for payload in PAYLOADS]),
        "headers": st.dictionaries(st.sampled_from(NAMES[:2]), mutated_text(VALUES), max_size=2)
        | st.dictionaries(mutated_text(NAMES), st.sampled_from(VALUES), max_size=2),
        "content_type": mutated_text(CONTENT_TYPES),
    }
    for name in draw(st.lists(st.sampled_from(sorted(mutations)), min_size=1, max_size=2, unique=True)):
        fields[name] = draw(mutations[name])
    return fields


@FUZZ
@given(fields_of_a_row())
def test_a_row_goes_all_the_way_or_is_refused_at_the_start(fields: dict[str, Any]) -> None:
    """INV-5: what append takes, Postgres can hold, Kafka carries back unchanged, and HTTP sends byte for byte."""
    row, payload = appended(**fields), fields["payload"]
    if row is None:
        return
    body = payload if isinstance(payload, bytes) else payload.encode()
    assert row.payload.encode() == body
    assert len(body) <= MAX_PAYLOAD_BYTES
    assert len(row.headers) <= MAX_HEADERS_BYTES
    assert len(row.aggregate_type.encode()) <= MAX_AGGREGATE_TYPE_BYTES
    assert len(row.aggregate_id.encode()) <= MAX_AGGREGATE_ID_BYTES
    stored = (row.type, row.aggregate_type, row.aggregate_id, row.payload, row.content_type, row.headers)
    assert not any("\0" in text for text in stored)
    event = Event(
        id=row.id,
        type=row.type,
        aggregate_type=row.aggregate_type,
        aggregate_id=row.aggregate_id,
        payload=body,
        content_type=row.content_type,
        headers=json.loads(row.headers),
        created_at=NOW,
    )
    key = event.aggregate_id.encode()
    assert decode_event(header_map(encode_event(event)), key=key, value=body) == event
    one = request(
        endpoint(),
        message_id=str(event.id),
        body=body,
        content_type=event.content_type,
        headers=event.headers,
    )
    assert encode_request(one, user_agent="test/1").endswith(b"\r\n\r\n" + body)


@FUZZ
@given(OBJECTS)
@example({"a": float("nan")})
@example(2**64)
@example("\ud800")
@example(memoryview(b"abcdef")[::2])
@example(memoryview(b"\xff\xfe"))
def test_any_object_is_stored_as_json_or_refused(payload: Any) -> None:
    """Numbers too large, text that is none, nesting without end: JSON that other readers take, or the field's error."""
    row = appended(payload=payload)
    if isinstance(payload, str | bytes | memoryview):
        return
    try:
        json.dumps(payload, allow_nan=False, default=str, skipkeys=True)
    except ValueError:
        assert row is None  # orjson would write null, in silence
    if row is not None:
        read = json.loads(row.payload, parse_constant=lambda word: 1 / 0 if word else None)
        assert isinstance(read, type(payload) if isinstance(payload, dict | bool) else object)


@pytest.mark.parametrize("depth", [200, 2_000, 100_000])
def test_nesting_without_end_is_refused(depth: int) -> None:
    """As deep as orjson writes it is stored; beyond, and in a circle, it is refused as any payload is."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value, float(depth)]
    row = appended(payload=value)
    assert (row is None) == (depth > 250)
    circle: list[Any] = [float("nan")]
    circle.append(circle)
    assert appended(payload=circle) is None


@FUZZ
@given(
    event_type=st.none() | st.integers() | any_text,
    aggregate=st.none()
    | any_text
    | st.lists(any_text | st.integers(), max_size=3)
    | st.tuples(any_text, any_text),
    headers=st.none()
    | any_text
    | st.dictionaries(any_text, st.none() | st.integers() | any_text, max_size=3),
    content_type=st.integers() | any_text,
    event_id=st.none() | any_text | st.uuids(),
)
def test_fields_of_any_type_are_refused_by_their_name(
    *, event_type: Any, aggregate: Any, headers: Any, content_type: Any, event_id: Any
) -> None:
    """A caller without a type checker is told the field, and gets no TypeError from deep inside."""
    for field in (
        {"type": event_type},
        {"aggregate": aggregate},
        {"headers": headers},
        {"content_type": content_type},
        {"id": event_id},
    ):
        appended(**field)


@FUZZ
@given(pattern=mutated_text(TYPES) | any_text, event_type=mutated_text(TYPES) | any_text)
@example(pattern="a." * 100_000, event_type="a")
def test_any_pattern_is_a_filter_or_refused(pattern: str, event_type: str) -> None:
    """A filter matches as its three forms say, worked out here in another way; the rest is refused, briefly."""
    event_filter = read_or_refused(lambda: EventFilter(pattern), EventFilterError)
    if isinstance(event_filter, EventFilterError):
        assert len(str(event_filter)) <= 3_000
        return
    words, wanted = event_type.split("."), pattern.split(".")
    is_subtree = wanted[-1] == "*"
    below = len(words) >= len(wanted) and words[: len(wanted) - 1] == wanted[:-1]
    assert event_filter.matches(event_type) == (pattern == "*" or (below if is_subtree else words == wanted))


@FUZZ
@given(mutated([payload.encode() for payload in PAYLOADS]))
@example(b"[" * 200_000)
@example(b"9" * 10_000)
def test_a_payload_is_json_or_a_permanent_error_that_shows_nothing(payload: bytes) -> None:
    """INV-9: a handler that reads JSON gets a value, or the one error that ends its delivery."""
    event = Event(
        id=OutboxRow.of(type="a", aggregate=("a", "b"), payload="{}").id,
        type="order.created",
        aggregate_type="order",
        aggregate_id="42",
        payload=payload,
        content_type="application/json",
        headers={},
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    found = read_or_refused(event.json, PayloadNotJsonError)
    if isinstance(found, PayloadNotJsonError):
        assert MARK not in str(found)
        assert len(str(found)) <= 400
        assert found.__cause__ is None
        assert found.__suppress_context__
