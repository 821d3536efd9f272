"""What every request goes through: its id, access, its query and body, its operation, and one line in the log.

Place in the data's way: between the HTTP server and the operations. Invariants: whatever happens is answered, with a
problem that has a name; what is logged of a request is its operation, never its path, query, headers or body (INV-9);
no more requests are at work than `AT_WORK`.
"""

import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

import structlog
from aiohttp import web

from connectors.postgres.audit import Actor
from connectors.webhook.key_ring import KeyRing
from streams.api.access import Access, Token, require
from streams.api.body import JSON, MERGE_PATCH, check_media_type, read_bytes
from streams.api.faults import problem_of
from streams.api.operation import IDEMPOTENCY_KEY_PATTERN, Answer, Call, OfBacklog, Operation
from streams.api.problem import FieldProblem, Problem, ProblemError
from streams.api.stores import AT_WORK, Stores
from streams.api.validation import read_body, read_query
from streams.settings import Settings

__all__ = ["OPERATION", "Pipeline", "answered", "header_invalid", "request_id_of"]

_log = structlog.get_logger("streams.api")

OPERATION: Final = web.RequestKey("operation", str)
"""The name of the operation that a request is for, for the log."""

_TOKEN: Final = web.RequestKey("token", str)
_ID: Final = web.RequestKey("request_id", str)

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_IDEMPOTENCY_KEY: Final = re.compile(IDEMPOTENCY_KEY_PATTERN)
_SAFE: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Server": "outbox-streams",
}

_Handler = Callable[[web.Request], Any]


def request_id_of(headers: Any) -> str:
    """The id that a request brings, or a new one."""
    given = headers.get("X-Request-Id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid4().hex


def answered(problem: Problem, request_id: str) -> web.Response:
    """The answer to a request that does not come as far as the pipeline."""
    response = problem.response(request_id)
    _make_safe(response, request_id)
    return response


def header_invalid(name: str, detail: str) -> Problem:
    """The problem of a header that is not heeded as it was meant."""
    wrong = FieldProblem(where="header", name=name, detail=detail)
    return Problem(kind="header-invalid", detail="Put right what `errors` lists.", errors=(wrong,))


class Pipeline:
    """Runs operations for requests.

    Args:
        stores: what they ask.
        access: who may use them.
        settings: what endpoints have to keep to.
        keys: for what endpoints keep secret.
        now: the time, aware.
        wake_replayers: called when there is a new replay.
    """

    def __init__(
        self,
        *,
        stores: Stores,
        access: Access,
        settings: Settings,
        keys: KeyRing,
        now: Callable[[], datetime],
        wake_replayers: Callable[[], None],
    ) -> None:
        self._stores = stores
        self._access = access
        self._settings = settings
        self._keys = keys
        self._now = now
        self._wake_replayers = wake_replayers
        self._at_work = 0

    def handler(self, operation: Operation) -> _Handler:
        """The handler of one operation's route."""

        async def handle(request: web.Request) -> web.Response:
            request[OPERATION] = operation.name
            token = self._access.token(request.headers.get("Authorization"))
            request[_TOKEN] = token.name
            require(token, operation.scope)
            return await self._run(operation, request, token)

        return handle

    async def middleware(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Answer whatever happens, bound what is at work, and write the line."""
        started_s = time.monotonic()
        request_id = request[_ID] = request_id_of(request.headers)
        problem: Problem | None = None
        self._at_work += 1
        try:
            self._check_room()
            self._access.check_origin(host=request.headers.get("Host"), origin=request.headers.get("Origin"))
            response: web.StreamResponse = await handler(request)
        except Exception as error:  # noqa: BLE001 - the boundary: whatever it is, the caller is answered
            problem = problem_of(error, request_id=request_id)
            response = problem.response(request_id)
        finally:
            self._at_work -= 1
        _make_safe(response, request_id)
        _log.info(
            "api_request",
            operation=request.get(OPERATION),
            method=request.method if request.method.isalpha() else "?",
            status=response.status,
            problem=None if problem is None else problem.kind,
            token=request.get(_TOKEN),
            request_id=request_id,
            duration_ms=round((time.monotonic() - started_s) * 1000, 1),
        )
        return response

    def _check_room(self) -> None:
        if self._at_work > AT_WORK:
            detail = "Too many requests are at work. Try again."
            raise ProblemError(Problem(kind="unavailable", detail=detail, headers={"Retry-After": "1"}))

    async def _run(self, operation: Operation, request: web.Request, token: Token) -> web.Response:
        answer = await self._answer(operation, request, token)
        if answer.body is None:
            return web.Response(status=operation.status, headers=answer.headers)
        return web.Response(
            status=operation.status,
            text=answer.body.model_dump_json(),
            content_type=JSON,
            headers=answer.headers,
        )

    async def _answer(self, operation: Operation, request: web.Request, token: Token) -> Answer:
        query = read_query(operation.query, request.query.items())
        body = await _body(operation, request)
        if_match = request.headers.getall("If-Match", [])
        if if_match and not operation.conditional:
            raise ProblemError(header_invalid("If-Match", "this operation takes no condition"))
        run = operation.run
        if isinstance(run, OfBacklog):
            return run.answer(await self._stores.backlog.now())
        idempotency_key = _idempotency_key(request) if operation.idempotent else None
        actor = Actor(name=token.name, request_id=request[_ID])
        now = self._now()

        def work(connection: Any) -> Answer:
            return run(
                Call(
                    connection=connection,
                    settings=self._settings,
                    keys=self._keys,
                    actor=actor,
                    now=now,
                    path=request.match_info,
                    query=query,
                    body=body,
                    if_match=", ".join(if_match) if if_match else None,
                    idempotency_key=idempotency_key,
                )
            )

        stores = self._stores
        answer = await (stores.log if operation.reads_log else stores.database).run(work)
        if operation.starts_replay:
            self._wake_replayers()  # its row is committed
        return answer


async def _body(operation: Operation, request: web.Request) -> Any:
    content = await read_bytes(request)
    if operation.body is None or (not content and not operation.body_required):
        return None
    if content:
        check_media_type(request, (MERGE_PATCH, JSON) if operation.merge_patch else (JSON,))
    return read_body(operation.body, content)


def _idempotency_key(request: web.Request) -> str:
    given = request.headers.getall("Idempotency-Key", [])
    if not given:
        raise ProblemError(
            header_invalid(
                "Idempotency-Key",
                "this is required: a text of your own, such as a UUID; the same one when you repeat the request",
            )
        )
    if len(given) > 1 or not _IDEMPOTENCY_KEY.fullmatch(given[0]):
        raise ProblemError(
            header_invalid("Idempotency-Key", "give one text of 1 to 200 printable ASCII characters")
        )
    return given[0]


def _make_safe(response: web.StreamResponse, request_id: str) -> None:
    for name, value in _SAFE.items():
        response.headers.setdefault(name, value)
    response.headers["X-Request-Id"] = request_id
