"""From what an application has to the text that the table keeps.

Bytes and text go through verbatim: what is appended is what is signed and what is sent (INV-5). Anything else
becomes JSON, once, here. Everything that Postgres, Debezium or Kafka would change or choke on is refused.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

import orjson

from outbox.errors import InvalidFieldError, PayloadTooLargeError

__all__ = ["MAX_PAYLOAD_BYTES", "payload_text"]

MAX_PAYLOAD_BYTES: Final = 960 * 1024
"""The largest payload, in bytes of UTF-8.

The record made of it must pass at Kafka's defaults: 1,048,576 bytes for Connect's producer
(`max.request.size`), 1,048,588 for a topic (`max.message.bytes`), and 1,000,000 for librdkafka
(`message.max.bytes`), which carries retries and dead letters. The 16,960 bytes left below the least of these
hold the key, the headers that come from the row and those that retries add (an error is cut at 1 KB); a test
adds up the worst case.
"""

_FIELD: Final = "payload"
# What Java's String.trim() removes. Debezium's EventRouter turns a payload that is empty after it into a
# tombstone.
_TRIMMED: Final = "".join(map(chr, range(0x21)))


def payload_text(payload: object) -> str:
    r"""Return the text to store: bytes and str as they are, anything else as JSON.

    JSON is written by orjson: dict, list, tuple, str, int, float, bool, dataclasses, datetimes, enums and
    UUIDs, keys in their order. NaN and infinities have no JSON form, and are refused rather than written as
    null. Text is not parsed: that it is what its content type says is up to the caller.

    Raises:
        InvalidFieldError: None, not UTF-8, a NUL character, nothing but white space, or no JSON form.
        PayloadTooLargeError: more than `MAX_PAYLOAD_BYTES`.

    >>> payload_text(b'{"b" : 1, "a": 1.0}'), payload_text({"b": 1, "a": [None, "\N{EURO SIGN}"]})
    ('{"b" : 1, "a": 1.0}', '{"b":1,"a":[null,"€"]}')
    """
    match payload:
        case None:
            raise InvalidFieldError(
                _FIELD, "is None", "An event needs one; for the JSON value null, give 'null'."
            )
        case str():
            text, size_bytes = payload, _utf8_size(payload)
        case bytes() | bytearray() | memoryview():
            text, size_bytes = _decoded(bytes(payload)), memoryview(payload).nbytes
        case _:
            encoded = _json(payload)
            text, size_bytes = encoded.decode(), len(encoded)
    if size_bytes > MAX_PAYLOAD_BYTES:
        raise PayloadTooLargeError(
            _FIELD,
            f"has {size_bytes:,} bytes, and the limit is {MAX_PAYLOAD_BYTES:,}",
            "Keep what is large elsewhere, and append where to find it.",
        )
    _refuse_what_is_changed_on_the_way(text)
    return text


def _refuse_what_is_changed_on_the_way(text: str) -> None:
    if "\0" in text:
        raise InvalidFieldError(
            _FIELD,
            f"has a NUL character, at {text.index(chr(0))}",
            "Postgres can't store it as text: encode the payload (base64, say), or leave the character out.",
        )
    if not text.strip(_TRIMMED):
        raise InvalidFieldError(
            _FIELD,
            "is empty or nothing but white space",
            "On Kafka that would be a tombstone; for an event without content, give '{}'.",
        )


def _utf8_size(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        # `from None`, here and below: these errors carry the whole payload as their `object`.
        raise InvalidFieldError(
            _FIELD,
            f"has half of a surrogate pair, at character {error.start}",
            "It has no UTF-8 form: correct where the text comes from.",
        ) from None


def _decoded(payload: bytes) -> str:
    try:
        return payload.decode()
    except UnicodeDecodeError as error:
        raise InvalidFieldError(
            _FIELD,
            f"is not UTF-8, at byte {error.start}",
            "It is stored as text: encode what is binary (base64, say), and name that in content_type.",
        ) from None


def _json(payload: object) -> bytes:
    try:
        encoded = orjson.dumps(payload)
    except TypeError as error:
        raise InvalidFieldError(
            _FIELD,
            f"has no JSON form: {error}",
            "Convert what orjson doesn't know, or give the finished JSON as str or bytes.",
        ) from None
    # orjson writes NaN and infinities as null, silently. Only an output with a null in it is worth the
    # search.
    if b"null" in encoded and _has_non_finite(payload):
        raise InvalidFieldError(
            _FIELD, "has a NaN or an infinity", "JSON has no form for them: use null, or text."
        )
    return encoded


def _has_non_finite(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    return any(_has_non_finite(part) for part in _parts(value))


def _parts(value: Any) -> Iterable[Any]:
    match value:
        case dict():
            return value.values()
        case list() | tuple():
            return value
        case Enum():
            return (value.value,)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return [getattr(value, field.name) for field in dataclasses.fields(value)]
        case _:
            return ()
