"""Kafka Connect's protocol as the client takes it: the answers that a healthy Connect gives too rarely to wait for.

What Connect says when all is well is tested against the real one (tests/integration/connect).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port

from connectors.kafka_connect.client import ConnectClient
from connectors.kafka_connect.errors import ConnectRefused, ConnectUnreachable

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serve = Callable[..., Awaitable[ConnectClient]]
STATUS = {"name": "outbox", "connector": {"state": "RUNNING", "worker_id": "w"}, "tasks": []}


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Give a client whose server answers every request as told."""
    servers: list[TestServer] = []
    clients: list[ConnectClient] = []

    async def start(answer: Answer, timeout_s: float = 10) -> ConnectClient:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        server = TestServer(app)
        await server.start_server()
        servers.append(server)
        client = ConnectClient(
            f"http://user:secret@127.0.0.1:{server.port}/", timeout=timedelta(seconds=timeout_s)
        )
        clients.append(client)
        return client

    yield start
    for client in clients:
        await client.close()
    for server in servers:
        await server.close()


async def test_busy_workers_are_asked_again(serve: Serve) -> None:
    """409 means that the workers share out their work; it passes, and is nobody's error."""
    answers = [409, 409, 200]

    async def answer(_: web.Request) -> web.Response:
        return web.json_response(STATUS, status=answers.pop(0))

    client = await serve(answer)
    found = await client.status("outbox")
    assert found is not None
    assert answers == []


async def test_a_connector_that_exists_is_no_busy_worker(serve: Serve) -> None:
    """Connect answers that with 409 too; waiting would not help."""

    async def answer(_: web.Request) -> web.Response:
        return web.json_response(
            {"error_code": 409, "message": "Connector outbox already exists"}, status=409
        )

    client = await serve(answer)
    assert await client.create_stopped("outbox", {"connector.class": "x"}) is False


async def test_workers_that_stay_busy_are_an_error_in_time(serve: Serve) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"error_code": 409, "message": "rebalance"}, status=409)

    client = await serve(answer, timeout_s=0.5)
    with pytest.raises(ConnectUnreachable, match=r"GET /connectors/outbox/status took over 0\.5 s"):
        await client.status("outbox")


async def test_an_answer_that_never_comes_is_an_error_in_time(serve: Serve) -> None:
    async def answer(_: web.Request) -> web.Response:
        await asyncio.sleep(60)
        raise AssertionError("the client waited for a minute")

    client = await serve(answer, timeout_s=0.5)
    with pytest.raises(ConnectUnreachable, match="took over") as caught:
        await client.status("outbox")
    assert "secret" not in str(caught.value)


async def test_nobody_at_the_address_is_an_error_that_hides_the_password() -> None:
    """The address is shown, because a wrong one is the usual cause; its password is not (INV-9)."""
    async with ConnectClient(f"http://user:secret@127.0.0.1:{unused_port()}") as client:
        with pytest.raises(ConnectUnreachable, match=r"//\*\*\*@127\.0\.0\.1") as caught:
            await client.version()
    assert "secret" not in str(caught.value)


async def test_credentials_in_the_address_are_used(serve: Serve) -> None:
    async def answer(request: web.Request) -> web.Response:
        known = request.headers["Authorization"] == "Basic dXNlcjpzZWNyZXQ="
        return web.json_response({"version": "4"}, status=200 if known else 401)

    client = await serve(answer)
    assert await client.version() == "4"


async def test_a_refusal_is_told_in_connect_s_words(serve: Serve) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"error_code": 400, "message": "no\n such\n class"}, status=400)

    client = await serve(answer)
    with pytest.raises(ConnectRefused, match=r"PUT /connectors/outbox/config with status 400: no such class"):
        await client.put_config("outbox", {"connector.class": "x"})


async def test_something_else_at_the_address_is_an_error(serve: Serve) -> None:
    """A proxy's page with status 200 is not taken for Kafka Connect."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="<html>welcome</html>", content_type="text/html")

    client = await serve(answer)
    with pytest.raises(ConnectRefused, match="welcome"):
        await client.status("outbox")


async def test_what_doesn_t_exist_is_none(serve: Serve) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"error_code": 404, "message": "not found"}, status=404)

    client = await serve(answer)
    assert await client.status("outbox") is None
    assert await client.config("outbox") is None
    assert await client.stored_lsn("outbox") is None
    with pytest.raises(ConnectRefused, match="status 404"):
        await client.resume("outbox")


async def test_every_request_says_that_it_is_json(serve: Serve) -> None:
    """Connect answers a PUT without a body with 415 otherwise."""
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Content-Type", ""))
        return web.Response(status=202)

    client = await serve(answer)
    await client.resume("outbox")
    await client.restart_failed("outbox")
    assert seen == ["application/json"] * 2
