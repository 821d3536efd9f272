"""The operations on endpoints, but for those on their secrets.

Each function is one transaction: the change, what the workers are told, and the audit entry.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import outbox
from connectors.postgres.endpoints import new_endpoint_id
from connectors.postgres.stored_endpoint import StoredEndpoint
from connectors.webhook.confidential import Confidential
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.secret import Secret
from connectors.webhook.static_headers import MAX_HEADERS, StaticHeaders
from outbox import EventFilter
from streams.api.budgets import check_budgets
from streams.api.cursor import endpoint_cursor, read_endpoint_cursor
from streams.api.models import MAX_METADATA, EndpointChange, EndpointNew, NoFields, PageQuery
from streams.api.operation import Answer, Call, Operation, check_revision, etag
from streams.api.problem import FieldProblem, Problem, ProblemError
from streams.api.views import EndpointCreated, EndpointPage, EndpointView, TestSent, endpoint_view
from streams.records.target import TEST_EVENT_TYPE
from streams.settings import Settings

__all__ = ["ENDPOINT_OPERATIONS", "new_endpoint", "patched"]

_ONE: Final = "/v1/endpoints/{endpoint_id}"


def new_endpoint(new: EndpointNew, *, settings: Settings, now: datetime) -> Endpoint:
    """The endpoint that a request asks for. A secret is made where none is given.

    Raises:
        ProblemError: the workers could not obey a field.
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
        schedule=_schedule(new.schedule_s),
        max_age=_length(new.max_age_s),
    )
    check_budgets(endpoint, settings)
    return endpoint


def _create(call: Call) -> Answer:
    new: EndpointNew = call.body
    endpoint = new_endpoint(new, settings=call.settings, now=call.now)
    stored = call.endpoints.add(endpoint, metadata=new.metadata)
    made = endpoint.secrets[0].reveal() if new.secret is None else None
    view = EndpointCreated(**endpoint_view(stored).model_dump(), secret=made)
    return Answer(body=view, headers={"Location": f"/v1/endpoints/{endpoint.id}", "ETag": etag(stored)})


def _list(call: Call) -> Answer:
    query: PageQuery = call.query
    after = None if query.cursor is None else read_endpoint_cursor(query.cursor)
    # One more than is shown says whether there is a next page.
    found = call.endpoints.page(limit=query.limit + 1, after=after)
    shown = found[: query.limit]
    last = shown[-1].endpoint if len(found) > query.limit else None
    next_cursor = None if last is None else endpoint_cursor(last.created_at, last.id)
    return Answer(body=EndpointPage(items=[endpoint_view(one) for one in shown], next_cursor=next_cursor))


def _show(call: Call) -> Answer:
    return _answer(call.endpoints.stored(call.endpoint_id))


def _change(call: Call) -> Answer:
    patch: EndpointChange = call.body

    def change(before: StoredEndpoint) -> StoredEndpoint:
        check_revision(call.if_match, before)
        after = patched(before, patch)
        check_budgets(after.endpoint, call.settings)
        return after

    return _answer(call.endpoints.change(call.endpoint_id, change))


def _delete(call: Call) -> Answer:
    call.endpoints.remove(call.endpoint_id, check=lambda before: check_revision(call.if_match, before))
    return Answer(body=None)


def _enable(call: Call) -> Answer:
    return _set_enabled(call, enabled=True)


def _disable(call: Call) -> Answer:
    return _set_enabled(call, enabled=False)


def _set_enabled(call: Call, *, enabled: bool) -> Answer:
    def change(before: StoredEndpoint) -> StoredEndpoint:
        check_revision(call.if_match, before)
        return replace(before, endpoint=replace(before.endpoint, enabled=enabled))

    action = "endpoint.enabled" if enabled else "endpoint.disabled"
    return _answer(call.endpoints.change(call.endpoint_id, change, action=action))


def _test(call: Call) -> Answer:
    endpoint = call.endpoints.stored(call.endpoint_id).endpoint
    if not endpoint.enabled:
        raise ProblemError(
            Problem(kind="conflict", detail="The endpoint is disabled, and is sent nothing. Enable it first.")
        )
    event_id: UUID = outbox.append(
        call.connection,
        type=TEST_EVENT_TYPE,
        aggregate=("endpoint", endpoint.id),
        payload={"type": TEST_EVENT_TYPE, "endpoint_id": endpoint.id, "sent_at": call.now.isoformat()},
    )
    call.audit.add(call.actor, "endpoint.tested", endpoint_id=endpoint.id)
    return Answer(body=TestSent(event_id=str(event_id)))


