"""An endpoint as it stands in Postgres: the endpoint, and what no worker hears of.

Place in the data's way: between the rows of `outbox.endpoints` and whoever shows or changes them. Secrets and header
values are read as they are stored; nothing is opened for a row to be shown, changed or told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson

from connectors.postgres.errors import EndpointUnreadableError
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.errors import WebhookError
from connectors.webhook.key_ring import KeyRing
from connectors.webhook.payload_filter import PayloadFilter
from connectors.webhook.secret import Secret
from connectors.webhook.static_headers import stored_headers
from outbox.errors import OutboxError
from outbox.event_filter import EventFilter

__all__ = [
    "COLUMNS",
    "StoredEndpoint",
    "UnreadableEndpoint",
    "changed_fields",
    "listed_endpoint",
    "repaired_endpoint",
    "row_values",
    "stored_endpoint",
]

# In the order of `stored_endpoint`.
COLUMNS: Final = (
    "id, url, event_types, secrets, enabled, description, created_at, headers, timeout, schedule, max_age, "
    "concurrency, rate_limit_per_s, payload_filter, metadata, revision, updated_at"
)

_NAMES: Final = COLUMNS.split(", ")

_ENDPOINT_FIELDS: Final = (
    "url",
    "event_types",
    "secrets",
    "enabled",
    "description",
    "headers",
    "timeout",
    "schedule",
    "max_age",
    "concurrency",
    "rate_limit_per_s",
    "payload_filter",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEndpoint:
    """`revision` counts the changes. `metadata` is only stored and given back."""

    endpoint: Endpoint
    metadata: Mapping[str, str] = field(default_factory=dict, repr=False)
    revision: int = 1
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableEndpoint:
    """An endpoint whose row is refused, and `why`, without a value of it."""

    id: str
    created_at: datetime
    why: str


def changed_fields(before: StoredEndpoint, after: StoredEndpoint) -> tuple[str, ...]:
    """The names of the fields that differ; never their values."""
    changed = [
        name for name in _ENDPOINT_FIELDS if getattr(before.endpoint, name) != getattr(after.endpoint, name)
    ]
    return (*changed, *(["metadata"] if before.metadata != after.metadata else []))


def row_values(stored: StoredEndpoint, keys: KeyRing) -> dict[str, Any]:
    """The values of a row, what is secret sealed if there is a key."""
    endpoint = stored.endpoint
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "event_types": [event_filter.pattern for event_filter in endpoint.event_types],
        "secrets": endpoint.secret_records(keys),
        "enabled": endpoint.enabled,
        "description": endpoint.description,
        "created_at": endpoint.created_at,
        "headers": orjson.dumps(endpoint.header_records(keys)).decode(),
        "timeout": endpoint.timeout,
        "schedule": None if endpoint.schedule is None else list(endpoint.schedule),
        "max_age": endpoint.max_age,
        "concurrency": endpoint.concurrency,
        "rate_limit_per_s": endpoint.rate_limit_per_s,
        "payload_filter": None if endpoint.payload_filter is None else endpoint.payload_filter.text,
        "metadata": orjson.dumps(dict(stored.metadata)).decode(),
    }


def stored_endpoint(row: tuple[Any, ...], keys: KeyRing) -> StoredEndpoint:
    """Read a row.

    Raises:
        EndpointUnreadableError: today's rules refuse it.
    """
    try:
        return _read(row, keys)
    except (WebhookError, OutboxError) as error:
        raise EndpointUnreadableError(str(row[0]), str(error).rstrip(".")) from None
    except (TypeError, ValueError, AttributeError) as error:
        # Of another shape altogether. Its text may quote a value, so only its kind is told.
        raise EndpointUnreadableError(str(row[0]), type(error).__name__) from None


def listed_endpoint(row: tuple[Any, ...], keys: KeyRing) -> StoredEndpoint | UnreadableEndpoint:
    """Read a row for a list, which one bad row doesn't end."""
    try:
        return stored_endpoint(row, keys)
    except EndpointUnreadableError as error:
        return UnreadableEndpoint(
            id=error.endpoint_id, created_at=row[_NAMES.index("created_at")], why=error.why
        )


def repaired_endpoint(
    row: tuple[Any, ...], keys: KeyRing, *, instead: Mapping[str, Any], failing_that: Mapping[str, Any]
) -> tuple[StoredEndpoint, tuple[str, ...]]:
    """Read a row; where it is refused, with other values in its columns. Gives the names of those, too.

    Args:
        row: as it is stored.
        keys: open what is sealed.
        instead: the values.
        failing_that: more of them, for a row that is refused even so.

    Raises:
        EndpointUnreadableError: it is refused with all of these.
    """
    stored = dict(zip(_NAMES, row, strict=True))
    given: dict[str, Any] = {}
    for more in (instead, failing_that):
        try:
            return stored_endpoint(tuple({**stored, **given}.values()), keys), tuple(given)
        except EndpointUnreadableError:
            given |= more
    return stored_endpoint(tuple({**stored, **given}.values()), keys), tuple(given)


def _read(row: tuple[Any, ...], keys: KeyRing) -> StoredEndpoint:
    endpoint_id, url, event_types, secrets, enabled, description, created_at, *rest = row
    headers, timeout, schedule, max_age, concurrency, rate_limit_per_s, payload_filter, *rest = rest
    metadata, revision, updated_at = rest
    return StoredEndpoint(
        endpoint=Endpoint(
            id=endpoint_id,
            url=url,
            event_types=tuple(EventFilter(pattern) for pattern in event_types),
            secrets=tuple(Secret.stored(text, ring=keys, owner=endpoint_id) for text in secrets),
            enabled=enabled,
            description=description,
            created_at=created_at,
            headers=stored_headers(headers, ring=keys, owner=endpoint_id),
            timeout=timeout,
            schedule=None if schedule is None else tuple(schedule),
            max_age=max_age,
            concurrency=concurrency,
            rate_limit_per_s=rate_limit_per_s,
            payload_filter=None if payload_filter is None else PayloadFilter.of(payload_filter),
        ),
        metadata=metadata,
        revision=revision,
        updated_at=updated_at,
    )
