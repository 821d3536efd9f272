"""Requests to the API: what passes can be stored and sent to, the rest is a problem that has a name. No 500."""

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import SecretStr

from connectors.postgres.stored_endpoint import StoredEndpoint
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.errors import EndpointInvalidError
from connectors.webhook.key_ring import NO_KEYS
from connectors.webhook.payload_filter import PayloadFilter
from connectors.webhook.wire import encode_request
from streams.api.access import Access, new_token
from streams.api.cursor import read_audit_cursor, read_endpoint_cursor
from streams.api.endpoint_values import new_endpoint, patched
from streams.api.models import AuditQuery, EndpointChange, EndpointNew, Rotation
from streams.api.operation import check_revision
from streams.api.problem import KINDS, Problem, ProblemError
from streams.api.server import Server
from streams.api.validation import read_body, read_query
from streams.settings import Settings
from tests.fuzz.mutation import any_text, mutated, mutated_text
from tests.fuzz.profile import FUZZ, FUZZ_SLOW
from tests.fuzz.refusal import read_or_refused
from tests.unit.webhook.records import NOW, SECRET, endpoint, request

MARK = "hunter2"
FULL = {
    "id": "ep_mine",
    "url": f"https://receiver.example/in?token={MARK}",
    "event_types": ["order.*", "invoice.paid"],
    "description": "orders of ACME",
    "enabled": True,
    "secret": SECRET.reveal(),
    "headers": {"X-Api-Key": MARK, "x-b": "2"},
    "metadata": {"tenant": MARK},
    "timeout_s": 2.5,
    "schedule_s": [5, 300.5],
    "max_age_s": 86400,
    "concurrency": 4,
    "rate_limit_per_s": 0.5,
    "payload_filter": {"a": ["x", 1, None, {"prefix": MARK}], "b": {"c": [{"numeric": [">=", 1, "<", 2.5]}]}},
}
PATCHES = [
    {name: value for name, value in FULL.items() if name not in ("id", "secret")},
    {"headers": {"x-a": None}, "metadata": None, "timeout_s": None, "description": None},
    {"url": f"https://other.example/{MARK}"},
    {"payload_filter": {"a": None, "b": {"c": [MARK]}, "d": [{"exists": False}]}},
]
BODIES = [orjson.dumps(body) for body in (FULL, {"url": FULL["url"], "event_types": ["*"]}, *PATCHES)]
BEFORE = StoredEndpoint(
    endpoint=replace(endpoint(), payload_filter=PayloadFilter.of({"a": ["x"], "b": {"e": ["y"]}})),
    metadata={"a": "1"},
    updated_at=NOW,
)


def problem_of(found: object) -> Problem | None:
    """The problem, if it is one: bounded, with a known kind, and without a word of what was sent."""
    if isinstance(found, EndpointInvalidError):
        assert MARK not in str(found)
        return Problem(kind="body-invalid", detail=str(found))
    if not isinstance(found, ProblemError):
        return None
    problem = found.problem
    assert problem.kind in KINDS
    said = bytes(problem.response("r-1").body or b"")  # type: ignore[arg-type]  # bytes here
    assert len(said) < 16_000
    for error in problem.errors:
        assert MARK not in error.detail
    assert MARK not in problem.detail
    return problem


def assert_usable(one: Endpoint) -> None:
    assert Endpoint.from_json(one.to_json(NO_KEYS)) == one
    headers = {name: value.reveal() for name, value in one.headers}
    assert b"\r\nhost: " in encode_request(request(one, headers=headers), user_agent="test/1")


@FUZZ
@given(mutated(BODIES) | st.binary(max_size=60))
@example(b'{"url":' + b"[" * 60_000)
@example(b'{"url": "https://receiver.example/", "event_types": ["*"], "timeout_s": 1e999}')
@example(b'{"url": "https://receiver.example/", "event_types": ["*"], "description": "\\ud800"}')
@example(b'{"url": "https://receiver.example/", "event_types": ["*"], "max_age_s": -0.0}')
def test_any_body_is_an_endpoint_that_can_be_sent_to_or_a_problem(body: bytes) -> None:
    """What is accepted can be stored, told to the workers, and put into a request."""

    def read() -> Endpoint:
        return new_endpoint(read_body(EndpointNew, body), settings=Settings(), now=NOW)

    found = read_or_refused_by_name(read)
    if isinstance(found, Endpoint):
        assert_usable(found)
        return
    assert problem_of(found) is not None


@FUZZ
@given(mutated(BODIES) | st.binary(max_size=60))
def test_any_patch_gives_an_endpoint_that_can_be_sent_to_or_a_problem(body: bytes) -> None:
    """A merge patch leaves what it does not name."""
    found = read_or_refused_by_name(lambda: patched(BEFORE, read_body(EndpointChange, body)))
    if isinstance(found, StoredEndpoint):
        assert_usable(found.endpoint)
        assert found.endpoint.secrets == BEFORE.endpoint.secrets
        assert all(isinstance(value, str) for value in found.metadata.values())
        return
    assert problem_of(found) is not None


