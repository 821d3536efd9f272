"""How deliveries look on the wire: what is written is what is read, and what can't be read is told in one way only."""

from random import Random
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connectors.kafka.record import OutgoingRecord
from outbox.event import Event
from streams.dispatch.hops import dead_record, records_after
from streams.errors import RecordMalformed
from streams.records.attempt import Attempt
from streams.records.delivery import Delivery, Origin
from streams.records.next_hop import DeadLetter, Retry
from streams.records.outcome import Deferred, ErrorCode, Failed
from streams.records.wire import (
    ERROR_MAX_BYTES,
    cut,
    decode_delivery,
    decode_event,
    encode_delivery,
    encode_event,
    header_map,
)
from tests.support.chance import seeded
from tests.support.deliveries import NOW_MS, a_delivery, an_event, any_delivery, any_event

GOOD = header_map(
    encode_delivery(a_delivery(first_failed_at_ms=NOW_MS, replay_id="redrive-1", booked_for_ms=NOW_MS))
)

#: Nearly right, each in its own way.
NEAR_BYTES = [
    b"",
    b"0",
    b"-1",
    b"+1",
    b" 1",
    b"1_0",
    b"1e3",
    b"9" * 19,
    b"9" * 5_000,
    "\u0661\u0662".encode(),
    b"null",
    b"{}",
    b"[]",
    b'{"a": 1}',
    b'{"a": "\\ud800"}',
    b'{"a":' * 2_000,
    b"a/b/c",
    b"//",
    b"outbox.events/3/" + b"9" * 5_000,
    b"outbox.events/%d/5" % 2**31,
    b"outbox.events/-1/5",
    b"handler:",
    b":x",
    b"endpoint:\xff",
    b"job:x",
    b"2026-03-01T12:30:00",
    b"2026-03-01T12:30:00+99:00",
    b"9999-12-31T23:59:59-23:59",
    b"0001-01-01T00:00:00+23:59",
    b"01890a5d",
    b"{01890a5d-ac96-774b-bcce-b302099a8057}",
]


@st.composite
def mangled_headers(draw: st.DrawFn) -> dict[str, bytes]:
    """A good record's headers with a few of them replaced, removed or added."""
    headers = dict(GOOD)
    for name in draw(st.lists(st.sampled_from([*GOOD, "other"]), min_size=1, max_size=4)):
        if draw(st.booleans()):
            headers[name] = draw(st.sampled_from(NEAR_BYTES) | st.binary(max_size=40))
        else:
            headers.pop(name, None)
    return headers


def garbled(raw: bytes, random: Random) -> bytes:
    """The bytes with some of them changed, cut off, doubled or put in."""
    changed = bytearray(raw)
    for _ in range(random.randint(0, 3)):
        at = random.randint(0, len(changed))
        changed[at : at + random.randint(0, 4)] = random.choice(
            [b"", b"\0", b"\xff", b"/", b'"', b"7", changed[:3]]
        )
    return bytes(changed)


def read_or_malformed(headers: dict[str, bytes], *, key: bytes | None, value: bytes | None) -> Delivery | str:
    """The delivery, or what is wrong with the record."""
    try:
        return decode_delivery(headers, key=key, value=value)
    except RecordMalformed as error:
        return str(error)


def read_again(record: OutgoingRecord) -> Delivery:
    return decode_delivery(header_map(record.headers), key=record.key, value=record.value)


@given(event=any_event)
def test_an_event_read_is_the_event_written(event: Event) -> None:
    """INV-4, INV-5, CASES 11: the id, every byte of the payload and every character survive the wire."""
    headers = header_map(encode_event(event))
    assert decode_event(headers, key=event.aggregate_id.encode(), value=event.payload) == event


@given(delivery=any_delivery)
def test_a_delivery_read_is_the_delivery_written(delivery: Delivery) -> None:
    """INV-7: target, origin and every count survive the wire."""
    headers = header_map(encode_delivery(delivery))
    key, value = delivery.event.aggregate_id.encode(), delivery.event.payload
    assert decode_delivery(headers, key=key, value=value) == delivery


