"""Reading the fields of an endpoint's JSON: each is of its type, or an error names endpoint and field.

Place in the data's way: under `Endpoint.from_json`. The errors show no value: any field may hold anything, a secret
among them.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import cast

from connectors.webhook.errors import EndpointInvalidError

__all__ = [
    "flag",
    "optional_count",
    "optional_number",
    "optional_seconds",
    "optional_waits",
    "text",
    "text_map",
    "texts",
]

_Record = Mapping[str, object]


def text(record: _Record, name: str, endpoint_id: str) -> str:
    """Read a text."""
    value = record.get(name)
    if not isinstance(value, str):
        raise EndpointInvalidError(f"endpoint {endpoint_id}: {name} is missing or not a text")
    return value


def texts(record: _Record, name: str, endpoint_id: str) -> list[str]:
    """Read a list of texts."""
    value = record.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise EndpointInvalidError(f"endpoint {endpoint_id}: {name} is missing or not a list of texts")
    return cast("list[str]", value)


def flag(record: _Record, name: str, endpoint_id: str) -> bool:
    """Read true or false."""
    value = record.get(name)
    if not isinstance(value, bool):
        raise EndpointInvalidError(f"endpoint {endpoint_id}: {name} is missing or not true or false")
    return value


def text_map(record: _Record, name: str, endpoint_id: str) -> dict[str, str]:
    """Read an object of texts; an empty one where there is none."""
    value = record.get(name, {})
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise EndpointInvalidError(f"endpoint {endpoint_id}: {name} is not an object of texts")
    return cast("dict[str, str]", value)


def optional_count(record: _Record, name: str, endpoint_id: str) -> int | None:
    """Read a whole number, or None where there is none."""
    value = record.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise EndpointInvalidError(f"endpoint {endpoint_id}: {name} is not a whole number")


def optional_number(record: _Record, name: str, endpoint_id: str) -> float | None:
    """Read a number, or None where there is none."""
    value = record.get(name)
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise EndpointInvalidError(f"endpoint {endpoint_id}: {name} is not a number")


def optional_seconds(record: _Record, name: str, endpoint_id: str) -> timedelta | None:
    """Read a number of seconds, or None where there is none."""
    value = record.get(name)
    return None if value is None else _duration(value, name, endpoint_id)


def optional_waits(record: _Record, name: str, endpoint_id: str) -> tuple[timedelta, ...] | None:
    """Read a list of numbers of seconds, or None where there is none."""
    value = record.get(name)
    if value is None:
        return None
    if not isinstance(value, list):
        raise EndpointInvalidError(f"endpoint {endpoint_id}: {name} is not a list of seconds")
    return tuple(_duration(item, name, endpoint_id) for item in value)


def _duration(value: object, name: str, endpoint_id: str) -> timedelta:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return timedelta(seconds=value)
        except (OverflowError, ValueError):
            pass
    raise EndpointInvalidError(f"endpoint {endpoint_id}: {name} is not a number of seconds")
