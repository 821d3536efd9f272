"""Static headers of an endpoint: what its owner wants sent with each request, a token of theirs more often than not.

Place in the data's way: checked when they are entered, kept with the endpoint, and added to every request by the
dispatcher. The rules are those of an event's headers (`outbox.headers`): names in lower case that HTTP or the sender
does not use itself, values of printable ASCII, so that no value can add a header. Values count as secrets.
"""

import re
from collections.abc import Mapping
from typing import Final

from connectors.webhook.confidential import Confidential
from connectors.webhook.errors import EndpointInvalidError
from connectors.webhook.key_ring import KeyRing, is_sealed
from outbox.headers import RESERVED_HEADER_NAMES, RESERVED_HEADER_PREFIXES

__all__ = [
    "MAX_HEADERS",
    "MAX_HEADER_NAME_CHARS",
    "MAX_HEADER_VALUE_CHARS",
    "StaticHeaders",
    "header_name_problem",
    "header_place",
    "header_value_problem",
    "stored_headers",
]

MAX_HEADERS: Final = 16
MAX_HEADER_NAME_CHARS: Final = 100
MAX_HEADER_VALUE_CHARS: Final = 1_024

StaticHeaders = tuple[tuple[str, Confidential], ...]
"""Names and values, by name; a tuple, since an endpoint is a value."""

# No underscore: proxies drop such headers without a word (nginx does by default).
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
# No space at either end: HTTP would take it off.
_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?")


def header_name_problem(name: str) -> str | None:
    """Say why a name can't be a static header's; None if it can.

    >>> header_name_problem("x-api-key")
    >>> header_name_problem("Host")
    'a header name is 1 to 100 lower-case letters, digits and -, and starts with a letter or digit'
    """
    if not _NAME.fullmatch(name):
        return "a header name is 1 to 100 lower-case letters, digits and -, and starts with a letter or digit"
    if name in RESERVED_HEADER_NAMES or name.startswith(RESERVED_HEADER_PREFIXES):
        return f"the header {name} is reserved: HTTP or the sender sets it"
    return None


def header_value_problem(value: str) -> str | None:
    """Say why a value can't be a static header's, without showing it; None if it can.

    >>> header_value_problem("sealed:abc")
    'a header value does not start with sealed:, which marks what is stored sealed'
    """
    if is_sealed(value):
        return "a header value does not start with sealed:, which marks what is stored sealed"
    if _VALUE.fullmatch(value):
        return None
    return (
        f"a header value is 1 to {MAX_HEADER_VALUE_CHARS} printable ASCII characters, without a space at "
        "either end"
    )


def header_place(owner: str, name: str) -> str:
    """What a value is bound to once it is sealed."""
    return f"endpoint {owner}: header {name}"


def stored_headers(record: Mapping[str, str], *, ring: KeyRing, owner: str) -> StaticHeaders:
    """Read headers as their endpoint's record has them. A sealed value is looked at when it is used.

    Raises:
        EndpointInvalidError: names the endpoint and the header; shows no value.
    """
    if len(record) > MAX_HEADERS:
        raise EndpointInvalidError(f"endpoint {owner}: {len(record)} headers; at most {MAX_HEADERS} are sent")
    for name, text in record.items():
        problem = header_name_problem(name) or (None if is_sealed(text) else header_value_problem(text))
        if problem:
            raise EndpointInvalidError(f"endpoint {owner}: headers: {problem}")
    return tuple(
        (name, Confidential.stored(text, ring=ring, bound_to=header_place(owner, name)))
        for name, text in sorted(record.items())
    )