def test_a_record_of_debezium_is_read() -> None:
    """What the outbox router writes: a null value is an empty payload, microseconds and a zone in the time."""
    headers = {
        "id": b"01890a5d-ac96-774b-bcce-b302099a8057",
        "type": b"order.created",
        "aggregate-type": b"order",
        "content-type": b"application/json",
        "headers": b'{"tenant": "acme"}',
        "created-at": b"2026-03-01T12:30:00.123456Z",
    }
    assert decode_event(headers, key=b"42", value=None) == an_event(payload=b"")


@given(turns=st.lists(st.sampled_from(["failed", "deferred"]), min_size=1, max_size=40))
def test_headers_do_not_grow_over_hops(turns: list[str]) -> None:
    """CASES 34: each hop writes the same header names once, whatever the number of hops before it."""
    delivery = a_delivery(first_failed_at_ms=NOW_MS)
    names: set[tuple[str, ...]] = set()
    for turn in turns:
        error = "x" * 5_000
        outcome = Failed(error=error) if turn == "failed" else Deferred(reason=error)
        retry = Retry(
            delivery=delivery,
            topic="outbox.retry-1s",
            partition=0,
            due_at_ms=NOW_MS,
            not_before_ms=NOW_MS,
            error=error,
        )
        parked = records_after(an_attempt(delivery, outcome=outcome, next_hop=retry))[1]
        names.add(tuple(name for name, _ in parked.headers))
        assert sum(len(name) + len(value) for name, value in parked.headers) < 2_048
        delivery = read_again(parked)
    assert len(names) == 1
    assert len(set(names.copy().pop())) == len(names.pop())


@given(delivery=any_delivery, error=st.text(max_size=2_000))
@example(delivery=a_delivery(), error="\udc80 a lone surrogate")
@example(delivery=a_delivery(), error="é" * 600)
def test_a_parked_or_buried_record_keeps_the_payload_and_a_cut_error(delivery: Delivery, error: str) -> None:
    """INV-5: the payload is untouched on every hop, and the error is UTF-8 of at most 1 KB, whatever it was."""
    retry = Retry(
        delivery=delivery, topic="t", partition=0, due_at_ms=NOW_MS, not_before_ms=None, error=error
    )
    letter = DeadLetter(delivery=delivery, code=ErrorCode.ENDPOINT_EXHAUSTED, error=error)
    for next_hop in (retry, letter):
        attempt_record, record = records_after(
            an_attempt(delivery, outcome=Failed(error=error), next_hop=next_hop)
        )
        assert record.value == delivery.event.payload
        assert record.key == delivery.event.aggregate_id.encode()
        headers = header_map(record.headers)
        assert len(headers["outbox-error"]) <= ERROR_MAX_BYTES
        assert headers["outbox-error"].decode() is not None
        assert read_again(record) == delivery
        assert orjson.loads(attempt_record.value or b"")["event_id"] == str(delivery.event.id)


@given(text=st.text(st.characters(), max_size=400), max_bytes=st.integers(0, 500))
def test_a_text_is_cut_on_a_character_boundary(text: str, max_bytes: int) -> None:
    """Never more bytes than allowed, never half a character, and nothing that UTF-8 can't hold."""
    kept = cut(text, max_bytes=max_bytes)
    raw = kept.encode()
    assert len(raw) <= max_bytes
    whole = text.encode(errors="replace")
    assert whole.startswith(raw)
    assert len(whole) <= max_bytes or max_bytes - len(raw) < 4


@settings(max_examples=200)
@given(
    headers=mangled_headers(),
    key=st.none() | st.sampled_from(NEAR_BYTES),
    value=st.none() | st.binary(max_size=10),
)
def test_a_mangled_delivery_is_read_or_malformed_and_nothing_else(
    headers: dict[str, bytes], key: bytes | None, value: bytes | None
) -> None:
    """CASES 41: whatever bytes stand in the headers, a record is read or raises RecordMalformed."""
    found = read_or_malformed(headers, key=key, value=value)
    if isinstance(found, Delivery):
        assert found.attempt >= 1
        assert found.origin.partition >= 0
        again = OutgoingRecord(topic="", key=key, value=value, headers=encode_delivery(found))
        assert read_again(again) == found


