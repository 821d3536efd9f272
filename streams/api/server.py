"""The HTTP server: routes, limits of the protocol, and an end that lets requests finish.

Place in the data's way: the outermost of the API. What is no HTTP is answered with a problem, too, and leaves no word
of it in the log: what a client sent by mistake may have been its token (INV-9).
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Final, Self

import orjson
import structlog
from aiohttp import web

from connectors.webhook.key_ring import KeyRing
from streams.api.access import Access
from streams.api.audit_operations import AUDIT_OPERATIONS
from streams.api.body import JSON
from streams.api.dead_letter_operations import DEAD_LETTER_OPERATIONS
from streams.api.delivery_operations import DELIVERY_OPERATIONS
from streams.api.endpoint_operations import ENDPOINT_OPERATIONS
from streams.api.openapi import openapi_document
from streams.api.page.files import PageFile, page_files, page_response
from streams.api.pipeline import OPERATION, Pipeline, answered, header_invalid, request_id_of
from streams.api.problem import Problem
from streams.api.replay_operations import REPLAY_OPERATIONS
from streams.api.secret_operations import SECRET_OPERATIONS
from streams.api.stores import Stores
from streams.api.texts import UUID_FORM
from streams.api.tier_operations import TIER_OPERATIONS
from streams.replay.process import ReplayThreads
from streams.settings import Settings

__all__ = ["LOCK_WITHIN", "LOG_READ_WITHIN", "OPERATIONS", "Server"]

_log = structlog.get_logger("streams.api")

OPERATIONS: Final = (
    *ENDPOINT_OPERATIONS,
    *SECRET_OPERATIONS,
    *AUDIT_OPERATIONS,
    *DELIVERY_OPERATIONS,
    *TIER_OPERATIONS,
    *DEAD_LETTER_OPERATIONS,
    *REPLAY_OPERATIONS,
)
LOG_READ_WITHIN: Final = timedelta(seconds=5)
"""How long a statement that reads the delivery log may take."""

LOCK_WITHIN: Final = timedelta(milliseconds=500)
"""How long a request may wait for an endpoint that another change holds."""


#: An id and nothing else: beside the letters stand their actions, which are no letters.
_DEAD_LETTER_ID: Final = f"{{dead_letter_id:{UUID_FORM.pattern.replace('a-f', 'a-fA-F')}}}"

_KEEP_ALIVE_S: Final = 75.0
_LINGER_S: Final = 2.0
_FINISH_WITHIN_S: Final = 10.0


class Server:
    """The API, listening. Made with `start`.

    Attributes:
        host: where it listens.
        port: the port it was given, or found.
    """

    host: str
    port: int

    def __init__(
        self, runner: web.AppRunner, listening: asyncio.Server, stores: Stores, replays: ReplayThreads
    ) -> None:
        self._runner = runner
        self._listening = listening
        self._stores = stores
        self._replays = replays
        self.host, self.port = listening.sockets[0].getsockname()[:2]

    @classmethod
    async def start(
        cls,
        settings: Settings,
        *,
        keys: KeyRing,
        now: Callable[[], datetime],
        log_read_within: timedelta = LOG_READ_WITHIN,
        lock_within: timedelta = LOCK_WITHIN,
    ) -> Self:
        """Listen, with the settings' database, tokens and address.

        Raises:
            OSError: the address can't be listened on.
        """
        stores = Stores.of(settings, log_read_within=log_read_within, lock_within=lock_within)
        replays = ReplayThreads(settings)
        pipeline = Pipeline(
            stores=stores,
            access=Access.parse(settings.api_tokens.get_secret_value()),
            settings=settings,
            keys=keys,
            now=now,
            wake_replayers=replays.wake,
        )
        runner = web.AppRunner(_application(pipeline), shutdown_timeout=_FINISH_WITHIN_S)
        await runner.setup()
        manager = runner.server
        assert manager is not None  # noqa: S101 - it is set up
        loop = asyncio.get_running_loop()
        host, _, port = settings.api_listen.rpartition(":")
        try:
            listening = await loop.create_server(
                lambda: _Connection(
                    manager,
                    loop=loop,
                    access_log=None,  # type: ignore[arg-type]  # none at all: it would write the query
                    auto_decompress=False,
                    keepalive_timeout=_KEEP_ALIVE_S,
                    lingering_time=_LINGER_S,
                ),
                host.strip("[]"),
                int(port),
            )
        except OSError:
            await runner.cleanup()
            raise
        stores.open()
        replays.start()
        return cls(runner, listening, stores, replays)

    async def stop(self) -> None:
        """Take nothing new, let requests finish, and close."""
        self._listening.close()
        await self._runner.cleanup()
        await asyncio.get_running_loop().run_in_executor(None, self._replays.stop)
        await self._stores.close()


class _Connection(web.RequestHandler):
    """aiohttp's, but for what it answers before the pipeline does: it would quote the request, in the log too."""

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Answer; an Expect that aiohttp doesn't know with a problem."""
        if isinstance(resp, web.HTTPExpectationFailed):
            request_id = request_id_of(request.headers)
            _log.warning(
                "api_request_unreadable", request_id=request_id, error=type(resp).__name__, status=400
            )
            problem = header_invalid("Expect", "only 100-continue can be expected here")
            resp = answered(problem, request_id)
        return await super().finish_response(request, resp, start_time)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - it quotes the request
    ) -> web.StreamResponse:
        """Answer with a problem."""
        request_id = request_id_of(request.headers)
        kind = "internal" if status >= 500 else "request-malformed"  # noqa: PLR2004 - the server's own faults
        _log.warning("api_request_unreadable", request_id=request_id, error=type(exc).__name__, status=status)
        response = Problem(kind=kind, detail="Send HTTP/1.1 with headers of 8 KB at most.").response(
            request_id
        )
        response.force_close()
        return response

    def log_exception(self, *_arguments: Any, **_fields: Any) -> None:
        """Say nothing: what leaves the pipeline is answered and logged there."""


def _application(pipeline: Pipeline) -> web.Application:
    @web.middleware
    async def answered(request: web.Request, handler: Any) -> web.StreamResponse:
        return await pipeline.middleware(request, handler)

    application = web.Application(middlewares=[answered])
    for operation in OPERATIONS:
        path = operation.path.replace("{dead_letter_id}", _DEAD_LETTER_ID)
        application.router.add_route(operation.method, path, pipeline.handler(operation))
    document = orjson.dumps(openapi_document(OPERATIONS))

    async def openapi(request: web.Request) -> web.Response:
        request[OPERATION] = "openapi"
        return web.Response(body=document, content_type=JSON)

    application.router.add_route("GET", "/openapi.json", openapi)
    for file in page_files():
        application.router.add_route("GET", file.path, _serving(file))
    return application


def _serving(file: PageFile) -> Callable[[web.Request], Awaitable[web.Response]]:
    tag = file.tag

    async def serve(request: web.Request) -> web.Response:
        request[OPERATION] = "page"
        return page_response(request, file, tag=tag)

    return serve
