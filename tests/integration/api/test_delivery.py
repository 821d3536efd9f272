"""One delivery with its attempts over HTTP: sockets, and a real Postgres that was written as the recorder writes."""

from __future__ import annotations

from urllib.parse import quote
from uuid import UUID

import pytest

from streams.api.delivery_operations import MOST_ATTEMPTS
from tests.integration.api.conftest import Record
from tests.support.api import ApiClient
from tests.support.attempt_records import CREATED_AT_MS, an_entry


async def test_a_delivery_is_shown_with_its_attempts_oldest_first(api: ApiClient, record: Record) -> None:
    """Whatever the order of writing; as it is listed, and what each turn was."""
    first = an_entry("retried", attempt_id=str(UUID(int=1)))
    second = an_entry(attempt=2, attempt_id=str(UUID(int=2)), started_at_ms=CREATED_AT_MS + 9_000)
    record(second)
    record(first, an_entry(event_id=str(UUID(int=5))))
    reply = await api("GET", f"/v1/deliveries/{first.delivery.id}")
    assert reply.status == 200, reply.text
    shown = reply.json
    attempts = shown.pop("attempts_made")
    assert shown.pop("attempts_omitted") is False
    listed = await api("GET", f"/v1/deliveries?event_id={first.delivery.event_id}")
    assert listed.json["items"] == [shown]
    assert (shown["status"], shown["attempts"], shown["http_status"]) == ("succeeded", 2, 204)
    assert [(one["attempt"], one["outcome"]) for one in attempts] == [(1, "failed"), (2, "succeeded")]
    assert attempts[0] == {
        "id": str(UUID(int=1)),
        "attempt": 1,
        "deferrals": 0,
        "replay_id": None,
        "started_at": "2026-03-01T12:30:00.143000Z",
        "duration_ms": 12.5,
        "outcome": "failed",
        "http_status": 503,
        "error_code": None,
        "error": "answered 503 Service Unavailable",
        "excerpt": "maintenance",
        "next": "outbox.retry-4s",
        "next_attempt_at": "2026-03-01T12:30:05.123000Z",
    }
    upper = await api("GET", f"/v1/deliveries/{first.delivery.id.upper()}")
    assert upper.json["id"] == first.delivery.id


async def test_of_a_delivery_with_very_many_attempts_the_newest_are_shown(
    api: ApiClient, record: Record
) -> None:
    """An answer has an end, and says so."""
    turns = [
        an_entry(
            "deferred",
            attempt_id=str(UUID(int=1 + number)),
            deferrals=number,
            started_at_ms=CREATED_AT_MS + number,
        )
        for number in range(MOST_ATTEMPTS + 3)
    ]
    record(*turns)
    shown = (await api("GET", f"/v1/deliveries/{turns[0].delivery.id}")).json
    assert [one["deferrals"] for one in shown["attempts_made"]] == [*range(3, MOST_ATTEMPTS + 3)]
    assert shown["attempts_omitted"] is True


@pytest.mark.parametrize(
    "delivery_id",
    [
        "ep_1",
        "x",
        "%00%ff",
        str(UUID(int=1)),
        "019cb1f0-5acb-8000-8000-000000000000",
        "ffffffff-ffff-8fff-bfff-ffffffffffff",
        "00000000-0000-8000-8000-000000000000",
    ],
)
async def test_a_delivery_that_is_not_there_is_a_problem(
    api: ApiClient, record: Record, delivery_id: str
) -> None:
    """404 for an id of another, of a day that there is no partition of, of no time, and for what is no id."""
    record(an_entry())
    reply = await api("GET", f"/v1/deliveries/{delivery_id}")
    assert (reply.status, reply.kind) == (404, "not-found")


async def test_an_id_has_one_form(api: ApiClient, record: Record) -> None:
    """In braces, or without its dashes, it is none; so a delivery has one address."""
    entry = an_entry()
    record(entry)
    bare = UUID(entry.delivery.id).hex
    for form in (bare, quote("{" + entry.delivery.id + "}"), f"urn:uuid:{entry.delivery.id}"):
        assert (await api("GET", f"/v1/deliveries/{form}")).status == 404
