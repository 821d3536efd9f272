"""The headers that an application adds to an event: text beside the payload, such as a trace context.

They travel as one Kafka header, in JSON, and may go on to a webhook's receiver as HTTP headers. So the rule
is that of HTTP: lower-case names, printable ASCII values (which can't smuggle in a second header). Names that
HTTP or the processor gives a meaning are refused here, where the cause is near, rather than dropped on the
way out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from outbox.errors import InvalidFieldError

__all__ = [
    "MAX_HEADERS",
    "MAX_HEADERS_BYTES",
    "RESERVED_HEADER_NAMES",
    "RESERVED_HEADER_PREFIXES",
    "headers_json",
]

MAX_HEADERS: Final = 64
MAX_HEADERS_BYTES: Final = 4 * 1024
"""The most that all headers take together, as JSON the way Postgres prints it."""

RESERVED_HEADER_PREFIXES: Final = ("outbox-", "webhook-")
RESERVED_HEADER_NAMES: Final = (
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "idempotency-key",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
)
"""What the sender of webhooks writes itself; `content-type` has its own argument."""

_FIELD: Final = "headers"
# No underscore: proxies drop such headers without a word (nginx does by default).
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
# No space at either end: HTTP would take it off.
_VALUE: Final = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?")


def headers_json(headers: Mapping[str, str] | None) -> str:
    """Return the headers as a JSON object, each checked.

    Raises:
        InvalidFieldError: a name or a value that can't be a header, a reserved name, or too much of it.

    >>> headers_json({"traceparent": "00-4bf92f35-00f067aa-01"})
    '{"traceparent": "00-4bf92f35-00f067aa-01"}'
    >>> headers_json({"Trace Parent": ""})
    Traceback (most recent call last):
    outbox.errors.InvalidFieldError: headers: 'Trace Parent' is no header name. Use lower-case letters, ...
    """
    if headers is None:
        return "{}"
    if not isinstance(headers, Mapping):
        raise InvalidFieldError(_FIELD, f"is {type(headers).__name__}", "Give a mapping of str to str.")
    if len(headers) > MAX_HEADERS:
        raise InvalidFieldError(
            _FIELD,
            f"has {len(headers)} of them",
            f"Give {MAX_HEADERS} at most, or put them into the payload.",
        )
    for name, value in headers.items():
        _check_name(name)
        _check_value(name, value)
    # The separators are those of Postgres' jsonb output, and all is ASCII: this is the size that the table
    # checks.
    text = json.dumps(dict(headers))
    if len(text) > MAX_HEADERS_BYTES:
        raise InvalidFieldError(
            _FIELD,
            f"take {len(text):,} bytes, and the limit is {MAX_HEADERS_BYTES:,}",
            "They travel with every attempt: put what is large into the payload.",
        )
    return text


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidFieldError(
            _FIELD,
            f"{str(name)[:100]!r} is no header name",
            "Use lower-case letters, digits and '-' (not first), 100 characters at most.",
        )
    if name in RESERVED_HEADER_NAMES or name.startswith(RESERVED_HEADER_PREFIXES):
        raise InvalidFieldError(
            _FIELD,
            f"{name!r} is a reserved name",
            "HTTP or the processor sets it: choose another, or the content_type argument for a content type.",
        )


def _check_value(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidFieldError(_FIELD, f"the value of {name!r} is {type(value).__name__}", "Give a str.")
    if not _VALUE.fullmatch(value):
        raise InvalidFieldError(
            _FIELD,
            f"the value of {name!r} has a character that is not printable ASCII, or a space at an end",
            "It may become an HTTP header: encode it (percent-encoding, say).",
        )
