"""What any request meets: access, limits, broken bodies, unknown paths; and what is said of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from structlog.testing import capture_logs

from streams.api.access import new_token
from tests.support.api import ApiClient, an_endpoint_body, running_api

READER, READER_ENTRY = new_token("reader", "read")
WRITER, WRITER_ENTRY = new_token("deploy", "write")


@pytest.fixture
async def guarded(outbox_database_url: str) -> AsyncIterator[ApiClient]:
    """An API with two tokens."""
    async with running_api(outbox_database_url, api_tokens=f"{READER_ENTRY},{WRITER_ENTRY}") as api:
        yield api


async def test_without_a_token_nothing_is_answered(guarded: ApiClient) -> None:
    """401 with the challenge of RFC 6750, for none, a wrong one, one of another scheme; but the document is open."""
    for headers in ({}, {"Authorization": "Bearer hunter2"}, {"Authorization": f"Basic {READER}"}):
        reply = await guarded("GET", "/v1/endpoints", token="", headers=headers)
        assert (reply.status, reply.kind) == (401, "unauthenticated")
        assert reply.headers["WWW-Authenticate"].startswith("Bearer")
        assert "hunter2" not in reply.text
    assert (await guarded("GET", "/openapi.json", token="")).status == 200


async def test_a_scope_is_enough_or_refused(guarded: ApiClient) -> None:
    """Read reads and changes nothing, reveals nothing; write includes read."""
    created = (await guarded("POST", "/v1/endpoints", an_endpoint_body(), token=WRITER)).json
    path = f"/v1/endpoints/{created['id']}"
    for where in ("/v1/endpoints", path, "/v1/audit"):
        assert (await guarded("GET", where, token=READER)).status == 200
        assert (await guarded("GET", where, token=WRITER)).status == 200
    for method, where in (
        ("POST", "/v1/endpoints"),
        ("PATCH", path),
        ("DELETE", path),
        ("POST", f"{path}/enable"),
        ("POST", f"{path}/test"),
        ("POST", f"{path}/secret/rotate"),
        ("POST", f"{path}/secret/reveal"),
    ):
        reply = await guarded(method, where, token=READER)
        assert (reply.status, reply.kind) == (403, "forbidden")
        assert "insufficient_scope" in reply.headers["WWW-Authenticate"]
    audit = (await guarded("GET", f"/v1/audit?endpoint_id={created['id']}", token=READER)).json["items"]
    assert [entry["actor"] for entry in audit] == ["deploy"]


async def test_without_tokens_only_this_machine_is_answered(outbox_database_url: str) -> None:
    """A web page elsewhere can't use the browser of who runs it here: neither by its own name nor by one it bound."""
    async with running_api(outbox_database_url, tokens=False) as api:
        port = api.server.port
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"):
            assert (await api("GET", "/v1/endpoints", token="", headers={"Host": host})).status == 200
            same = {"Host": host, "Origin": f"http://{host}"}
            assert (
                await api("POST", "/v1/endpoints", an_endpoint_body(), token="", headers=same)
            ).status == 201
        for headers in (
            {"Host": f"evil.example:{port}"},
            {"Host": "127.0.0.1.evil.example"},
            {"Host": "user@127.0.0.1"},
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
        ):
            reply = await api("POST", "/v1/endpoints", an_endpoint_body(), token="", headers=headers)
            assert (reply.status, reply.kind) == (403, "forbidden")


async def test_what_is_not_there_is_a_problem(api: ApiClient) -> None:
    """404 for a path, 405 with Allow for a method."""
    for path in ("/v1", "/page", "/v1/endpoints/", "/v2/endpoints", "/v1/endpoints/ep_1/nothing", "//"):
        reply = await api("GET", path)
        assert (reply.status, reply.kind) == (404, "not-found")
    reply = await api("DELETE", "/v1/endpoints")
    assert (reply.status, reply.kind, reply.headers["Allow"]) == (405, "method-not-allowed", "GET, POST")
    assert (await api("PUT", "/v1/audit")).status == 405


