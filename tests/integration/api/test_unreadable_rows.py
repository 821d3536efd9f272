"""A row that today's rules refuse, over HTTP: it is told, repaired and deleted, and ends nothing else."""

from __future__ import annotations

import psycopg
import pytest

from tests.support.api import ApiClient


@pytest.fixture
async def bad_id(api: ApiClient, outbox_database_url: str) -> str:
    """The id of an endpoint, the second of three, whose URL an older version took."""
    await api.created()
    endpoint_id = str((await api.created())["id"])
    await api.created()
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute(
            "update outbox.endpoints set url = 'https://[::1]beside/' where id = %s", [endpoint_id]
        )
    return endpoint_id


async def test_lists_go_on_and_name_it(api: ApiClient, bad_id: str) -> None:
    """Page by page, the others are all there; it is named once, without what is stored of it."""
    shown, unreadable, cursor = [], [], ""
    while True:
        page = (await api("GET", f"/v1/endpoints?limit=1{cursor}")).json
        shown += page["items"]
        unreadable += page["unreadable"]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert len(shown) == 2
    assert [one["id"] for one in unreadable] == [bad_id]
    assert "url" in unreadable[0]["detail"]
    assert "::1" not in unreadable[0]["detail"]


async def test_what_needs_to_read_it_is_a_conflict_and_says_what_to_do(api: ApiClient, bad_id: str) -> None:
    """It is not the fault of the body that was sent, nor a defect."""
    path = f"/v1/endpoints/{bad_id}"
    for method, where, body in (
        ("GET", path, None),
        ("PATCH", path, {"description": "x"}),
        ("POST", f"{path}/disable", None),
        ("POST", f"{path}/test", None),
        ("POST", f"{path}/secret/rotate", None),
        ("POST", f"{path}/secret/reveal", None),
    ):
        reply = await api(method, where, body)
        assert (reply.status, reply.kind) == (409, "conflict")
        assert "remove the endpoint" in reply.json["detail"]


async def test_it_is_repaired_by_changing_what_is_wrong(api: ApiClient, bad_id: str) -> None:
    """With the revision that it has; the change is in the audit table like any."""
    path = f"/v1/endpoints/{bad_id}"
    reply = await api("PATCH", path, {"url": "https://good.example/"}, headers={"If-Match": '"7"'})
    assert (reply.status, reply.kind) == (412, "revision-differs")
    reply = await api("PATCH", path, {"url": "https://good.example/"}, headers={"If-Match": '"1"'})
    assert (reply.status, reply.json["url"], reply.headers["ETag"]) == (200, "https://good.example/", '"2"')
    [newest, *_] = (await api("GET", f"/v1/audit?endpoint_id={bad_id}")).json["items"]
    assert (newest["action"], newest["fields"]) == ("endpoint.changed", ["url"])


async def test_it_is_deleted(api: ApiClient, bad_id: str) -> None:
    """With a condition or without one."""
    path = f"/v1/endpoints/{bad_id}"
    assert (await api("DELETE", path, headers={"If-Match": '"7"'})).status == 412
    assert (await api("DELETE", path, headers={"If-Match": '"1"'})).status == 204
    assert (await api("GET", path)).status == 404
    assert (await api("GET", "/v1/endpoints")).json["unreadable"] == []
