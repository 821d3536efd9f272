"""Records from Kafka: read, or malformed, and what is made of them can be read by whoever comes next."""

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.webhook.errors import RequestInvalidError
from connectors.webhook.request import Request
from connectors.webhook.wire import encode_request
from streams.dispatch.hops import dead_record, records_after
from streams.errors import RecordMalformed
from streams.records.attempt import Attempt
from streams.records.delivery import Delivery, Origin
from streams.records.next_hop import Done
from streams.records.outcome import Deferred, ErrorCode, Failed, Outcome, Rejected
from streams.records.wire import decode_delivery, decode_event, encode_delivery, encode_event, header_map
from streams.retry.policy import decide
from tests.fuzz.mutation import any_text, mutated, mutated_text
from tests.fuzz.profile import FUZZ
from tests.fuzz.refusal import read_or_refused
from tests.support.deliveries import ENDPOINT_POLICY, NOW_MS, a_delivery, an_event, default_tiers
from tests.unit.webhook.records import NOW, endpoint

GOOD = encode_delivery(
    a_delivery(
        first_failed_at_ms=NOW_MS, replay_id="redrive-1", event=an_event(headers={"tenant": "ü", "b": ""})
    )
)
VALUES = [value for _, value in GOOD]
#: The payload, which no message may show.
MARK = b"hunter2"

RawHeaders = list[tuple[str, bytes | str | None]]


@st.composite
def headers_of_somebody(draw: st.DrawFn) -> RawHeaders:
    """A good record's headers with a few replaced, emptied, swapped, repeated or taken away."""
    headers: RawHeaders = list(GOOD)
    for at in draw(st.lists(st.integers(0, len(GOOD) - 1), min_size=1, max_size=4, unique=True)):
        name, value = GOOD[at]
        match draw(st.integers(0, 4)):
            case 0:
                headers[at] = (name, draw(mutated([value])))
            case 1:
                headers[at] = (name, draw(mutated(VALUES)))
            case 2:
                headers[at] = (name, draw(st.none() | any_text))
            case 3:
                headers.append((name, draw(mutated([value]))))
            case _:
                headers[at] = (draw(any_text), value)
    return headers


def read(headers: dict[str, bytes], *, key: bytes | None) -> Delivery | None:
    """The delivery; None where the record is malformed and says so briefly."""
    found = read_or_refused(lambda: decode_delivery(headers, key=key, value=MARK), RecordMalformed)
    if isinstance(found, RecordMalformed):
        assert len(str(found).encode()) <= 400
        assert MARK.decode() not in str(found)
        return None
    return found


@FUZZ
@given(headers=headers_of_somebody(), key=st.none() | mutated([b"42", "bücher/1".encode()]))
@example(headers=[*GOOD, ("type", "\ud800")], key=b"42")
@example(headers=[*GOOD, ("outbox-origin", "outbox.events/\u0661/5")], key=b"42")
@example(headers=[*GOOD, ("outbox-first-failed-at", b"9" * 19)], key=b"42")
def test_a_record_is_a_delivery_that_reads_back_or_a_dead_letter_with_its_bytes(
    headers: RawHeaders, key: bytes | None
) -> None:
    """INV-1, CASES 41: nothing else comes of it, whatever is in it; what is malformed is kept as it was."""
    known = header_map(headers)
    delivery = read(known, key=key)
    if delivery is None:
        place = Origin("outbox.events", 3, 7)
        code = ErrorCode.EVENT_MALFORMED
        letter = dead_record(headers=known, key=key, value=MARK, origin=place, code=code, error="\ud800")
        assert (letter.key, letter.value) == (key, MARK)
        changed = {"outbox-error", "outbox-error-code"}
        assert {name: raw for name, raw in known.items() if name not in changed}.items() <= header_map(
            letter.headers
        ).items()
        return
    assert delivery.attempt >= 1
    assert delivery.deferrals >= 0
    assert 0 <= delivery.origin.partition < 2**31
    assert delivery.origin.offset >= 0
    # Plain digits, of ours and few: what `int` takes beside them was written by somebody else.
    assert re.fullmatch(rb".*/[0-9]{1,18}/[0-9]{1,18}", known["outbox-origin"], re.DOTALL)
    assert re.fullmatch(rb"[0-9]{1,18}", known["outbox-attempt"])
    assert delivery.first_failed_at_ms is None or 0 <= delivery.first_failed_at_ms < 10**18
    assert delivery.event.created_at.utcoffset() is not None
    assert delivery.event.payload == MARK
    assert read(header_map(encode_delivery(delivery)), key=key) == delivery


