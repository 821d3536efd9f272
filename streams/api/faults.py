"""From what an operation raises to the problem that is answered. The one place where this is decided.

Place in the data's way: at the end of the pipeline. What nobody expected is a 500 that says nothing; the log says
where it happened, by file and line, and not what it was about: an exception's text may quote anything (INV-9).
"""

import traceback
from pathlib import Path
from typing import Final

import structlog
from aiohttp import web

from connectors.kafka.errors import KafkaEdgeError, TopicMissing
from connectors.postgres.errors import (
    DatabaseUnreachableError,
    DeadLetterNotFoundError,
    DeliveryNotFoundError,
    EndpointExistsError,
    EndpointNotFoundError,
    EndpointUnreadableError,
    IdempotencyKeyReusedError,
    LockHeldError,
    PostgresError,
    RedriveRefusedError,
    ReplayNotFoundError,
    SchemaMissingError,
    StatementTimeoutError,
)
from connectors.webhook.errors import EndpointInvalidError, SecretLockedError, WebhookError
from streams.api.problem import Problem, ProblemError
from streams.errors import EventGone, ReplayRefused, StreamsError

__all__ = ["problem_of"]

_log = structlog.get_logger("streams.api")

_NOT_FOUND: Final[dict[type[Exception], str]] = {
    EndpointNotFoundError: "There is no endpoint of this id.",
    DeliveryNotFoundError: "There is no delivery of this id in the log. It forgets them after "
    "OUTBOX_LOG_RETENTION_DAYS, and is behind the deliveries by a moment.",
    DeadLetterNotFoundError: "There is no dead letter of this id. They are forgotten after "
    "OUTBOX_DEAD_LETTER_RETENTION_HOURS, and listed a moment after they died.",
    ReplayNotFoundError: "There is no replay of this id.",
}


def problem_of(error: Exception, *, request_id: str) -> Problem:
    """Say what an exception means for who asked."""
    match error:
        case ProblemError(problem=problem):
            return problem
        case web.HTTPMethodNotAllowed(allowed_methods=allowed):
            methods = ", ".join(sorted(allowed))
            return Problem(kind="method-not-allowed", detail=f"Use {methods}.", headers={"Allow": methods})
        case web.HTTPNotFound():
            return Problem(
                kind="not-found", detail="There is no such path. /openapi.json has those there are."
            )
        case LookupError():
            return _not_found(error, request_id=request_id)
        case StreamsError() | PostgresError() | WebhookError() | KafkaEdgeError():
            return _told(error, request_id=request_id)
        case _:
            return _defect(error, request_id=request_id)


def _not_found(error: LookupError, *, request_id: str) -> Problem:
    detail = _NOT_FOUND.get(type(error))
    if detail is None:
        return _defect(error, request_id=request_id)
    return Problem(kind="not-found", detail=detail)


def _told(error: StreamsError | PostgresError | WebhookError | KafkaEdgeError, *, request_id: str) -> Problem:
    """An error whose text is for people, where it is one that a request may cause."""
    match error:
        case EventGone():
            return Problem(kind="event-gone", detail=str(error))
        case (
            ReplayRefused()
            | RedriveRefusedError()
            | EndpointExistsError()
            | EndpointUnreadableError()
            | SecretLockedError()
        ):
            return Problem(kind="conflict", detail=str(error))
        case IdempotencyKeyReusedError():
            return Problem(kind="idempotency-key-reused", detail=str(error))
        case EndpointInvalidError():
            return Problem(kind="body-invalid", detail=str(error))
        case DatabaseUnreachableError() | SchemaMissingError() | KafkaEdgeError():
            return _unavailable(error, request_id=request_id)
        case _:
            return _defect(error, request_id=request_id)


def _unavailable(
    error: DatabaseUnreachableError | SchemaMissingError | KafkaEdgeError, *, request_id: str
) -> Problem:
    match error:
        case TopicMissing():
            event, detail = (
                "topic_missing",
                "A topic is missing on Kafka. Run `outbox setup`, with the settings that this process has.",
            )
        case KafkaEdgeError():
            event, detail = (
                "kafka_unavailable",
                "Kafka gives no answer, and this needs it. Nothing was done. Try again when it is back.",
            )
        case LockHeldError():
            event, detail = (
                "database_too_slow",
                "Another change that takes long holds it. Nothing was done. Try again.",
            )
        case StatementTimeoutError():
            event, detail = (
                "database_too_slow",
                "The database took too long. Look at what there is before you repeat a change.",
            )
        case _:
            event, detail = (
                "database_unavailable",
                "The database gives no answer, or is not set up. Try again later.",
            )
    _log.warning(event, request_id=request_id, error=str(error))
    return Problem(kind="unavailable", detail=detail, headers={"Retry-After": "2"})


def _defect(error: Exception, *, request_id: str) -> Problem:
    _log.error("api_defect", request_id=request_id, error=type(error).__name__, where=_where(error))
    return Problem(kind="internal", detail="The log has more, under this request_id.")


def _where(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]
