"""One operation of the API: what it takes, what it answers, and what it does.

Place in the data's way: the table of operations is routed by the pipeline and described by the OpenAPI document, so
that both say the same. What an operation does is a plain function over a database connection: it runs in a thread,
in one transaction, which is rolled back when it raises. One that shows Kafka's backlog has no connection.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import psycopg
from pydantic import BaseModel

from connectors.postgres.audit import Actor, AuditLog
from connectors.postgres.dead_letters import DeadLetters
from connectors.postgres.delivery_log import DeliveryLog
from connectors.postgres.endpoint_health_table import EndpointHealthTable
from connectors.postgres.endpoints import EndpointStore
from connectors.postgres.errors import (
    DeadLetterNotFoundError,
    DeliveryNotFoundError,
    EndpointNotFoundError,
    PostgresError,
    ReplayNotFoundError,
)
from connectors.postgres.redrives import RedriveStore
from connectors.postgres.replays import ReplayStore
from connectors.webhook.endpoint import ENDPOINT_ID
from connectors.webhook.key_ring import KeyRing
from streams.api.access import Scope
from streams.api.backlog import Waiting
from streams.api.models import NoQuery, Request
from streams.api.problem import FieldProblem, Problem, ProblemError
from streams.api.texts import UUID_FORM
from streams.settings import Settings

__all__ = [
    "IDEMPOTENCY_KEY_PATTERN",
    "Answer",
    "Call",
    "OfBacklog",
    "Operation",
    "check_revision",
    "etag",
]

IDEMPOTENCY_KEY_PATTERN: Final = r"[\x21-\x7e]{1,200}"
"""What an Idempotency-Key is, whole."""


_ETAG: Final = re.compile(r'"([0-9]{1,18})"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of an operation: everything that a request said, checked, and what there is to answer it with."""

    connection: psycopg.Connection[Any]
    settings: Settings
    keys: KeyRing
    actor: Actor
    now: datetime
    path: Mapping[str, str]
    query: Any
    body: Any
    if_match: str | None = None
    idempotency_key: str | None = None

    @property
    def endpoints(self) -> EndpointStore:
        """The endpoints, changed in this caller's name."""
        return EndpointStore(self.connection, keys=self.keys, actor=self.actor)

    @property
    def health(self) -> EndpointHealthTable:
        """How the endpoints fare."""
        return EndpointHealthTable(self.connection)

    @property
    def audit(self) -> AuditLog:
        """The audit table."""
        return AuditLog(self.connection)

    @property
    def log(self) -> DeliveryLog:
        """The delivery log."""
        return DeliveryLog(self.connection)

    @property
    def dead_letters(self) -> DeadLetters:
        """The dead letters, changed in this caller's name."""
        return DeadLetters(self.connection, actor=self.actor)

    @property
    def redrives(self) -> RedriveStore:
        """The redrives."""
        return RedriveStore(self.connection)

    @property
    def replays(self) -> ReplayStore:
        """The replays, asked for in this caller's name."""
        return ReplayStore(self.connection, actor=self.actor)

    @property
    def endpoint_id(self) -> str:
        """The endpoint that the path names.

        Raises:
            EndpointNotFoundError: what stands there can't be an id, so there is none.
        """
        return self._named("endpoint_id", ENDPOINT_ID, EndpointNotFoundError)

    @property
    def delivery_id(self) -> str:
        """The delivery that the path names.

        Raises:
            DeliveryNotFoundError: what stands there can't be an id, so there is none.
        """
        return self._named("delivery_id", UUID_FORM, DeliveryNotFoundError)

    @property
    def dead_letter_id(self) -> str:
        """The dead letter that the path names.

        Raises:
            DeadLetterNotFoundError: what stands there can't be an id, so there is none.
        """
        return self._named("dead_letter_id", UUID_FORM, DeadLetterNotFoundError)

    @property
    def replay_id(self) -> str:
        """The replay that the path names.

        Raises:
            ReplayNotFoundError: what stands there can't be an id, so there is none.
        """
        return self._named("replay_id", UUID_FORM, ReplayNotFoundError).lower()

    def _named(self, part: str, form: re.Pattern[str], missing: type[PostgresError]) -> str:
        """What stands in that part of the path, in the form of an id; else it is the error of one that is not there."""
        name = self.path[part]
        if not form.fullmatch(name):
            raise missing("(no id)")
        return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an operation answers; None is no content."""

    body: BaseModel | None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OfBacklog:
    """The answer to what waits on Kafka, without a database."""

    answer: Callable[[Waiting], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation.

    Attributes:
        name: for programs; `operationId`.
        path: with `{endpoint_id}`, `{delivery_id}`, `{replay_id}` or `{dead_letter_id}` where an id stands.
        scope: what its caller's token needs.
        body: the model of its body; None if it takes none.
        body_required: whether an empty body is refused.
        answer: the model of its answer; None if it has no content.
        problems: the kinds of problem of its own, beside those that any request may meet.
        conditional: whether it heeds If-Match.
        tagged: whether it answers an ETag.
        idempotent: whether it needs an Idempotency-Key, and is done once for each.
        starts_replay: whether the replayers are to look for something new when it was done.
        reads_log: whether it reads the delivery log, and so runs where it can hold up no others.
        run: what it does, over a connection; or what it answers of Kafka's backlog.
    """

    name: str
    method: str
    path: str
    summary: str
    description: str = ""
    scope: Scope
    query: type[Request] = NoQuery
    body: type[Request] | None = None
    body_required: bool = False
    merge_patch: bool = False
    answer: type[BaseModel] | None
    status: int = 200
    problems: tuple[str, ...] = ()
    conditional: bool = False
    tagged: bool = False
    idempotent: bool = False
    starts_replay: bool = False
    reads_log: bool = False
    run: Callable[[Call], Answer] | OfBacklog


def etag(revision: int) -> str:
    """The entity tag of an endpoint's revision."""
    return f'"{revision}"'


def check_revision(if_match: str | None, revision: int) -> None:
    """Check that an endpoint is the one that the caller has seen.

    Raises:
        ProblemError: it was changed meanwhile, or If-Match can't be read.
    """
    if if_match is None or if_match.strip() == "*":
        return
    tags = [tag.strip() for tag in if_match.split(",")]
    if not all(_ETAG.fullmatch(tag.removeprefix("W/")) for tag in tags):
        wrong = FieldProblem(where="header", name="If-Match", detail='give an ETag of this API, such as "3"')
        raise ProblemError(
            Problem(kind="header-invalid", detail="Put right what `errors` lists.", errors=(wrong,))
        )
    # A weak tag never matches here (RFC 9110, 13.1.1).
    if etag(revision) not in tags:
        raise ProblemError(
            Problem(
                kind="revision-differs",
                detail="Get the endpoint as it is now, and decide again.",
                headers={"ETag": etag(revision)},
            )
        )
