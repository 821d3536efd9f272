"""The delivery log over HTTP: sockets, and a real Postgres that was written as the recorder writes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest

from streams.api.access import new_token
from streams.api.cursor import audit_cursor, endpoint_cursor
from streams.recorder.entry import Entry
from tests.integration.api.conftest import Record
from tests.support.api import ApiClient, Reply, running_api
from tests.support.attempt_records import CREATED_AT_MS, an_entry

HOUR_MS = 3_600_000
LATE_MS = CREATED_AT_MS + 50 * HOUR_MS
LATE = datetime.fromtimestamp(LATE_MS / 1000, UTC).isoformat()
EVENT = str(UUID(int=9))


def entry_at(number: int, *, created_at_ms: int) -> Entry:
    return an_entry(event_id=str(UUID(int=number)), event_created_at_ms=created_at_ms)


async def listed(api: ApiClient, *pairs: tuple[str, str]) -> Any:
    reply = await api("GET", f"/v1/deliveries?{urlencode(pairs)}")
    assert reply.status == 200, reply.text
    return reply.json


@pytest.fixture
def three(record: Record) -> dict[str, str]:
    """Three deliveries, by what is special about them: their ids, and a name for each."""
    entries = {
        "plain": an_entry(event_id=EVENT),
        "handler": an_entry("rejected", event_id=EVENT, target="handler:bill"),
        "late": an_entry(
            "retried", event_id=str(UUID(int=10)), event_type="user.left", event_created_at_ms=LATE_MS
        ),
    }
    record(*entries.values())
    return {entry.delivery.id: name for name, entry in entries.items()}


@pytest.mark.parametrize(
    ("pairs", "names"),
    [
        ([], {"plain", "handler", "late"}),
        ([("endpoint_id", "ep_1")], {"plain", "late"}),
        ([("endpoint_id", "ep_2")], set()),
        ([("target", "endpoint:ep_1")], {"plain", "late"}),
        ([("target", "handler:bill")], {"handler"}),
        ([("event_id", EVENT)], {"plain", "handler"}),
        ([("event_id", EVENT.upper())], {"plain", "handler"}),
        ([("event_type", "user.left")], {"late"}),
        ([("status", "succeeded")], {"plain"}),
        ([("status", "failed,retrying")], {"handler", "late"}),
        ([("status", "failed"), ("status", "succeeded")], {"handler", "plain"}),
        ([("status", "pending")], set()),
        ([("since", LATE)], {"late"}),
        ([("until", LATE)], {"plain", "handler"}),
        ([("since", "2026-03-01T13:30:00+01:00"), ("until", LATE)], {"plain", "handler"}),
        ([("since", LATE), ("until", LATE)], set()),
        ([("since", "0001-01-01T00:00:00+23:59"), ("until", LATE)], {"plain", "handler"}),
        ([("since", LATE), ("until", "9999-12-31T23:59:59-23:59")], {"late"}),
        ([("event_id", EVENT), ("status", "failed"), ("target", "handler:bill")], {"handler"}),
        ([("event_id", EVENT), ("event_type", "user.left")], set()),
    ],
)
async def test_a_filter_finds_those_and_no_others(
    api: ApiClient, three: dict[str, str], pairs: list[tuple[str, str]], names: set[str]
) -> None:
    """By endpoint, target, event, type, status and time, alone and together."""
    page = await listed(api, *pairs)
    found = [three[item["id"]] for item in page["items"]]
    assert sorted(found) == sorted(names)
    assert page["next_cursor"] is None


async def test_a_delivery_is_listed_as_the_log_has_it(api: ApiClient, record: Record) -> None:
    """Every field, with times in UTC."""
    entry = an_entry("retried")
    record(entry)
    (item,) = (await listed(api))["items"]
    assert item == {
        "id": entry.delivery.id,
        "created_at": "2026-03-01T12:30:00.123000Z",
        "event_id": entry.delivery.event_id,
        "event_type": "order.created",
        "target": "endpoint:ep_1",
        "origin": "outbox.events/3/1000",
        "status": "retrying",
        "attempts": 1,
        "last_attempt_at": "2026-03-01T12:30:00.143000Z",
        "next_attempt_at": "2026-03-01T12:30:05.123000Z",
        "http_status": 503,
        "error_code": None,
        "error": "answered 503 Service Unavailable",
        "replay_id": None,
    }


async def test_pages_have_no_gaps_and_no_repeats_while_deliveries_are_added(
    api: ApiClient, record: Record
) -> None:
    """Over days and with equal times: each that was there is on one page, newest first, whatever comes meanwhile."""
    there = [
        entry_at(number, created_at_ms=CREATED_AT_MS + number // 2 * 5 * HOUR_MS) for number in range(25)
    ]
    record(*there)
    page = await listed(api, ("limit", "4"))
    seen = [item["id"] for item in page["items"]]
    page_number = 0
    while page["next_cursor"] is not None:
        page_number += 1
        # Newer than all, at the same times as others, and older than all.
        record(
            *(
                entry_at(1_000 + 10 * page_number + number, created_at_ms=CREATED_AT_MS + hours * HOUR_MS)
                for number, hours in enumerate((100, 5 * page_number, page_number - 100))
            )
        )
        page = await listed(api, ("limit", "4"), ("cursor", page["next_cursor"]))
        seen += [item["id"] for item in page["items"]]
        assert page_number < 100
    assert len(seen) == len(set(seen))
    rows = sorted((entry.delivery for entry in there), key=lambda row: (row.created_at, row.id), reverse=True)
    ids = {row.id for row in rows}
    assert [one for one in seen if one in ids] == [row.id for row in rows]


async def test_a_cursor_goes_on_in_the_same_list(api: ApiClient, record: Record) -> None:
    """With its filters: what they leave out is on no page."""
    entries = [
        an_entry(
            ("succeeded", "rejected")[number % 2],
            event_id=str(UUID(int=number)),
            event_created_at_ms=CREATED_AT_MS + number * HOUR_MS,
        )
        for number in range(12)
    ]
    record(*entries)
    seen: list[str] = []
    cursor: list[tuple[str, str]] = []
    while True:
        page = await listed(api, ("status", "failed"), ("limit", "2"), *cursor)
        seen += [item["id"] for item in page["items"]]
        assert len(page["items"]) == 2
        if page["next_cursor"] is None:
            break
        cursor = [("cursor", page["next_cursor"])]
    assert seen == [entry.delivery.id for entry in reversed(entries[1::2])]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("endpoint_id=1", "endpoint_id"),
        ("target=ep_1", "target"),
        ("target=handler:bill&endpoint_id=ep_1", "target"),
        ("event_id=1", "event_id"),
        ("event_type=order.*", "event_type"),
        ("status=done", "status"),
        ("status=failed&status=done", "status"),
        ("since=yesterday", "since"),
        ("since=2026-11-30T14:00:00+01:00", "since"),
        ("until=2026-11-30T14:00:00", "until"),
        ("type=order.created", "type"),
        ("cursor=x", "cursor"),
        ("cursor=hunter2", "cursor"),
        (f"cursor={audit_cursor(7)}", "cursor"),
        (f"cursor={endpoint_cursor(datetime(2026, 11, 30, tzinfo=UTC), 'ep_1')}", "cursor"),
        (f"cursor={UUID(int=7)}", "cursor"),
        ("cursor=ffffffff-ffff-8fff-bfff-ffffffffffff", "cursor"),
    ],
)
async def test_a_wrong_query_names_its_parameter(api: ApiClient, query: str, name: str) -> None:
    """400, with the parameter: a filter, a page of another list, a text that is no cursor at all."""
    reply = await api("GET", f"/v1/deliveries?{query}")
    assert (reply.status, reply.kind) == (400, "query-invalid")
    assert list(reply.fields) == [name]
    assert "hunter2" not in reply.text


async def test_a_cursor_of_this_list_is_one_of_no_other(api: ApiClient, record: Record) -> None:
    """Endpoints and audit entries are somewhere else."""
    record(*(entry_at(number, created_at_ms=CREATED_AT_MS) for number in range(2)))
    cursor = (await listed(api, ("limit", "1")))["next_cursor"]
    for path in ("/v1/endpoints", "/v1/audit"):
        reply = await api("GET", f"{path}?cursor={cursor}")
        assert (reply.status, list(reply.fields)) == (400, ["cursor"])


async def test_read_is_enough_and_a_token_is_needed(outbox_database_url: str, record: Record) -> None:
    """401 without one, for the list and for one delivery; and nothing here can be changed by any."""
    entry = an_entry()
    record(entry)
    reader, reader_entry = new_token("reader", "read")
    writer, writer_entry = new_token("deploy", "write")
    async with running_api(outbox_database_url, api_tokens=f"{reader_entry},{writer_entry}") as guarded:

        async def replies(method: str, token: str) -> list[Reply]:
            paths = ("/v1/deliveries", f"/v1/deliveries/{entry.delivery.id}")
            return [await guarded(method, path, token=token) for path in paths]

        for token, status in ((reader, 200), (writer, 200), ("", 401), ("obx_x", 401)):
            assert [reply.status for reply in await replies("GET", token)] == [status, status]
        for method in ("POST", "PATCH", "DELETE"):
            assert [reply.status for reply in await replies(method, writer)] == [405, 405]
