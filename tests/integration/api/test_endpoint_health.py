"""How endpoints fare, as the API and the doctor tell it, over sockets and a real Postgres."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from connectors.postgres.connection import connect
from connectors.postgres.endpoint_health import EndpointTurn
from connectors.postgres.endpoint_health_table import EndpointHealthTable
from connectors.postgres.endpoint_health_writer import keep_health
from tests.support.api import ApiClient, running_api

NOTHING = {
    "state": "idle",
    "failing_since": None,
    "last_success_at": None,
    "last_failure_at": None,
    "last_error": None,
    "disables_at": None,
}

Attempted = Callable[..., None]


@pytest.fixture
def attempted(outbox_database_url: str) -> Iterator[Attempted]:
    """Record attempts at an endpoint: `attempted("ep_1", at, error)`, None for one that succeeded."""

    def record(endpoint_id: str, at: datetime, error: str | None) -> None:
        turn = EndpointTurn(endpoint_id, at, str(uuid4()), error, None if error is None else 503, gone=False)
        with connect(outbox_database_url) as connection:
            keep_health(connection, [turn])

    yield record
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("truncate outbox.endpoint_health")


def soon() -> datetime:
    """A whole minute, soon: an attempt at an endpoint that was just made."""
    return datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)


def text(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


async def test_health_is_shown_with_each_endpoint(api: ApiClient, attempted: Attempted) -> None:
    """What was taken, what failed and since when, and when it will be disabled for it; nothing of it is secret."""
    created = await api.created()
    assert (created["health"], created["disabled_reason"]) == (NOTHING, None)
    path, at = f"/v1/endpoints/{created['id']}", soon()
    attempted(created["id"], at, None)
    ok = (await api("GET", path)).json["health"]
    assert ok == {**NOTHING, "state": "ok", "last_success_at": text(at)}
    failed_at = at + timedelta(minutes=7, seconds=5)
    attempted(created["id"], failed_at, "answered 503 Service Unavailable")
    failing = (await api("GET", path)).json["health"]
    assert failing == {
        "state": "failing",
        "failing_since": text(at + timedelta(minutes=7)),
        "last_success_at": text(at),
        "last_failure_at": text(failed_at),
        "last_error": "answered 503 Service Unavailable",
        "disables_at": text(at + timedelta(minutes=7, hours=120)),
    }
    assert (await api("GET", "/v1/endpoints")).json["items"][0]["health"] == failing


async def test_never_is_never(outbox_database_url: str, attempted: Attempted) -> None:
    """With 0 hours nothing disables it, and nothing says so."""
    async with running_api(outbox_database_url, endpoint_disable_after_hours=0) as api:
        created = await api.created()
        attempted(created["id"], soon(), "answered 500")
        health = (await api("GET", f"/v1/endpoints/{created['id']}")).json["health"]
        assert (health["state"], health["disables_at"]) == ("failing", None)
        await api("DELETE", f"/v1/endpoints/{created['id']}")


async def test_why_it_is_disabled_is_told_until_it_is_enabled(
    api: ApiClient, attempted: Attempted, outbox_database_url: str
) -> None:
    """By whichever door; and who disables it by hand gives no reason."""
    created = await api.created()
    path = f"/v1/endpoints/{created['id']}"
    for method, where, body in (("POST", f"{path}/enable", None), ("PATCH", path, {"enabled": True})):
        attempted(created["id"], datetime.now(UTC) + timedelta(minutes=5), "answered 410 Gone")
        assert (await api("POST", f"{path}/disable")).json["disabled_reason"] is None
        with connect(outbox_database_url) as connection:
            EndpointHealthTable(connection).note_disabled(created["id"], reason="gone", at=datetime.now(UTC))
            assert EndpointHealthTable(connection).disabled_lately(within=timedelta(hours=1)) == 1
        shown = (await api("GET", path)).json
        assert (shown["enabled"], shown["disabled_reason"]) == (False, "gone")
        assert shown["health"]["disables_at"] is None
        shown = (await api(method, where, body)).json
        assert (shown["enabled"], shown["disabled_reason"], shown["health"]["failing_since"]) == (
            True,
            None,
            None,
        )
        with connect(outbox_database_url) as connection:
            assert EndpointHealthTable(connection).disabled_lately(within=timedelta(hours=1)) == 0


async def test_a_page_asks_for_the_health_of_all_at_once(
    api: ApiClient, attempted: Attempted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many statements for thirty endpoints as for one."""
    counts: list[int] = []
    execute = psycopg.Cursor.execute

    def counting(self: Any, *arguments: Any, **options: Any) -> Any:
        counts[-1] += 1
        return execute(self, *arguments, **options)

    ids = [(await api.created())["id"] for _ in range(30)]
    for endpoint_id in ids:
        attempted(endpoint_id, soon(), "answered 500")
    monkeypatch.setattr(psycopg.Cursor, "execute", counting)
    for limit in (1, 30):
        counts.append(0)
        items = (await api("GET", f"/v1/endpoints?limit={limit}")).json["items"]
        assert {item["health"]["state"] for item in items} == {"failing"}
    assert counts[0] == counts[1] > 0