@pytest.mark.parametrize(
    ("raw", "headers", "status", "kind"),
    [
        (b"", {}, 400, "body-malformed"),
        (b"{", {"Content-Type": "application/json"}, 400, "body-malformed"),
        (b'{"url": "\xff"}', {"Content-Type": "application/json"}, 400, "body-malformed"),
        (b"[" * 60_000, {"Content-Type": "application/json"}, 400, "body-malformed"),
        (b'{"timeout_s": NaN}', {"Content-Type": "application/json"}, 422, "body-invalid"),
        (b"[]", {"Content-Type": "application/json"}, 422, "body-invalid"),
        (b"null", {"Content-Type": "application/json"}, 422, "body-invalid"),
        (b"{}", {"Content-Type": "text/plain"}, 415, "media-type-unsupported"),
        (b"{}", {}, 415, "media-type-unsupported"),
        (b"{}", {"Content-Type": "application/json; charset=utf-16"}, 415, "media-type-unsupported"),
        (
            b"{}",
            {"Content-Type": "application/json", "Content-Encoding": "gzip"},
            415,
            "media-type-unsupported",
        ),
        (b" " * 65_537, {"Content-Type": "application/json"}, 413, "body-too-large"),
    ],
)
async def test_a_body_that_cannot_be_taken_is_refused(
    api: ApiClient, raw: bytes, headers: dict[str, str], status: int, kind: str
) -> None:
    """Broken, too large, of the wrong type, or compressed: a bomb is not unpacked, since nothing is."""
    reply = await api("POST", "/v1/endpoints", raw=raw, headers=headers)
    assert (reply.status, reply.kind) == (status, kind)


async def test_a_body_without_a_length_is_bounded_too(api: ApiClient) -> None:
    """Chunks are counted as they come."""

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(80):
            yield b" " * 1024

    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"{api.base}/v1/endpoints",
            data=endless(),
            headers={"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"},
        ) as response,
    ):
        assert response.status == 413


