"""Dead letters over HTTP: sockets, and a real Postgres that was written as the recorder writes.

What a redrive sends is tested with Kafka, in `tests/integration/redrive`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

import psycopg
import pytest

from streams.api.access import new_token
from tests.support.api import ApiClient, Reply, running_api
from tests.support.dead_letters import DIED_AT_MS, a_row, rows_of, store_rows

LATER = datetime.fromtimestamp((DIED_AT_MS + 2) / 1000, UTC).isoformat()
ROWS = {
    "refused": a_row(0),
    "spent": a_row(1, code="ENDPOINT_EXHAUSTED", target="endpoint:ep_2"),
    "unwanted": a_row(2, code="HANDLER_NOT_REGISTERED", target=None, event_type="user.left"),
    "poison": a_row(3, code="EVENT_MALFORMED", letter_class="poison", target=None, event_id=None),
}
NAMES = {row.id: name for name, row in ROWS.items()}


@pytest.fixture(autouse=True)
def stored(outbox_database_url: str) -> Iterator[None]:
    store_rows(outbox_database_url, *ROWS.values())
    yield
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("truncate outbox.dead_letters, outbox.replays")


async def listed(api: ApiClient, *pairs: tuple[str, str]) -> Any:
    reply = await api("GET", f"/v1/dead-letters?{urlencode(pairs)}")
    assert reply.status == 200, reply.text
    return reply.json


@pytest.mark.parametrize(
    ("pairs", "names"),
    [
        ([], {"refused", "spent", "unwanted", "poison"}),
        ([("code", "ENDPOINT_EXHAUSTED,EVENT_MALFORMED")], {"spent", "poison"}),
        ([("code", "ENDPOINT_EXHAUSTED"), ("code", "ENDPOINT_REJECTED")], {"spent", "refused"}),
        ([("class", "poison")], {"poison"}),
        ([("class", "undelivered")], {"refused", "spent", "unwanted"}),
        ([("target", "endpoint:ep_2")], {"spent"}),
        ([("event_type", "user.left")], {"unwanted"}),
        ([("event_id", str(UUID(int=1)))], {"refused"}),
        ([("since", LATER)], {"unwanted", "poison"}),
        ([("until", LATER)], {"refused", "spent"}),
        ([("status", "open")], {"refused", "spent", "unwanted", "poison"}),
        ([("status", "redriven,discarded")], set()),
    ],
)
async def test_a_filter_finds_those_and_no_others(
    api: ApiClient, pairs: list[tuple[str, str]], names: set[str]
) -> None:
    """CASES 17: by class, so that what can't be read and what a target refused are two lists; and by all else."""
    page = await listed(api, *pairs)
    assert {NAMES[item["id"]] for item in page["items"]} == names
    assert page["next_cursor"] is None


async def test_a_dead_letter_is_shown_as_it_is_stored(api: ApiClient) -> None:
    """Every field, under `class` too, with times in UTC; the detail adds what the delivery log knows."""
    row = ROWS["refused"]
    item = (await listed(api, ("target", "endpoint:ep_1"), ("code", "ENDPOINT_REJECTED")))["items"][0]
    assert item == {
        "id": row.id,
        "event_id": str(UUID(int=1)),
        "event_type": "order.created",
        "target": "endpoint:ep_1",
        "code": "ENDPOINT_REJECTED",
        "class": "undelivered",
        "error": "answered 404",
        "attempts": 3,
        "origin": "outbox.events/3/1000",
        "place": "3/0",
        "created_at": "2026-03-01T12:30:00.123000Z",
        "first_failed_at": "2026-03-01T12:30:01Z",
        "died_at": "2026-02-02T02:40:05Z",
        "died_in_replay_id": None,
        "status": "open",
        "changed_at": None,
        "changed_by": None,
        "replay_id": None,
    }
    shown = await api("GET", f"/v1/dead-letters/{row.id}")
    assert shown.json == {**item, "delivery_id": None, "first_error": None, "first_error_at": None}
    assert (await api("GET", f"/v1/dead-letters/{str(row.id).upper()}")).json == shown.json


async def test_pages_follow_each_other(api: ApiClient) -> None:
    """Newest first, each once; a cursor of another list is none of this one."""
    first = await listed(api, ("limit", "3"))
    second = await listed(api, ("limit", "3"), ("cursor", first["next_cursor"]))
    assert [NAMES[item["id"]] for item in [*first["items"], *second["items"]]] == [*ROWS][::-1]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("class=bad", "class"),
        ("letter_class=poison", "letter_class"),
        ("code=endpoint%20gone", "code"),
        ("status=lost", "status"),
        ("target=ep_1", "target"),
        ("event_id=1", "event_id"),
        ("since=yesterday", "since"),
        ("cursor=x", "cursor"),
        ("cursor=ffffffff-ffff-8fff-bfff-ffffffffffff", "cursor"),
        ("id=1", "id"),
    ],
)
async def test_a_wrong_query_names_its_parameter(api: ApiClient, query: str, name: str) -> None:
    """400, with the parameter."""
    reply = await api("GET", f"/v1/dead-letters?{query}")
    assert (reply.status, reply.kind, [*reply.fields]) == (400, "query-invalid", [name])


