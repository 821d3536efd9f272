"""Attempt records, as the recorder reads them: rows that Postgres can hold, or refused by a short word."""

from typing import Any

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from streams.errors import RecordMalformed
from streams.recorder.entry import read_entry
from streams.recorder.fold import fold
from tests.fuzz.mutation import TEXTS, any_text, mutated
from tests.fuzz.profile import FUZZ
from tests.fuzz.refusal import read_or_refused
from tests.support.attempt_records import fields_of, value_of

ENDINGS = ("succeeded", "retried", "interrupted", "deferred", "exhausted", "rejected", "cancelled")
GOOD = [value_of(ending) for ending in ENDINGS]
#: Other values than a field should have: of its own type and of any other.
_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    any_text.map(lambda text: text.encode(errors="replace").decode()),
    st.sampled_from([text for text in TEXTS if text.isascii()]),
    st.just(["x"]),
    st.just({"x": 1}),
)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """A record with garbled bytes, or with other values in some of its fields."""
    if draw(st.booleans()):
        return draw(mutated(GOOD))
    fields: dict[str, Any] = fields_of(draw(st.sampled_from(ENDINGS)))
    for name in draw(st.lists(st.sampled_from([*fields, "code", "excerpt", "status"]), max_size=3)):
        fields[name] = draw(_values)
    return orjson.dumps(fields)


def holds(value: object) -> bool:
    """Whether a column of Postgres does: no NUL, nothing that UTF-8 can't write, no key too long for an index."""
    return not isinstance(value, str) or ("\0" not in value and len(value.encode()) <= 1_024)


@FUZZ
@given(value=records())
@example(value=b"\xef\xbb\xbf" + GOOD[0])
@example(value=value_of(duration_ms=1e300))
@example(value=value_of("deferred", attempt=0))
@example(value=value_of(error="\0" * 2_000))
@example(value=value_of(target="é" * 301))
@example(value=value_of(replay_id="\ufeff"))
def test_a_record_is_rows_that_postgres_can_hold_or_refused(value: bytes) -> None:
    """Whatever stands on the topic, one record costs itself at most."""
    entry = read_or_refused(lambda: read_entry(value), RecordMalformed)
    if isinstance(entry, RecordMalformed):
        assert len(str(entry)) < 150
        return
    assert all(map(holds, (*entry.attempt, *entry.delivery)))
    assert entry.attempt.delivery_id == entry.delivery.id
    assert entry.delivery.attempts >= 0
    assert entry.delivery.attempts in {entry.delivery.attempt, entry.delivery.attempt - 1}
    assert fold([entry, entry]) == [entry.delivery]