@pytest.mark.parametrize(
    "sent",
    [
        b"hunter2\r\n\r\n",
        b"GET / HTTP/1.1\r\nAuthorization: Bearer hunter2\r\nbroken line hunter2\r\n\r\n",
        b"GET /" + b"hunter2" * 2_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"hunter2" * 2_000 + b"\r\n\r\n",
        b"POST /v1/endpoints HTTP/1.1\r\nhost: x\r\ncontent-length: hunter2\r\n\r\n",
        b"\x16\x03\x01\x02\x00hunter2\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_a_problem_and_leaves_no_word_in_the_log(
    api: ApiClient, sent: bytes
) -> None:
    """INV-9: what was sent by mistake may have been a token."""
    with capture_logs() as lines:
        reader, writer = await asyncio.open_connection("127.0.0.1", api.server.port)
        writer.write(sent)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert answer.split(b" ", 2)[1] == b"400"
    assert b"urn:outbox:problem:request-malformed" in answer
    assert b"hunter2" not in answer
    assert lines
    assert "hunter2" not in str(lines)


@pytest.mark.parametrize(
    "target",
    [
        b"/v1/endpoints?limit=\xff",
        b"/v1/endpoints?\xff\xfe=1",
        b"/v1/endpoints?cursor=%ED%A0%80",
        b"/v1/endpoints?%ff%00=%ff",
        b"/v1/endpoints/\xff",
        b"/v1/endpoints/%ED%A0%80",
        b"/v1/audit?endpoint_id=ep_%00",
        b"/v1/audit?cursor=OTIyMzM3MjAzNjg1NDc3NTgwOA",
        b"/v1/endpoints?cursor=MDAwMS0wMS0wMVQwMDowMDowMCsyMzo1OSBlcF8x",
        b"/v1/endpoints?cursor=OTk5OS0xMi0zMVQyMzo1OTo1OS0yMzo1OSBlcF8x",
        b"/v1/endpoints?cursor=" + b"A" * 200,
        b"/v1/deliveries?cursor=ffffffff-ffff-8fff-bfff-ffffffffffff",
        b"/v1/deliveries?cursor=00000000000080008000000000000000",
        b"/v1/deliveries?since=0001-01-01T00:00:00%2B23:59&until=9999-12-31T23:59:59-23:59",
        b"/v1/deliveries?event_id=ffffffff-ffff-ffff-ffff-ffffffffffff&status=failed,failed",
        b"/v1/deliveries?target=handler:%00&status=%ED%A0%80",
        b"/v1/deliveries/e677d21f-dbff-8fff-bfff-ffffffffffff",
        b"/v1/deliveries/\xff",
    ],
)
async def test_an_odd_target_is_a_problem_and_no_defect(api: ApiClient, target: bytes) -> None:
    """With a token that is let in, so that it gets as far as Postgres: a 4xx, or a page, and nothing else."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.server.port)
    token = api.token.encode()
    writer.write(b"GET " + target + b" HTTP/1.0\r\nauthorization: Bearer " + token + b"\r\n\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert answer.split(b" ", 2)[1] in {b"200", b"400", b"404"}


async def test_a_request_is_one_line_in_the_log_without_what_it_was_about(api: ApiClient) -> None:
    """INV-9: operation, status, token's name and request id; no path, query, header or body."""
    created = await api.created()
    with capture_logs() as lines:
        await api("GET", f"/v1/endpoints/{created['id']}?hunter2=hunter2", headers={"X-Request-Id": "r-1"})
        await api("GET", "/hunter2?hunter2", headers={"X-Request-Id": "hunter 2"})
        await api("POST", "/v1/endpoints", {"hunter2": "hunter2"})
    assert [(line["operation"], line["status"], line["problem"], line["token"]) for line in lines] == [
        ("showEndpoint", 400, "query-invalid", "writer"),
        (None, 404, "not-found", None),
        ("createEndpoint", 422, "body-invalid", "writer"),
    ]
    assert lines[0]["request_id"] == "r-1"
    assert "hunter" not in str(lines)


@pytest.mark.parametrize("path", ["/v1/endpoints", "/nothing"])
async def test_what_cannot_be_expected_is_a_problem_and_not_quoted(api: ApiClient, path: str) -> None:
    """The server looks at this header before anything of ours; and 100-continue still goes through."""
    with capture_logs() as lines:
        reply = await api("POST", path, an_endpoint_body(), headers={"Expect": "hunter2"})
    assert (reply.status, reply.kind, list(reply.fields)) == (400, "header-invalid", ["Expect"])
    assert "hunter2" not in reply.text + str(lines)
    assert [line["request_id"] for line in lines] == [reply.json["request_id"]]
    assert reply.headers["Cache-Control"] == "no-store"
    reply = await api("POST", "/v1/endpoints", an_endpoint_body(), headers={"Expect": "100-continue"})
    assert reply.status == 201


async def test_every_answer_is_safe_to_be_seen_by_a_browser(api: ApiClient) -> None:
    """Not stored, not sniffed, not framed; and it says nothing of what it is made with."""
    for method, path in (("GET", "/v1/endpoints"), ("GET", "/nothing"), ("GET", "/openapi.json")):
        headers = (await api(method, path)).headers
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["Server"] == "outbox-streams"
        assert headers["X-Request-Id"]


async def test_without_its_database_it_says_so(outbox_database_url: str) -> None:
    """503 with when to try again, and not a word of the address."""
    async with running_api(f"{outbox_database_url}?connect_timeout=2".replace("test_", "hunter2_")) as api:
        reply = await api("GET", "/v1/endpoints")
    assert (reply.status, reply.kind) == (503, "unavailable")
    assert reply.headers["Retry-After"]
    assert "hunter2" not in reply.text


async def test_a_database_that_is_not_set_up_is_told_to_the_log(fresh_database_url: str) -> None:
    """What to do stands there."""
    with capture_logs() as lines:
        async with running_api(fresh_database_url) as api:
            assert (await api("GET", "/v1/endpoints")).status == 503
    assert "Run `outbox setup`" in str(lines)
