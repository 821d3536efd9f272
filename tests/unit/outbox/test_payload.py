"""Payloads: text verbatim, objects as JSON, and nothing that would be changed on its way."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outbox import InvalidFieldError, PayloadTooLargeError
from outbox.headers import MAX_HEADERS_BYTES
from outbox.payload import MAX_PAYLOAD_BYTES, payload_text
from outbox.row import MAX_AGGREGATE_ID_BYTES, MAX_AGGREGATE_TYPE_BYTES, MAX_CONTENT_TYPE_BYTES

TRIMMED_BY_JAVA = "".join(map(chr, range(0x21)))

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(
    lambda text: text.strip(TRIMMED_BY_JAVA)
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda children: st.lists(children) | st.dictionaries(st.text(st.characters(codec="utf-8")), children),
    max_leaves=20,
)


@given(texts)
def test_text_and_bytes_are_kept_verbatim(text: str) -> None:
    """INV-5: whatever text is appended is the text that is stored, as str or as its UTF-8."""
    assert payload_text(text) == text
    assert payload_text(text.encode()) == text
    assert payload_text(bytearray(text.encode())) == text
    assert payload_text(memoryview(text.encode())) == text


@given(json_values.filter(lambda value: value is not None and not isinstance(value, str)))
def test_an_object_is_stored_as_the_json_that_reads_back_as_it(value: Any) -> None:
    """JSON loses nothing: not a big number's digits, not the order of keys."""
    read = json.loads(payload_text(value))
    assert read == value
    if isinstance(value, dict):
        assert list(read) == list(value)


@given(st.binary().filter(lambda octets: not is_utf8(octets)))
def test_what_is_not_utf8_is_refused_and_not_shown(octets: bytes) -> None:
    """Binary data is refused by its place, and the error carries none of it (INV-9)."""
    with pytest.raises(InvalidFieldError, match=r"payload: is not UTF-8, at byte \d+") as caught:
        payload_text(octets)
    assert caught.value.__cause__ is None


def is_utf8(octets: bytes) -> bool:
    try:
        octets.decode()
    except UnicodeDecodeError:
        return False
    return True


@dataclasses.dataclass
class Reading:
    value: float


class Level(enum.Enum):
    UNKNOWN = math.inf


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        [1.0, -math.inf],
        {"a": {"b": (None, math.nan)}},
        Reading(math.inf),
        {"readings": [Reading(1.0), Reading(math.nan)]},
        Level.UNKNOWN,
    ],
)
def test_nan_and_infinity_are_refused_wherever_they_are(value: object) -> None:
    """By itself, orjson would write them as null: a number lost without a word."""
    with pytest.raises(InvalidFieldError, match="has a NaN or an infinity"):
        payload_text(value)


def test_a_null_that_is_meant_is_kept() -> None:
    """The search for NaN, which a null in the output starts, doesn't refuse a real null."""
    assert payload_text({"a": None, "b": [1.5, Reading(2.5)]}) == '{"a":null,"b":[1.5,{"value":2.5}]}'


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        (None, "payload: is None"),
        ("", "is empty or nothing but white space"),
        (" \r\n\t\x1f", "is empty or nothing but white space"),
        (b"", "is empty or nothing but white space"),
        ("a\0b", "has a NUL character, at 1"),
        (b"a\0b", "has a NUL character, at 1"),
        ("a\ud800", "has half of a surrogate pair, at character 1"),
        ({"a": "\ud800"}, "has no JSON form: str is not valid UTF-8: surrogates not allowed"),
        (object(), "has no JSON form: Type is not JSON serializable: object"),
        ({1: 2}, "has no JSON form: Dict key must be str"),
        (2**64, "has no JSON form: Integer exceeds 64-bit range"),
    ],
)
def test_what_would_be_changed_on_the_way_is_refused(payload: object, problem: str) -> None:
    """Postgres takes no NUL; Debezium makes a tombstone of a blank payload (what Java's trim() leaves empty)."""
    with pytest.raises(InvalidFieldError) as caught:
        payload_text(payload)
    assert problem in str(caught.value)
    assert caught.value.field == "payload"


def test_a_nul_in_an_object_is_escaped() -> None:
    """JSON has a form for NUL that is not a NUL."""
    assert payload_text({"a": "\0"}) == '{"a":"\\u0000"}'


@pytest.mark.parametrize("unit", ["a", "é", "€", "😀"])
def test_the_limit_counts_bytes(unit: str) -> None:
    """The limit is Kafka's, which counts bytes of UTF-8 and not characters."""
    size_bytes = len(unit.encode())
    longest = unit * (MAX_PAYLOAD_BYTES // size_bytes)
    assert payload_text(longest) == longest
    for payload in (longest + unit, (longest + unit).encode(), [longest]):
        with pytest.raises(PayloadTooLargeError, match="and the limit is 983,040"):
            payload_text(payload)


def test_the_largest_record_passes_at_the_defaults_of_kafka() -> None:
    """A dead letter of the largest event still fits (outpost #974): the limit leaves room for all that is added."""
    librdkafka_message_max_bytes = 1_000_000
    connect_max_request_size = 1_048_576
    of_the_row = (
        MAX_AGGREGATE_ID_BYTES
        + MAX_AGGREGATE_TYPE_BYTES
        + MAX_CONTENT_TYPE_BYTES
        + MAX_HEADERS_BYTES
        + len("id" * 2 + "00000000-0000-0000-0000-000000000000")
        + 200  # type
        + len("created-at" + "2026-01-01T00:00:00.000000Z")
        + len("type" + "aggregate-type" + "content-type" + "headers")
    )
    of_a_retry = 1024 + 20 * 100  # the error, and twenty more headers of up to a hundred bytes
    framing = 2_000  # lengths, offsets and timestamps of a batch of one
    assert MAX_PAYLOAD_BYTES + of_the_row + of_a_retry + framing <= librdkafka_message_max_bytes
    assert librdkafka_message_max_bytes <= connect_max_request_size