def test_thousands_of_garbled_records_are_read_or_malformed_and_nothing_else() -> None:
    """CASES 41: bytes flipped, cut and swapped between the headers, in more ways than anybody thinks of."""
    random = seeded(41)
    said: set[str] = set()
    for _ in range(5_000):
        headers = dict(GOOD)
        for name in random.sample(sorted(headers), k=random.randint(1, 3)):
            headers[name] = garbled(random.choice(sorted(headers.values())), random)
        found = read_or_malformed(headers, key=garbled(b"order/42", random), value=b"")
        if isinstance(found, str):
            assert len(found.encode()) < 300
            said.add(found.partition(":")[0])
    assert len(said) > 10


def test_what_a_malformed_record_says_holds_no_payload() -> None:
    """INV-9: the error names the part that is wrong; the payload is not read for it."""
    random = seeded(9)
    for name in GOOD:
        found = read_or_malformed({**GOOD, name: random.randbytes(30)}, key=b"42", value=b"4111-1111")
        assert "4111-1111" not in str(found)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("id", None, "header id is missing"),
        ("id", b"42", "badly formed"),
        ("type", b"", "header type is missing"),
        ("type", b"\xff", "header type is not UTF-8"),
        ("headers", b"[1]", "not a JSON object of texts"),
        ("headers", b'{"n": 1}', "not a JSON object of texts"),
        ("created-at", b"2026-03-01T12:30:00", "without a time zone"),
        ("created-at", b"yesterday", "isoformat"),
        ("outbox-target", b"job:x", "unknown kind"),
        ("outbox-attempt", b"0", "below 1"),
        ("outbox-attempt", b"1_0", "not a whole number"),
        ("outbox-deferrals", b"-1", "not a whole number"),
        ("outbox-deferrals", b"9" * 18, "above 1000000000"),
        ("outbox-attempt", b"9" * 18, "above 1000000000"),
        ("outbox-origin", b"outbox.events", "outbox-origin"),
        ("outbox-origin", b"outbox.events/-1/5", "outbox-origin"),
        ("outbox-origin", "outbox.events/\u0661/5".encode(), "outbox-origin"),
        ("outbox-first-failed-at", b"9" * 19, "not a whole number"),
        ("outbox-booked-for", b"-1", "not a whole number"),
    ],
)
def test_a_malformed_record_says_which_part(name: str, value: bytes | None, said: str) -> None:
    """An operator who opens a dead letter is told what is wrong with it."""
    headers = {key: raw for key, raw in {**GOOD, name: value}.items() if raw is not None}
    with pytest.raises(RecordMalformed, match=said):
        decode_delivery(headers, key=b"42", value=b"")


def test_a_header_without_a_value_reads_as_absent_and_the_last_of_a_name_counts() -> None:
    """Kafka allows null values and repeated names; ours are texts, once each."""
    assert header_map([("a", b"1"), ("b", None), ("a", b"2"), ("c", "3")]) == {"a": b"2", "c": b"3"}
    assert header_map(None) == {}


@given(
    headers=mangled_headers(),
    key=st.none() | st.binary(max_size=10),
    value=st.none() | st.binary(max_size=10),
)
def test_a_buried_record_keeps_its_bytes_and_headers(
    headers: dict[str, bytes], key: bytes | None, value: bytes | None
) -> None:
    """INV-1, CASES 41: an undecodable record is kept as it was, with the reason and where it stood."""
    record = dead_record(
        headers=headers,
        key=key,
        value=value,
        origin=Origin("outbox.events", 3, 7),
        code=ErrorCode.EVENT_MALFORMED,
        error="why",
    )
    assert (record.topic, record.key, record.value) == ("outbox.dead-letter", key, value)
    written = header_map(record.headers)
    assert len(written) == len(record.headers)
    assert headers.items() <= written.items()
    assert (written["outbox-error-code"], written["outbox-error"]) == (b"EVENT_MALFORMED", b"why")
    assert written["outbox-origin"] == headers.get("outbox-origin", b"outbox.events/3/7")


def an_attempt(delivery: Delivery, **changes: Any) -> Attempt:
    return Attempt(
        attempt_id=UUID(int=1), delivery=delivery, started_at_ms=NOW_MS, duration_ms=1.5, **changes
    )
