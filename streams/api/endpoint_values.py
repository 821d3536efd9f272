"""From what a request says of an endpoint to the endpoint: a new one, or one after a merge patch. Pure but for new ids.

Place in the data's way: between the models of requests and the store.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from connectors.postgres.endpoints import new_endpoint_id
from connectors.postgres.stored_endpoint import StoredEndpoint
from connectors.webhook.confidential import Confidential
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.secret import Secret
from connectors.webhook.static_headers import MAX_HEADERS, StaticHeaders
from outbox import EventFilter
from streams.api.budgets import check_budgets
from streams.api.filters import compiled_filter, merged_filter
from streams.api.models import MAX_METADATA, EndpointChange, EndpointNew
from streams.api.problem import FieldProblem, Problem, ProblemError
from streams.settings import Settings

__all__ = ["columns", "columns_failing_that", "new_endpoint", "patched"]


def new_endpoint(new: EndpointNew, *, settings: Settings, now: datetime) -> Endpoint:
    """The endpoint that a request asks for. A secret is made where none is given.

    Raises:
        ProblemError: the workers could not obey a field, or the payload filter breaks its grammar.
        EndpointInvalidError: a field breaks a rule.
    """
    endpoint = Endpoint(
        id=new.id or new_endpoint_id(),
        url=new.url,
        event_types=_filters(new.event_types),
        secrets=(Secret.generate() if new.secret is None else Secret.parse(new.secret),),
        enabled=new.enabled,
        description=new.description,
        created_at=now,
        headers=_headers(new.headers),
        timeout=_length(new.timeout_s),
        schedule=_schedule(new),
        max_age=_length(new.max_age_s),
        concurrency=new.concurrency,
        rate_limit_per_s=new.rate_limit_per_s,
        payload_filter=compiled_filter(new.payload_filter),
    )
    check_budgets(endpoint, settings)
    return endpoint


def patched(before: StoredEndpoint, patch: EndpointChange) -> StoredEndpoint:
    """The endpoint after a merge patch.

    Raises:
        ProblemError: there would be too many headers or metadata, or the payload filter would break its grammar.
        EndpointInvalidError: a field breaks a rule.
    """
    given = patch.model_fields_set
    changes = {
        name: after(before.endpoint, patch) for field, (name, after) in _AFTER.items() if field in given
    }
    metadata = _merged(before.metadata, patch.metadata) if "metadata" in given else dict(before.metadata)
    _check_count("metadata", len(metadata), MAX_METADATA)
    return replace(before, endpoint=replace(before.endpoint, **changes), metadata=metadata)


def columns(patch: EndpointChange) -> dict[str, Any]:
    """What a merge patch sets, whatever was there before, as columns: a row that is refused is read with these."""
    set_anyhow: dict[str, Any] = {
        "url": patch.url,
        "event_types": patch.event_types,
        "description": patch.description or "",
        "timeout": _length(patch.timeout_s),
        "schedule": _schedule(patch),
        "max_age": _length(patch.max_age_s),
        "concurrency": patch.concurrency,
        "rate_limit_per_s": patch.rate_limit_per_s,
    }
    if patch.headers is None:
        set_anyhow["headers"] = {}
    if patch.payload_filter is None:
        set_anyhow["payload_filter"] = None
    given = {_AFTER[field][0] for field in patch.model_fields_set if field in _AFTER}
    return {name: value for name, value in set_anyhow.items() if name in given}


def columns_failing_that(patch: EndpointChange) -> dict[str, Any]:
    """What a row is read with, too, if it is refused even with its `columns`: then a filter is merged into none.

    Not before: one that can be read stays, and the patch's is merged into it, whatever else was wrong.
    """
    return {"payload_filter": None} if "payload_filter" in patch.model_fields_set else {}


def _merged(before: Mapping[str, str], patch: Mapping[str, str | None] | None) -> dict[str, str]:
    """A merge patch (RFC 7396): null removes an entry, and null for all of them removes all."""
    if patch is None:
        return {}
    merged = {**before, **patch}
    return {name: value for name, value in merged.items() if value is not None}


def _merged_headers(before: StaticHeaders, patch: Mapping[str, str | None] | None) -> StaticHeaders:
    if patch is None:
        return ()
    kept = {name: value for name, value in before if name not in patch}
    given = {name: Confidential(value) for name, value in patch.items() if value is not None}
    _check_count("headers", len(kept) + len(given), MAX_HEADERS)
    return tuple(sorted((kept | given).items(), key=lambda header: header[0]))


def _check_count(name: str, count: int, most: int) -> None:
    if count > most:
        wrong = FieldProblem(
            where="pointer",
            name=f"#/{name}",
            detail=f"there would be {count} of them, and {most} at most may be",
        )
        raise ProblemError(
            Problem(kind="body-invalid", detail="Remove some first. Nothing was changed.", errors=(wrong,))
        )


def _headers(given: Mapping[str, str]) -> StaticHeaders:
    return tuple((name, Confidential(value)) for name, value in sorted(given.items()))


def _filters(patterns: list[str]) -> tuple[EventFilter, ...]:
    return tuple(EventFilter(pattern) for pattern in dict.fromkeys(patterns))


def _length(length_s: float | None) -> timedelta | None:
    return None if length_s is None else timedelta(seconds=length_s)


def _schedule(request: EndpointNew | EndpointChange) -> tuple[timedelta, ...] | None:
    waits_s = request.schedule_s if request.backoff is None else request.backoff.waits_s()
    return None if waits_s is None else tuple(timedelta(seconds=wait_s) for wait_s in waits_s)


#: For each field of a change: what it is called in an endpoint, and its value there after the patch.
_AFTER: Final[Mapping[str, tuple[str, Callable[[Endpoint, EndpointChange], Any]]]] = {
    "url": ("url", lambda _, patch: patch.url),
    "event_types": ("event_types", lambda _, patch: _filters(patch.event_types)),
    "enabled": ("enabled", lambda _, patch: patch.enabled),
    "description": ("description", lambda _, patch: patch.description or ""),
    "headers": ("headers", lambda before, patch: _merged_headers(before.headers, patch.headers)),
    "timeout_s": ("timeout", lambda _, patch: _length(patch.timeout_s)),
    "schedule_s": ("schedule", lambda _, patch: _schedule(patch)),
    "backoff": ("schedule", lambda _, patch: _schedule(patch)),
    "max_age_s": ("max_age", lambda _, patch: _length(patch.max_age_s)),
    "concurrency": ("concurrency", lambda _, patch: patch.concurrency),
    "rate_limit_per_s": ("rate_limit_per_s", lambda _, patch: patch.rate_limit_per_s),
    "payload_filter": (
        "payload_filter",
        lambda before, patch: merged_filter(before.payload_filter, patch.payload_filter),
    ),
}
