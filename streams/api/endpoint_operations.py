"""The operations on endpoints, but for those on their secrets.

Each function is one transaction: the change, what the workers are told, and the audit entry.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

import outbox
from connectors.postgres.stored_endpoint import StoredEndpoint, UnreadableEndpoint
from streams.api.budgets import BUDGET_FIELDS, check_budgets
from streams.api.cursor import endpoint_cursor, read_endpoint_cursor
from streams.api.endpoint_values import columns, columns_failing_that, new_endpoint, patched
from streams.api.models import EndpointChange, EndpointNew, NoFields, PageQuery
from streams.api.operation import Answer, Call, Operation, check_revision, etag
from streams.api.problem import Problem, ProblemError
from streams.api.views import (
    EndpointCreated,
    EndpointPage,
    EndpointView,
    TestSent,
    endpoint_view,
    unreadable_view,
)
from streams.records.target import TEST_EVENT_TYPE

__all__ = ["ENDPOINT_OPERATIONS"]

_ONE: Final = "/v1/endpoints/{endpoint_id}"


def _create(call: Call) -> Answer:
    new: EndpointNew = call.body
    endpoint = new_endpoint(new, settings=call.settings, now=call.now)
    stored = call.endpoints.add(endpoint, metadata=new.metadata)
    made = endpoint.secrets[0].reveal() if new.secret is None else None
    [shown] = _views(call, [stored])
    view = EndpointCreated(**shown.model_dump(), secret=made)
    return Answer(
        body=view, headers={"Location": f"/v1/endpoints/{endpoint.id}", "ETag": etag(stored.revision)}
    )


def _list(call: Call) -> Answer:
    query: PageQuery = call.query
    after = None if query.cursor is None else read_endpoint_cursor(query.cursor)
    # One more than is shown says whether there is a next page.
    found = call.endpoints.page(limit=query.limit + 1, after=after)
    shown = found[: query.limit]
    last = _place(shown[-1]) if len(found) > query.limit else None
    return Answer(
        body=EndpointPage(
            items=_views(call, [one for one in shown if isinstance(one, StoredEndpoint)]),
            unreadable=[unreadable_view(one) for one in shown if isinstance(one, UnreadableEndpoint)],
            next_cursor=None if last is None else endpoint_cursor(*last),
        )
    )


def _place(one: StoredEndpoint | UnreadableEndpoint) -> tuple[datetime, str]:
    found = one.endpoint if isinstance(one, StoredEndpoint) else one
    return found.created_at, found.id


def _show(call: Call) -> Answer:
    return _answer(call, call.endpoints.stored(call.endpoint_id))


def _change(call: Call) -> Answer:
    patch: EndpointChange = call.body

    def change(before: StoredEndpoint) -> StoredEndpoint:
        check_revision(call.if_match, before.revision)
        after = patched(before, patch)
        # Not for a change of something else: the settings may have changed since.
        if patch.model_fields_set & BUDGET_FIELDS:
            check_budgets(after.endpoint, call.settings)
        return after

    stored = call.endpoints.change(
        call.endpoint_id, change, instead=columns(patch), failing_that=columns_failing_that(patch)
    )
    return _answer(call, stored)


def _delete(call: Call) -> Answer:
    call.endpoints.remove(call.endpoint_id, check=lambda revision: check_revision(call.if_match, revision))
    return Answer(body=None)


def _enable(call: Call) -> Answer:
    return _set_enabled(call, enabled=True)


def _disable(call: Call) -> Answer:
    return _set_enabled(call, enabled=False)


def _set_enabled(call: Call, *, enabled: bool) -> Answer:
    def change(before: StoredEndpoint) -> StoredEndpoint:
        check_revision(call.if_match, before.revision)
        return replace(before, endpoint=replace(before.endpoint, enabled=enabled))

    action = "endpoint.enabled" if enabled else "endpoint.disabled"
    return _answer(call, call.endpoints.change(call.endpoint_id, change, action=action))


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


def _answer(call: Call, stored: StoredEndpoint) -> Answer:
    [shown] = _views(call, [stored])
    return Answer(body=shown, headers={"ETag": etag(stored.revision)})


def _views(call: Call, stored: Sequence[StoredEndpoint]) -> list[EndpointView]:
    """All of them with one question for their health."""
    healths = call.health.of([one.endpoint.id for one in stored])
    disable_after = call.settings.endpoint_disable_after
    return [endpoint_view(one, healths.get(one.endpoint.id), disable_after=disable_after) for one in stored]


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
        problems=("not-found", "conflict"),
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
        problems=("not-found", "conflict"),
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
        problems=("not-found", "conflict"),
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
        problems=("not-found", "conflict"),
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
