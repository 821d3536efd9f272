"""What the API answers: the models of its answers, and how they are made of what is stored.

Invariant: no secret and no header value is in a view, but in the three that exist to show a secret.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from connectors.postgres.audit import AuditEntry
from connectors.postgres.stored_endpoint import StoredEndpoint, UnreadableEndpoint
from connectors.webhook.secret import Secret

__all__ = [
    "AuditPage",
    "AuditView",
    "EndpointCreated",
    "EndpointPage",
    "EndpointView",
    "ProblemView",
    "RevealedSecret",
    "RevealedSecrets",
    "SecretRotated",
    "SecretState",
    "TestSent",
    "audit_view",
    "endpoint_view",
    "secret_states",
    "unreadable_view",
]

NextCursor = Annotated[
    str | None, Field(description="Give it as `cursor` for the next page; null: this is the last.")
]
MadeSecret = Annotated[
    str | None, Field(description="The secret that was made, shown this once; null where you gave one.")
]


class View(BaseModel):
    """What is answered."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SecretState(View):
    """A secret, without its text."""

    expires_at: datetime | None = Field(description="Nothing is signed with it from then on; null: no end.")


class EndpointView(View):
    """An endpoint. Its secrets are newest first; of its static headers the names are shown."""

    id: str
    url: str
    event_types: list[str]
    description: str
    enabled: bool
    header_names: list[str]
    metadata: dict[str, str]
    timeout_s: float | None
    schedule_s: list[float] | None
    max_age_s: float | None
    concurrency: int | None
    rate_limit_per_s: float | None
    payload_filter: dict[str, Any] | None
    secrets: list[SecretState]
    created_at: datetime
    updated_at: datetime


class EndpointCreated(EndpointView):
    """A new endpoint."""

    secret: MadeSecret


class UnreadableView(View):
    """An endpoint that is stored in a form that is refused now. Change what `detail` names, or delete it."""

    id: str
    detail: str


class EndpointPage(View):
    """Endpoints, oldest first."""

    items: list[EndpointView]
    unreadable: list[UnreadableView] = Field(
        description="Those of the page that can't be shown, and are sent nothing new."
    )
    next_cursor: NextCursor


class SecretRotated(View):
    """The secrets after a rotation, newest first."""

    secret: MadeSecret
    secrets: list[SecretState]


class RevealedSecret(SecretState):
    """A secret with its text."""

    secret: str


class RevealedSecrets(View):
    """The secrets that sign now, newest first."""

    secrets: list[RevealedSecret]


class TestSent(View):
    """A test event that is on its way to this one endpoint."""

    event_id: str = Field(description="The webhook-id that the receiver will see.")


class AuditView(View):
    """A change: who, when, what, and the names of the fields. Values are not kept."""

    id: int
    at: datetime
    actor: str
    action: str
    endpoint_id: str | None
    fields: list[str]
    request_id: str | None


class AuditPage(View):
    """Changes, newest first."""

    items: list[AuditView]
    next_cursor: NextCursor


class FieldProblemView(View):
    """What is wrong with one field."""

    pointer: str | None = Field(default=None, description="Of a body: a JSON pointer, as a URI fragment.")
    parameter: str | None = Field(default=None, description="Of the query.")
    header: str | None = None
    detail: str


class ProblemView(View):
    """What could not be done, and why (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    errors: list[FieldProblemView] | None = None


def endpoint_view(stored: StoredEndpoint) -> EndpointView:
    """Show an endpoint."""
    endpoint = stored.endpoint
    return EndpointView(
        id=endpoint.id,
        url=endpoint.url,
        event_types=[event_filter.pattern for event_filter in endpoint.event_types],
        description=endpoint.description,
        enabled=endpoint.enabled,
        header_names=[name for name, _ in endpoint.headers],
        metadata=dict(stored.metadata),
        timeout_s=_seconds(endpoint.timeout),
        schedule_s=None
        if endpoint.schedule is None
        else [wait.total_seconds() for wait in endpoint.schedule],
        max_age_s=_seconds(endpoint.max_age),
        concurrency=endpoint.concurrency,
        rate_limit_per_s=endpoint.rate_limit_per_s,
        payload_filter=None if endpoint.payload_filter is None else endpoint.payload_filter.pattern,
        secrets=secret_states(endpoint.secrets),
        created_at=endpoint.created_at.astimezone(UTC),
        updated_at=stored.updated_at.astimezone(UTC),
    )


def unreadable_view(one: UnreadableEndpoint) -> UnreadableView:
    """Show that an endpoint can't be shown."""
    return UnreadableView(id=one.id, detail=one.why)


def secret_states(secrets: Sequence[Secret]) -> list[SecretState]:
    """Show secrets without their texts."""
    return [SecretState(expires_at=expires_at_utc(secret)) for secret in secrets]


def expires_at_utc(secret: Secret) -> datetime | None:
    """When a secret ends."""
    return None if secret.expires_at is None else secret.expires_at.astimezone(UTC)


def audit_view(entry: AuditEntry) -> AuditView:
    """Show a change."""
    return AuditView(
        id=entry.id,
        at=entry.at.astimezone(UTC),
        actor=entry.actor,
        action=entry.action,
        endpoint_id=entry.endpoint_id,
        fields=list(entry.fields),
        request_id=entry.request_id,
    )


def _seconds(length: timedelta | None) -> float | None:
    return None if length is None else length.total_seconds()