@FUZZ
@given(
    headers=headers_of_somebody(), key=st.none() | mutated([b"42"]), payload=st.none() | st.binary(max_size=9)
)
def test_an_event_is_read_the_same_however_often(
    headers: RawHeaders, key: bytes | None, payload: bytes | None
) -> None:
    """INV-4, INV-5: an event that could be read once is the same event at every later hop."""
    try:
        event = decode_event(header_map(headers), key=key, value=payload)
    except RecordMalformed:
        return
    assert event.payload == (payload or b"")
    again = decode_event(header_map(encode_event(event)), key=key, value=payload)
    assert again == event
    assert isinstance(again.id, UUID)


@FUZZ
@given(
    headers=headers_of_somebody(),
    outcome=st.builds(Deferred, reason=any_text)
    | st.builds(Failed, error=any_text, retry_after=st.none() | st.timedeltas(timedelta(), timedelta(days=1)))
    | st.builds(Rejected, code=st.just(ErrorCode.ENDPOINT_REJECTED), error=any_text),
    now_ms=st.sampled_from([0, NOW_MS, 10**17]),
    chance=st.floats(0, 1, exclude_max=True),
)
@example(
    headers=[*GOOD, ("outbox-deferrals", b"9" * 18), ("outbox-first-failed-at", b"9" * 18)],
    outcome=Deferred(reason="busy"),
    now_ms=NOW_MS,
    chance=0.5,
)
def test_whatever_a_record_says_its_next_hop_can_be_read(
    headers: RawHeaders, outcome: Outcome, now_ms: int, chance: float
) -> None:
    """INV-1, INV-7: counts at their ends, times beyond all calendars: what follows is written, and reads back."""
    delivery = read(header_map(headers), key=b"42")
    if delivery is None:
        return
    next_hop = decide(
        delivery,
        outcome,
        policy=ENDPOINT_POLICY,
        tiers=default_tiers(),
        now_ms=now_ms,
        random=lambda: chance,
    )
    assert not isinstance(next_hop, Done)
    attempt = Attempt(
        attempt_id=UUID(int=1),
        delivery=delivery,
        outcome=outcome,
        next_hop=next_hop,
        started_at_ms=now_ms,
        duration_ms=1.0,
    )
    told, following = records_after(attempt)
    assert orjson.loads(told.value or b"")["event_id"] == str(delivery.event.id)
    again = decode_delivery(header_map(following.headers), key=following.key, value=following.value)
    assert again == next_hop.delivery


@FUZZ
@given(headers=headers_of_somebody())
def test_an_event_that_could_be_read_is_sent_or_refused(headers: RawHeaders) -> None:
    """CASES 41: an event that HTTP can't carry ends as a refusal that shows nothing of it."""
    delivery = read(header_map(headers), key=b"42")
    if delivery is None:
        return
    event = delivery.event
    request = Request(
        endpoint=endpoint(),
        message_id=str(event.id),
        timestamp=NOW,
        body=event.payload,
        content_type=event.content_type,
        headers=event.headers,
    )
    message = read_or_refused(lambda: encode_request(request, user_agent="test/1"), RequestInvalidError)
    if isinstance(message, RequestInvalidError):
        assert len(str(message)) <= 400
        return
    head, _, body = message.partition(b"\r\n\r\n")
    assert body == MARK
    assert len(head.split(b"\r\n")) == 12 + len(event.headers) - 1
    assert b"\n" not in head.replace(b"\r\n", b"")


TIMES = [
    "2026-03-01T12:30:00.123456Z",
    "2026-03-01 12:30:00+00:00",
    "2026-W09-7T12:30+0130",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999-23:59:59.999999",
    "20260301T123000,5Z",
]


@FUZZ
@given(text=mutated_text(TIMES))
def test_a_time_is_one_with_a_zone_or_malformed(text: str) -> None:
    """A time that was read can be compared, written and read again, at the ends of the calendar too."""
    raw = text.encode(errors="surrogatepass")
    delivery = read({**header_map(GOOD), "created-at": raw}, key=b"42")
    if delivery is not None:
        created_at = delivery.event.created_at
        assert isinstance(created_at - datetime(2026, 1, 1, tzinfo=UTC), timedelta)
        assert datetime.fromisoformat(created_at.isoformat()) == created_at
