"""The API, listening on a free port of this process, and a client for it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import aiohttp
from pydantic import SecretStr

from connectors.webhook.key_ring import NO_KEYS, KeyRing
from streams.api.access import new_token
from streams.api.server import LOCK_WITHIN, LOG_READ_WITHIN, Server
from streams.settings import Settings

__all__ = ["ApiClient", "Reply", "an_endpoint_body", "running_api"]

URL: Final = "https://receiver.example/in?token=url-mark-83ce"


def an_endpoint_body(**changes: Any) -> dict[str, Any]:
    """The least that an endpoint needs, and changes of it."""
    return {"url": URL, "event_types": ["order.*"], **changes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def kind(self) -> str:
        """The kind of a problem, having checked that it is one."""
        assert self.headers["Content-Type"].startswith("application/problem+json")
        problem = self.json
        assert problem["status"] == self.status
        assert problem["request_id"] == self.headers["X-Request-Id"]
        return str(problem["type"]).removeprefix("urn:outbox:problem:")

    @property
    def fields(self) -> dict[str, str]:
        """What is said of each field of a problem, by its pointer, parameter or header."""
        return {
            next(value for name, value in error.items() if name != "detail"): error["detail"]
            for error in self.json["errors"]
        }


class ApiClient:
    """Calls one API. Every call goes over a socket."""

    def __init__(self, server: Server, session: aiohttp.ClientSession, token: str) -> None:
        self.server = server
        self.base = f"http://127.0.0.1:{server.port}"
        self.token = token
        self._session = session

    async def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> Reply:
        """Send a request; `body` as JSON, or `raw` bytes as they are. An empty token sends none."""
        sent = {} if token == "" else {"Authorization": f"Bearer {token or self.token}"}
        if body is not None:
            raw = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        async with self._session.request(
            method, self.base + path, data=raw, headers={**sent, **(headers or {})}, allow_redirects=False
        ) as response:
            return Reply(status=response.status, headers=response.headers, text=await response.text())

    async def created(self, **changes: Any) -> dict[str, Any]:
        """Create an endpoint, and give the answer's body."""
        reply = await self("POST", "/v1/endpoints", an_endpoint_body(**changes))
        assert reply.status == 201, reply.text
        body: dict[str, Any] = reply.json
        return body


@asynccontextmanager
async def running_api(
    database_url: str,
    *,
    keys: KeyRing = NO_KEYS,
    tokens: bool = True,
    log_read_within: timedelta = LOG_READ_WITHIN,
    lock_within: timedelta = LOCK_WITHIN,
    **settings: Any,
) -> AsyncGenerator[ApiClient]:
    """Run the API; the client has a token with the scope write."""
    text, entry = new_token("writer", "write")
    server = await Server.start(
        Settings(
            database_url=SecretStr(database_url),
            api_listen="127.0.0.1:0",
            **{"api_tokens": entry if tokens else "", **settings},
        ),
        keys=keys,
        now=lambda: datetime.now(UTC),
        log_read_within=log_read_within,
        lock_within=lock_within,
    )
    try:
        # Without its own decoding, and a connection each: nothing of one request meets another.
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector, skip_auto_headers=["Content-Type"]) as session:
            yield ApiClient(server, session, text)
    finally:
        await server.stop()
