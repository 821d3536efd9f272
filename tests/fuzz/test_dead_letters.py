"""Dead letters, as the recorder reads them: a row that Postgres can hold, whatever stands on the topic."""

from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from connectors.kafka.record import OutgoingRecord
from streams.recorder.batch import Place
from streams.recorder.letter import read_letter
from streams.records.outcome import ErrorCode
from tests.fuzz.mutation import BYTES, any_text, mutated
from tests.fuzz.profile import FUZZ
from tests.support.dead_letters import incoming, letter_record, unwanted_record
from tests.support.deliveries import NOW_MS, a_delivery

#: What was delivered, which no row may show.
MARK = b"hunter2"
GOOD = [
    letter_record(a_delivery(attempt=3, deferrals=1, first_failed_at_ms=NOW_MS, replay_id="r1")),
    letter_record(code=ErrorCode.EVENT_MALFORMED),
    unwanted_record(),
]
VALUES = [value for record in GOOD for _, value in record.headers]

RawHeaders = list[tuple[str, bytes | None]]


@st.composite
def headers_of_somebody(draw: st.DrawFn) -> RawHeaders:
    """A good letter's headers with a few garbled, swapped, emptied, doubled, renamed or taken away."""
    headers: RawHeaders = list(draw(st.sampled_from(GOOD)).headers)
    for at in draw(st.lists(st.integers(0, len(headers) - 1), max_size=5)):
        name, value = headers[at]
        match draw(st.integers(0, 4)):
            case 0:
                headers[at] = (name, draw(mutated([value or b""])))
            case 1:
                headers[at] = (name, draw(mutated(VALUES)))
            case 2:
                headers[at] = (name, draw(st.none() | st.sampled_from(BYTES)))
            case 3:
                headers.append((name, draw(st.sampled_from(VALUES))))
            case _:
                headers[at] = (draw(any_text), value)
    return headers


def holds(value: object) -> bool:
    """Whether a column of Postgres does: no NUL, nothing that UTF-8 can't write, no key too long for an index."""
    return not isinstance(value, str) or ("\0" not in value and len(value.encode()) <= 1_024)


@FUZZ
@given(
    headers=headers_of_somebody(),
    key=st.none() | st.binary(max_size=20),
    appended_at_ms=st.sampled_from([-1, 0, NOW_MS, 2**63 - 1]),
)
@example(headers=[], key=None, appended_at_ms=-1)
@example(headers=[("outbox-error", b"\0" * 3_000)], key=b"\xff", appended_at_ms=2**63 - 1)
@example(headers=[("created-at", b"0001-01-01T00:00:00+23:59")], key=b"", appended_at_ms=0)
@example(headers=[("created-at", b"9999-12-31T23:59:59-23:59")], key=b"", appended_at_ms=0)
@example(headers=[("outbox-first-failed-at", b"9" * 18)], key=b"", appended_at_ms=0)
@example(headers=[("outbox-attempt", b"9" * 18), ("outbox-target", b"handler:x")], key=b"", appended_at_ms=0)
def test_whatever_stands_there_is_a_row_that_postgres_can_hold(
    headers: RawHeaders, key: bytes | None, appended_at_ms: int
) -> None:
    """A dead letter that can't be read is still seen: never an exception, and never a word of the payload."""
    record = incoming(
        OutgoingRecord(topic="x", key=key, value=MARK, headers=[]),
        place=Place(2, 40),
        appended_at_ms=appended_at_ms,
    )
    row = read_letter(record._replace(headers=headers))
    assert all(map(holds, row))
    assert 0 <= row.attempts < 2**31
    assert row.letter_class in {"poison", "undelivered"}
    assert (row.place_partition, row.place_offset) == (2, 40)
    assert MARK.decode() not in str(row)
    first, last = datetime(1970, 1, 1, tzinfo=UTC), datetime(9_001, 1, 1, tzinfo=UTC)
    moments = [moment for moment in (row.died_at, row.created_at, row.first_failed_at) if moment is not None]
    assert all(first <= moment < last for moment in moments)
    if row.letter_class == "undelivered":
        assert None not in (row.event_id, row.origin)
        assert row.code != ErrorCode.EVENT_MALFORMED
