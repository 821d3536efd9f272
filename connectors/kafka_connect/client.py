"""A client for Kafka Connect's REST interface: the requests that installing and watching a connector take.

Place in the data's way: beside it. `outbox setup` and `outbox doctor` use it, and the connector watch does.
Invariants: every request has a time limit; 409 means that the workers are sharing out their work, and is
tried again within that limit; what doesn't exist is None, not an error. Must not: log a configuration, which
holds a password.
"""

import asyncio
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Self

import aiohttp

from connectors.kafka_connect.errors import ConnectRefused, ConnectUnreachable
from connectors.kafka_connect.status import ConnectorStatus

__all__ = ["ConnectClient"]

_CONFLICT = 409
_MISSING = 404
_REASON_CHARACTERS = 500
_BUSY_PAUSE_S = 0.25
_IS_AN_ERROR: Any = object()


class ConnectClient:
    """A connection to one Kafka Connect cluster; an async context manager.

    Args:
        url: the REST address; a user and a password in it are used for basic authentication.
        timeout: limit of each request, waiting for busy workers included.
    """

    def __init__(self, url: str, *, timeout: timedelta = timedelta(seconds=30)) -> None:
        self._url = url.rstrip("/")
        self._timeout_s = timeout.total_seconds()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; the next request would open new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def version(self) -> str:
        """Give Kafka Connect's version."""
        answer = await self._request("GET", "/")
        return str(answer["version"])

    async def plugins(self) -> frozenset[str]:
        """Give the classes of the connectors that can be installed."""
        return frozenset(plugin["class"] for plugin in await self._request("GET", "/connector-plugins"))

    async def invalid_settings(self, config: Mapping[str, str]) -> tuple[str, ...]:
        """Let Connect check a configuration, and that the database can be reached; empty when all is well."""
        plugin = config["connector.class"]
        answer = await self._request("PUT", f"/connector-plugins/{plugin}/config/validate", body=config)
        values = (entry["value"] for entry in answer["configs"] if entry["value"])
        return tuple(f"{value['name']}: {error}" for value in values for error in value["errors"] or ())

    async def config(self, name: str) -> Mapping[str, str] | None:
        """Give a connector's configuration, passwords included; None if there is no such connector."""
        answer = await self._request("GET", f"/connectors/{name}/config", missing=None)
        return None if answer is None else dict(answer)

    async def status(self, name: str) -> ConnectorStatus | None:
        """Give a connector's status; None if there is no such connector, or it is too new for one."""
        answer = await self._request("GET", f"/connectors/{name}/status", missing=None)
        return None if answer is None else ConnectorStatus.from_json(answer)

    async def stored_lsn(self, name: str) -> int | None:
        """Give the position in Postgres' WAL that Connect keeps for a connector; None before its first record.

        Changes of a long transaction lie before commits that were passed on already, so the furthest of the
        positions that Debezium keeps (change, commit, completely processed) is what is behind it.
        """
        answer = await self._request("GET", f"/connectors/{name}/offsets", missing={"offsets": []})
        offsets = (entry["offset"] or {} for entry in answer["offsets"])
        positions = (offset.get(name) for offset in offsets for name in ("lsn", "lsn_commit", "lsn_proc"))
        return max((int(position) for position in positions if position is not None), default=None)

    async def create_stopped(self, name: str, config: Mapping[str, str]) -> bool:
        """Create a connector that does nothing yet, so that its offsets can be put right first.

        False if there is one already.
        """
        body = {"name": name, "config": dict(config), "initial_state": "STOPPED"}
        try:
            await self._request("POST", "/connectors", body=body)
        except ConnectRefused as error:
            if error.status == _CONFLICT:
                return False
            raise
        return True

    async def put_config(self, name: str, config: Mapping[str, str]) -> None:
        """Create a connector, or give it another configuration (which restarts its tasks)."""
        await self._request("PUT", f"/connectors/{name}/config", body=config)

    async def stop(self, name: str) -> None:
        """Stop a connector's tasks; it stays so over restarts of the workers, until `resume`."""
        await self._request("PUT", f"/connectors/{name}/stop")

    async def resume(self, name: str) -> None:
        """Let a stopped or paused connector go on."""
        await self._request("PUT", f"/connectors/{name}/resume")

    async def forget_offsets(self, name: str) -> None:
        """Remove the positions kept for a stopped connector."""
        await self._request("DELETE", f"/connectors/{name}/offsets")

    async def restart_failed(self, name: str) -> None:
        """Restart what failed of a connector, and nothing else of it."""
        await self._request("POST", f"/connectors/{name}/restart?includeTasks=true&onlyFailed=true")

    async def delete(self, name: str) -> None:
        """Remove a connector; its replication slot and its offsets stay."""
        await self._request("DELETE", f"/connectors/{name}", missing=None)

    async def _request(self, method: str, path: str, *, body: Any = None, missing: Any = _IS_AN_ERROR) -> Any:
        """Send a request; `missing` is what a 404 gives."""
        try:
            async with asyncio.timeout(self._timeout_s):
                while True:
                    status, answer = await self._send(method, path, body)
                    if status != _CONFLICT or _exists_already(answer):
                        break
                    await asyncio.sleep(_BUSY_PAUSE_S)
        except TimeoutError as error:
            raise ConnectUnreachable(self._url, f"{method} {path} took over {self._timeout_s:g} s") from error
        except aiohttp.ClientError as error:
            raise ConnectUnreachable(self._url, str(error) or type(error).__name__) from error
        if status == _MISSING and missing is not _IS_AN_ERROR:
            return missing
        if status >= 400 or isinstance(answer, str):  # noqa: PLR2004 - HTTP's errors begin here
            raise ConnectRefused(f"{method} {path}", status, _refusal(answer))
        return answer

    async def _send(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        session = self._open()
        async with session.request(method, self._url + path, json=body) as response:
            return response.status, _parsed(await response.read())

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            # Connect answers a PUT or POST without a body with 415, unless it says that it would be JSON.
            self._session = aiohttp.ClientSession(headers={"Content-Type": "application/json"})
        return self._session


def _exists_already(answer: Any) -> bool:
    """Tell the one conflict that doesn't pass: Connect has no status of its own for it."""
    return "already exists" in _refusal(answer)


def _parsed(body: bytes) -> Any:
    """Read an answer; a text where there should be JSON (a proxy's page) stays text."""
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode(errors="replace")


def _refusal(answer: Any) -> str:
    """Say why in Connect's words, on one line."""
    message = answer.get("message", answer) if isinstance(answer, dict) else answer
    return " ".join(str(message).split())[:_REASON_CHARACTERS] or "no reason given"