def _answer(stored: StoredEndpoint) -> Answer:
    return Answer(body=endpoint_view(stored), headers={"ETag": etag(stored)})


def patched(before: StoredEndpoint, patch: EndpointChange) -> StoredEndpoint:
    """The endpoint after a merge patch.

    Raises:
        ProblemError: there would be too many headers or metadata.
        EndpointInvalidError: a field breaks a rule.
    """
    given = patch.model_fields_set
    changes: dict[str, Any] = {}
    if "url" in given:
        changes["url"] = patch.url
    if "event_types" in given:
        changes["event_types"] = _filters(patch.event_types)
    if "enabled" in given:
        changes["enabled"] = patch.enabled
    if "description" in given:
        changes["description"] = patch.description or ""
    if "headers" in given:
        changes["headers"] = _merged_headers(before.endpoint.headers, patch.headers)
    if "timeout_s" in given:
        changes["timeout"] = _length(patch.timeout_s)
    if "schedule_s" in given:
        changes["schedule"] = _schedule(patch.schedule_s)
    if "max_age_s" in given:
        changes["max_age"] = _length(patch.max_age_s)
    metadata = _merged(before.metadata, patch.metadata) if "metadata" in given else dict(before.metadata)
    _check_count("metadata", len(metadata), MAX_METADATA)
    return replace(before, endpoint=replace(before.endpoint, **changes), metadata=metadata)


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


def _schedule(waits_s: list[float] | None) -> tuple[timedelta, ...] | None:
    return None if waits_s is None else tuple(timedelta(seconds=wait_s) for wait_s in waits_s)


ENDPOINT_OPERATIONS: Final = (
    Operation(
        name="createEndpoint",
        method="POST",
        path="/v1/endpoints",
        summary="Create an endpoint",
        description="It gets events that are committed after the workers heard of it, normally within a second.",
        scope="write",
        body=EndpointNew,
        body_required=True,
        answer=EndpointCreated,
        status=201,
        problems=("conflict",),
        tagged=True,
        run=_create,
    ),
    Operation(
        name="listEndpoints",
        method="GET",
        path="/v1/endpoints",
        summary="List endpoints, oldest first",
        scope="read",
        query=PageQuery,
        answer=EndpointPage,
        run=_list,
    ),
    Operation(
        name="showEndpoint",
        method="GET",
        path=_ONE,
        summary="Show an endpoint",
        scope="read",
        answer=EndpointView,
        problems=("not-found",),
        tagged=True,
        run=_show,
    ),
    Operation(
        name="changeEndpoint",
        method="PATCH",
        path=_ONE,
        summary="Change an endpoint",
        description="A JSON merge patch: what is not given stays, null removes. What waits is sent as it is then.",
        scope="write",
        body=EndpointChange,
        body_required=True,
        merge_patch=True,
        answer=EndpointView,
        problems=("not-found",),
        conditional=True,
        tagged=True,
        run=_change,
    ),
    Operation(
        name="deleteEndpoint",
        method="DELETE",
        path=_ONE,
        summary="Delete an endpoint",
        description="Deliveries that wait for it are cancelled.",
        scope="write",
        answer=None,
        status=204,
        problems=("not-found",),
        conditional=True,
        run=_delete,
    ),
    Operation(
        name="enableEndpoint",
        method="POST",
        path=f"{_ONE}/enable",
        summary="Enable an endpoint",
        description="Deliveries that wait for it go on; events that came while it was disabled are not sent.",
        scope="write",
        body=NoFields,
        answer=EndpointView,
        problems=("not-found",),
        conditional=True,
        tagged=True,
        run=_enable,
    ),
    Operation(
        name="disableEndpoint",
        method="POST",
        path=f"{_ONE}/disable",
        summary="Disable an endpoint",
        description="It is sent nothing. Deliveries that wait for it are put off.",
        scope="write",
        body=NoFields,
        answer=EndpointView,
        problems=("not-found",),
        conditional=True,
        tagged=True,
        run=_disable,
    ),
    Operation(
        name="testEndpoint",
        method="POST",
        path=f"{_ONE}/test",
        summary="Send a test event",
        description=f"An event of type {TEST_EVENT_TYPE}, through the outbox, to this endpoint only.",
        scope="write",
        body=NoFields,
        answer=TestSent,
        status=202,
        problems=("not-found", "conflict"),
        run=_test,
    ),
)