@pytest.mark.parametrize("letter_id", ["discard", "3", str(UUID(int=7)), a_row(99).id])
async def test_what_is_not_there_is_not_found(api: ApiClient, letter_id: str) -> None:
    """404, or 405 where it is the name of an action."""
    reply = await api("GET", f"/v1/dead-letters/{letter_id}")
    assert (reply.status, reply.kind) == (
        (405, "method-not-allowed") if letter_id == "discard" else (404, "not-found")
    )


async def test_discarding_says_how_many_were_open(api: ApiClient, outbox_database_url: str) -> None:
    """Twice is once; an id that is none of these is passed over; the token's name stands in the row."""
    ids = [ROWS["refused"].id, ROWS["spent"].id, str(UUID(int=7))]
    for discarded in (2, 0):
        reply = await api("POST", "/v1/dead-letters/discard", {"ids": ids})
        assert (reply.status, reply.json) == (200, {"discarded": discarded})
    assert [row["status"] for row in rows_of(outbox_database_url)] == ["discarded"] * 2 + ["open"] * 2
    assert rows_of(outbox_database_url)[0]["changed_by"] == "writer"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/ids"),
        ({"ids": []}, "#/ids"),
        ({"ids": ["3/17"]}, "#/ids/0"),
        ({"ids": [str(UUID(int=number)) for number in range(501)]}, "#/ids"),
        ({"ids": [str(UUID(int=1))], "all": True}, "#/all"),
    ],
)
async def test_a_wrong_body_names_its_field(api: ApiClient, body: Any, pointer: str) -> None:
    """422, and nothing is done; of a redrive too."""
    for action in ("discard", "redrive"):
        reply = await api(
            "POST", f"/v1/dead-letters/{action}", body, headers={"Idempotency-Key": str(uuid4())}
        )
        assert (reply.status, reply.kind, [*reply.fields]) == (422, "body-invalid", [pointer])


async def test_a_redrive_is_a_replay_that_waits(outbox_database_url: str) -> None:
    """202 with the replay, and where it is; its letters are redriven from then on; without a key it is refused."""
    body = {"ids": [ROWS["refused"].id, ROWS["unwanted"].id]}
    async with running_api(outbox_database_url, kafka_bootstrap_servers="127.0.0.1:9") as api:
        unkeyed = await api("POST", "/v1/dead-letters/redrive", body)
        assert (unkeyed.status, [*unkeyed.fields]) == (400, ["Idempotency-Key"])
        key = {"Idempotency-Key": "k"}
        replies = [await api("POST", "/v1/dead-letters/redrive", body, headers=key) for _ in range(2)]
        assert [reply.status for reply in replies] == [202, 202]
        replay = replies[0].json
        assert replies[1].json["id"] == replay["id"]
        assert replies[0].headers["Location"] == f"/v1/replays/{replay['id']}"
        assert (replay["kind"], replay["requested_by"]) == ("redrive", "writer")
        again = await api("POST", "/v1/dead-letters/redrive", body, headers={"Idempotency-Key": "l"})
        assert (again.status, again.kind) == (409, "conflict")
        poison = {"ids": [ROWS["poison"].id, ROWS["spent"].id]}
        refused = await api("POST", "/v1/dead-letters/redrive", poison, headers={"Idempotency-Key": "m"})
        assert (refused.status, refused.kind) == (409, "conflict")
    taken = [row["replay_id"] for row in rows_of(outbox_database_url)]
    assert taken == [replay["id"], None, replay["id"], None]


async def test_without_kafka_there_is_no_redrive(api: ApiClient, outbox_database_url: str) -> None:
    """503 that says what to set, and nothing is claimed; the rest works."""
    reply = await api(
        "POST", "/v1/dead-letters/redrive", {"ids": [ROWS["refused"].id]}, headers={"Idempotency-Key": "k"}
    )
    assert (reply.status, reply.kind) == (503, "kafka-not-set")
    assert "OUTBOX_KAFKA_BOOTSTRAP_SERVERS" in reply.json["detail"]
    assert {row["status"] for row in rows_of(outbox_database_url)} == {"open"}


async def test_reading_needs_read_and_changing_needs_write(outbox_database_url: str) -> None:
    """403 for a reader who would redrive or discard; 401 without a token."""
    reader, entry = new_token("reader", "read")
    async with running_api(outbox_database_url, api_tokens=entry) as guarded:

        async def asked(method: str, path: str, *, token: str) -> Reply:
            body = {"ids": [ROWS["refused"].id]} if method == "POST" else None
            return await guarded(method, path, body, token=token, headers={"Idempotency-Key": "k"})

        for path in ("/v1/dead-letters", f"/v1/dead-letters/{ROWS['refused'].id}"):
            assert (await asked("GET", path, token=reader)).status == 200
            assert (await asked("GET", path, token="")).status == 401
        for action in ("redrive", "discard"):
            assert (await asked("POST", f"/v1/dead-letters/{action}", token=reader)).status == 403