@FUZZ
@given(
    mutated([orjson.dumps({"secret": SECRET.reveal(), "overlap_s": 3600}), b"{}"]) | st.binary(max_size=40)
)
@example(b'{"overlap_s": 1e9}')
@example(b'{"overlap_s": 99999999999999999999}')
def test_any_rotation_is_bounded_or_a_problem(body: bytes) -> None:
    """INV-9: and the secret is not repeated."""
    found = read_or_refused(lambda: read_body(Rotation, body), ProblemError)
    if isinstance(found, Rotation):
        assert 0 <= found.overlap_s <= 30 * 86_400
        return
    problem = problem_of(found)
    assert problem is not None
    assert SECRET.reveal().removeprefix("whsec_") not in str([error.detail for error in problem.errors])


@FUZZ
@given(
    st.lists(
        st.tuples(
            mutated_text(["limit", "cursor", "endpoint_id"]),
            mutated_text(["50", "ep_1", "MjAyNi0wMy0wMVQwMDowMDowMCswMDowMCBlcF8x"]) | any_text,
        ),
        max_size=4,
    )
)
def test_any_query_is_a_page_or_a_problem(pairs: list[tuple[str, str]]) -> None:
    """Bounded; and a cursor is a place in the list or a problem, whatever it was made of."""
    found = read_or_refused(lambda: read_query(AuditQuery, pairs), ProblemError)
    if not isinstance(found, AuditQuery):
        assert problem_of(found) is not None
        return
    assert 1 <= found.limit <= 200
    cursor = found.cursor or "x"
    moment = read_or_refused(lambda: read_endpoint_cursor(cursor), ProblemError)
    if not isinstance(moment, ProblemError):
        assert moment[0].tzinfo is not None
    number = read_or_refused(lambda: read_audit_cursor(cursor), ProblemError)
    if not isinstance(number, ProblemError):
        assert 0 <= number < 2**63


@FUZZ
@given(
    authorization=st.none() | mutated_text([f"Bearer obx_{MARK}", "Basic eDp5"]),
    host=st.none() | mutated_text(["127.0.0.1:8090", "[::1]:8090", "localhost"]),
    origin=st.none() | mutated_text(["http://127.0.0.1:8090", "null"]),
    if_match=st.none() | mutated_text(['"1"', 'W/"1", "2"', "*"]),
)
def test_any_header_is_taken_or_a_problem(
    authorization: str | None, host: str | None, origin: str | None, if_match: str | None
) -> None:
    """No garbled token is let in; a garbled condition is never passed over."""
    access = Access.parse(new_token("deploy", "write")[1])
    assert problem_of(read_or_refused(lambda: access.token(authorization), ProblemError)) is not None
    let_in = read_or_refused(lambda: Access.parse("").check_origin(host=host, origin=origin), ProblemError)
    if let_in is None:
        assert re.fullmatch(r"(127(\.\d+){3}|localhost|\[[0-9a-fA-F:.]+\])(:\d+)?", host or "")
        assert origin in (None, f"http://{host}", f"https://{host}")
    else:
        problem_of(let_in)
    found = read_or_refused(lambda: check_revision(if_match, BEFORE.revision), ProblemError)
    if found is None:
        assert if_match is None or if_match.strip() == "*" or '"1"' in if_match
    else:
        problem_of(found)


HTTP = [
    b"GET /v1/endpoints?limit=5 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer obx_hunter2\r\n\r\n",
    b"POST /v1/endpoints HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
    b"PATCH /v1/endpoints/ep_1 HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"GET /v1/deliveries?status=failed&since=2026-11-30T14:00:00Z&target=hunter2 HTTP/1.1\r\nhost: x\r\n\r\n",
    b'DELETE /v1/endpoints/%00 HTTP/1.0\r\nif-match: "1"\r\n\r\n',
]


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(loop: asyncio.AbstractEventLoop) -> Iterator[Server]:
    """Nothing is let in, so that no request gets as far as the database, which is not there."""
    settings = Settings(
        api_listen="127.0.0.1:0",
        api_tokens=SecretStr(new_token("deploy", "write")[1]),
        database_url=SecretStr("postgresql://u:p@127.0.0.1:1/none"),
    )
    started = loop.run_until_complete(Server.start(settings, keys=NO_KEYS, now=lambda: NOW))
    yield started
    loop.run_until_complete(started.stop())


async def exchange(port: int, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    writer.write_eof()
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


@FUZZ_SLOW
@given(sent=mutated(HTTP) | st.binary(max_size=80))
def test_any_bytes_on_the_socket_are_answered_with_problems_or_not_at_all(
    loop: asyncio.AbstractEventLoop, server: Server, sent: bytes
) -> None:
    """What is no request, or half of one, has no answer or a 4xx; never a 500, and never a word of it back."""
    answer = loop.run_until_complete(exchange(server.port, sent))
    for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", answer):
        assert status[:1] == b"4" or status == b"100"
    assert MARK.encode() not in answer


def read_or_refused_by_name(read: Callable[[], object]) -> object:
    """As `read_or_refused`, for the two errors that are answered as problems of a body."""
    try:
        return read()
    except (ProblemError, EndpointInvalidError) as error:
        return error
