"""The operation on the audit table: reading it."""

from typing import Final

from streams.api.cursor import audit_cursor, read_audit_cursor
from streams.api.models import AuditQuery
from streams.api.operation import Answer, Call, Operation
from streams.api.views import AuditPage, audit_view

__all__ = ["AUDIT_OPERATIONS"]


def _list(call: Call) -> Answer:
    query: AuditQuery = call.query
    before = None if query.cursor is None else read_audit_cursor(query.cursor)
    found = call.audit.page(limit=query.limit + 1, before=before, endpoint_id=query.endpoint_id)
    shown = found[: query.limit]
    next_cursor = audit_cursor(shown[-1].id) if len(found) > query.limit else None
    return Answer(body=AuditPage(items=[audit_view(entry) for entry in shown], next_cursor=next_cursor))


AUDIT_OPERATIONS: Final = (
    Operation(
        name="listAudit",
        method="GET",
        path="/v1/audit",
        summary="List changes, newest first",
        description="Who changed which endpoint, when, and which of its fields. Values are not kept.",
        scope="read",
        query=AuditQuery,
        answer=AuditPage,
        run=_list,
    ),
)
