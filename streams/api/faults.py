"""From what an operation raises to the problem that is answered. The one place where this is decided.

Place in the data's way: at the end of the pipeline. What nobody expected is a 500 that says nothing; the log says
where it happened, by file and line, and not what it was about: an exception's text may quote anything (INV-9).
"""

import traceback
from pathlib import Path

import structlog
from aiohttp import web

from connectors.kafka.errors import ClusterUnreachable, TopicMissing
from connectors.postgres.errors import (
    DatabaseUnreachableError,
    DeliveryNotFoundError,
    EndpointExistsError,
    EndpointNotFoundError,
    EndpointUnreadableError,
    LockHeldError,
    SchemaMissingError,
    StatementTimeoutError,
)
from connectors.webhook.errors import EndpointInvalidError, SecretLockedError
from streams.api.problem import Problem, ProblemError

__all__ = ["problem_of"]

_log = structlog.get_logger("streams.api")


def problem_of(error: Exception, *, request_id: str) -> Problem:  # noqa: PLR0911 - one for each kind
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
        case EndpointNotFoundError():
            return Problem(kind="not-found", detail="There is no endpoint of this id.")
        case DeliveryNotFoundError():
            return Problem(
                kind="not-found",
                detail="There is no delivery of this id in the log. It forgets them after "
                "OUTBOX_LOG_RETENTION_DAYS, and is behind the deliveries by a moment.",
            )
        case EndpointExistsError() | EndpointUnreadableError() | SecretLockedError():
            return Problem(kind="conflict", detail=str(error))
        case EndpointInvalidError():
            return Problem(kind="body-invalid", detail=str(error))
        case DatabaseUnreachableError() | SchemaMissingError():
            return _unavailable(error, request_id=request_id)
        case ClusterUnreachable() | TopicMissing():
            return _kafka_unavailable(error, request_id=request_id)
        case _:
            _log.error("api_defect", request_id=request_id, error=type(error).__name__, where=_where(error))
            return Problem(kind="internal", detail="The log has more, under this request_id.")


def _unavailable(error: DatabaseUnreachableError | SchemaMissingError, *, request_id: str) -> Problem:
    match error:
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


def _kafka_unavailable(error: ClusterUnreachable | TopicMissing, *, request_id: str) -> Problem:
    _log.warning("kafka_unavailable", request_id=request_id, error=str(error))
    detail = (
        "A topic is missing on Kafka. Run `outbox setup`, with the settings that this process has."
        if isinstance(error, TopicMissing)
        else "Kafka gives no answer. What needs the database alone goes on. Try again later."
    )
    return Problem(kind="unavailable", detail=detail, headers={"Retry-After": "2"})


def _where(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]
