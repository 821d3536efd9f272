"""A row that today's rules refuse, over HTTP: it is told, repaired and deleted, and ends nothing else."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql

from tests.support.api import ApiClient

BAD_URL = "https://[::1]beside/"


@pytest.fixture
async def bad_id(api: ApiClient, outbox_database_url: str) -> str:
    """The id of an endpoint, the second of three, whose URL an older version took."""
    await api.created()
    endpoint_id = str((await api.created())["id"])
    await api.created()
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("update outbox.endpoints set url = %s where id = %s", [BAD_URL, endpoint_id])
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


async def test_a_payload_filter_that_is_refused_is_repaired_by_another(
    api: ApiClient, outbox_database_url: str
) -> None:
    """It counts as none, so the new one is what the PATCH gives; by itself, or with all else that is wrong."""
    bad_filter = '{"a": [{"wildcard": "x*"}], "b": ["y"]}'
    patches: list[tuple[dict[str, str], dict[str, str]]] = [
        ({}, {}),
        ({"url": BAD_URL}, {"url": "https://good.example/"}),
    ]
    for also_bad, patch in patches:
        path = f"/v1/endpoints/{(await api.created())['id']}"
        stored_anyhow(outbox_database_url, path, payload_filter=bad_filter, **also_bad)
        assert (await api("PATCH", path, {"description": "x"})).status == 409
        wrong = await api("PATCH", path, {"payload_filter": {"a": [{"wildcard": "y*"}]}, **patch})
        assert (wrong.status, wrong.json["errors"][0]["pointer"]) == (422, "#/payload_filter/a/0")
        reply = await api("PATCH", path, {"payload_filter": {"a": ["x"]}, **patch})
        assert (reply.status, reply.json["payload_filter"], reply.headers["ETag"]) == (
            200,
            {"a": ["x"]},
            '"2"',
        )
        assert (await api("GET", path)).json == reply.json
        [newest, *_] = (await api("GET", f"/v1/audit?endpoint_id={reply.json['id']}")).json["items"]
        assert newest["fields"] == [*patch, "payload_filter"]


async def test_a_payload_filter_that_can_be_read_stays_while_something_else_is_repaired(
    api: ApiClient, outbox_database_url: str
) -> None:
    """The patch's is merged into it, as ever."""
    path = f"/v1/endpoints/{(await api.created())['id']}"
    stored_anyhow(outbox_database_url, path, payload_filter='{"a": ["x"]}', url=BAD_URL)
    reply = await api("PATCH", path, {"url": "https://good.example/", "payload_filter": {"b": ["y"]}})
    assert (reply.status, reply.json["payload_filter"]) == (200, {"a": ["x"], "b": ["y"]})


async def test_it_is_deleted(api: ApiClient, bad_id: str) -> None:
    """With a condition or without one."""
    path = f"/v1/endpoints/{bad_id}"
    assert (await api("DELETE", path, headers={"If-Match": '"7"'})).status == 412
    assert (await api("DELETE", path, headers={"If-Match": '"1"'})).status == 204
    assert (await api("GET", path)).status == 404
    assert (await api("GET", "/v1/endpoints")).json["unreadable"] == []


def stored_anyhow(database_url: str, path: str, **columns: str) -> None:
    """Write columns as they are given, refused or not."""
    with psycopg.connect(database_url) as connection:
        for name, value in columns.items():
            connection.execute(
                sql.SQL("update outbox.endpoints set {} = {} where id = {}").format(
                    sql.Identifier(name), value, path.rpartition("/")[2]
                )
            )
