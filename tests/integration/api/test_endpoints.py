"""The endpoints resource, over sockets and a real Postgres."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import psycopg
import pytest

from connectors.postgres.endpoints import EndpointStore
from connectors.webhook.endpoint import Endpoint
from tests.support.api import URL, ApiClient, an_endpoint_body, running_api

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def stored(url: str, endpoint_id: str) -> Endpoint:
    with psycopg.connect(url) as connection:
        return EndpointStore(connection).get(endpoint_id)


async def test_a_created_endpoint_is_shown_as_it_was_created(
    api: ApiClient, outbox_database_url: str
) -> None:
    """201 with where it is; every field comes back, the secret that was made once, header values never."""
    body = an_endpoint_body(
        description="Shipping \N{EURO SIGN}",
        enabled=False,
        headers={"X-Api-Key": "hunter2"},
        metadata={"tenant": "t1"},
        timeout_s=2.5,
        schedule_s=[5, 60.5],
        max_age_s=3600,
        concurrency=4,
        rate_limit_per_s=1 / 60,
        payload_filter={"total": [{"numeric": [">=", 100]}], "a": [1.0, None]},
    )
    reply = await api("POST", "/v1/endpoints", body)
    assert reply.status == 201
    created = reply.json
    secret = created.pop("secret")
    shown = await api("GET", reply.headers["Location"])
    assert (shown.status, shown.json) == (200, created)
    assert shown.headers["ETag"] == reply.headers["ETag"] == '"1"'
    assert created["header_names"] == ["x-api-key"]
    assert "hunter2" not in reply.text + shown.text
    assert secret.removeprefix("whsec_") not in shown.text
    kept = {name: created[name] for name in body if name != "headers"}
    assert kept == {
        **{name: value for name, value in body.items() if name != "headers"},
        "schedule_s": [5.0, 60.5],
    }
    endpoint = stored(outbox_database_url, created["id"])
    assert endpoint.secrets[0].reveal() == secret
    assert [(name, value.reveal()) for name, value in endpoint.headers] == [("x-api-key", "hunter2")]


async def test_a_secret_of_the_callers_is_not_repeated(api: ApiClient, outbox_database_url: str) -> None:
    """It is known to who gave it."""
    created = await api.created(secret=SECRET)
    assert created["secret"] is None
    assert stored(outbox_database_url, created["id"]).secrets[0].reveal() == SECRET


async def test_with_an_id_of_its_own_a_repeated_request_makes_no_second_endpoint(api: ApiClient) -> None:
    """A caller that got no answer may ask again: 409 says that the first one was done."""
    body = an_endpoint_body(id="ep_mine")
    assert (await api("POST", "/v1/endpoints", body)).status == 201
    again = await api("POST", "/v1/endpoints", body)
    assert (again.status, again.kind) == (409, "conflict")
    assert len((await api("GET", "/v1/endpoints")).json["items"]) == 1


async def test_pages_show_each_endpoint_once_in_the_order_of_their_age(api: ApiClient) -> None:
    """Also those that were added or removed between two pages don't shift the others."""
    ids = [(await api.created())["id"] for _ in range(7)]
    seen: list[str] = []
    path = "/v1/endpoints?limit=3"
    while True:
        page = (await api("GET", path)).json
        seen += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        if len(seen) == 3:
            assert (await api("DELETE", f"/v1/endpoints/{ids[0]}")).status == 204
        path = f"/v1/endpoints?limit=3&cursor={page['next_cursor']}"
    assert seen == ids


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "limit=1&limit=2", "cursor=x", "cursor=YQ", "a=b"]
)
async def test_a_wrong_query_names_its_parameter(api: ApiClient, query: str) -> None:
    """400, with the parameter and what it should be."""
    reply = await api("GET", f"/v1/endpoints?{query}")
    assert (reply.status, reply.kind) == (400, "query-invalid")
    assert list(reply.fields) == [query.partition("=")[0]]


async def test_a_change_leaves_what_it_does_not_name(api: ApiClient, outbox_database_url: str) -> None:
    """A merge patch (RFC 7396): given fields change, null removes, maps are merged."""
    before = await api.created(
        description="x", metadata={"a": "1", "b": "2"}, headers={"x-a": "1", "x-b": "2"}, timeout_s=1
    )
    path = f"/v1/endpoints/{before['id']}"
    reply = await api(
        "PATCH",
        path,
        raw=json.dumps(
            {
                "url": "https://other.example/",
                "metadata": {"a": None, "c": "3"},
                "headers": {"x-b": None, "X-C": "3"},
                "timeout_s": None,
                "description": None,
            }
        ).encode(),
        headers={"Content-Type": "application/merge-patch+json"},
    )
    assert reply.status == 200, reply.text
    after = reply.json
    assert (after["url"], after["metadata"]) == ("https://other.example/", {"b": "2", "c": "3"})
    assert (after["header_names"], after["timeout_s"], after["description"]) == (["x-a", "x-c"], None, "")
    same = ("id", "event_types", "enabled", "schedule_s", "max_age_s", "created_at", "secrets")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert (await api("GET", path)).json == after
    headers = stored(outbox_database_url, before["id"]).headers
    assert [(name, value.reveal()) for name, value in headers] == [("x-a", "1"), ("x-c", "3")]


async def test_an_empty_change_changes_nothing(api: ApiClient) -> None:
    """Neither the revision nor the audit table; what has the same ETag is the same to the byte."""
    created = await api.created(schedule_s=[])
    path = f"/v1/endpoints/{created['id']}"
    before = await api("GET", path)
    reply = await api("PATCH", path, {})
    assert (reply.status, reply.headers["ETag"], reply.text) == (200, '"1"', before.text)
    assert reply.json["schedule_s"] == []
    audit = (await api("GET", "/v1/audit")).json["items"]
    assert [entry["action"] for entry in audit] == ["endpoint.added"]


async def test_a_payload_filter_is_merged_like_any_object(api: ApiClient) -> None:
    """RFC 7396: fields are added and replaced, null removes one; what is left must still be a filter."""
    created = await api.created(payload_filter={"a": ["x"], "b": {"c": ["y"], "d": ["z"]}})
    path = f"/v1/endpoints/{created['id']}"
    reply = await api("PATCH", path, {"payload_filter": {"a": [1], "b": {"c": None}, "e": [True]}})
    assert reply.json["payload_filter"] == {"a": [1], "b": {"d": ["z"]}, "e": [True]}
    reply = await api("PATCH", path, {"payload_filter": {"a": {"deep": ["x"]}, "b": {"d": None}}})
    assert (reply.status, list(reply.fields)) == (422, ["#/payload_filter/b"])
    assert (await api("PATCH", path, {"payload_filter": None})).json["payload_filter"] is None


async def test_limits_are_changed_and_removed(api: ApiClient) -> None:
    """Each by itself; and null gives it back to the workers' settings."""
    created = await api.created(concurrency=3, rate_limit_per_s=5)
    path = f"/v1/endpoints/{created['id']}"
    changed = (await api("PATCH", path, {"rate_limit_per_s": 0.5})).json
    assert (changed["concurrency"], changed["rate_limit_per_s"]) == (3, 0.5)
    removed = (await api("PATCH", path, {"concurrency": None, "rate_limit_per_s": None})).json
    assert (removed["concurrency"], removed["rate_limit_per_s"]) == (None, None)
    fields = [entry["fields"] for entry in (await api("GET", "/v1/audit")).json["items"]]
    assert fields == [["concurrency", "rate_limit_per_s"], ["rate_limit_per_s"], []]


async def test_of_two_changes_at_once_of_one_revision_one_is_refused(api: ApiClient) -> None:
    """If-Match: who has not seen the other's change does not undo it. Without it, both are done."""
    created = await api.created()
    path = f"/v1/endpoints/{created['id']}"

    async def change(number: int, **headers: str) -> Any:
        return await api("PATCH", path, {"metadata": {str(number): "x"}}, headers=headers)

    conditional = await asyncio.gather(*(change(number, **{"If-Match": '"1"'}) for number in range(4)))
    assert sorted(reply.status for reply in conditional) == [200, 412, 412, 412]
    refused = next(reply for reply in conditional if reply.status == 412)
    assert (refused.kind, refused.headers["ETag"]) == ("revision-differs", '"2"')
    plain = await asyncio.gather(*(change(number) for number in range(10, 18)))
    assert {reply.status for reply in plain} == {200}
    assert len({reply.headers["ETag"] for reply in plain}) == 8
    assert len((await api("GET", path)).json["metadata"]) == 9


async def test_a_condition_is_heeded_wherever_it_is_taken(api: ApiClient) -> None:
    """On a delete and on actions, too; one that can't be read, or that nobody heeds, is refused and not passed over."""
    created = await api.created()
    path = f"/v1/endpoints/{created['id']}"
    stale = {"If-Match": '"7"'}
    for method, where in (
        ("DELETE", ""),
        ("POST", "/disable"),
        ("POST", "/enable"),
        ("POST", "/secret/rotate"),
    ):
        assert (await api(method, path + where, headers=stale)).status == 412
    for condition in ("x", '"x"', "1"):
        reply = await api("DELETE", path, headers={"If-Match": condition})
        assert (reply.status, reply.kind, list(reply.fields)) == (400, "header-invalid", ["If-Match"])
    assert (await api("GET", path, headers=stale)).status == 400
    assert (await api("DELETE", path, headers={"If-Match": 'W/"1"'})).status == 412
    assert (await api("DELETE", path, headers={"If-Match": '"1"'})).status == 204


async def test_enabling_and_disabling(api: ApiClient) -> None:
    """Either may be repeated."""
    created = await api.created()
    path = f"/v1/endpoints/{created['id']}"
    for action, enabled in (("disable", False), ("disable", False), ("enable", True), ("enable", True)):
        reply = await api("POST", f"{path}/{action}")
        assert (reply.status, reply.json["enabled"]) == (200, enabled)
    actions = [entry["action"] for entry in (await api("GET", "/v1/audit")).json["items"]]
    assert actions == ["endpoint.enabled", "endpoint.disabled", "endpoint.added"]


async def test_a_deleted_endpoint_is_not_there(api: ApiClient) -> None:
    """404 for each way to name it, and a second time."""
    path = f"/v1/endpoints/{(await api.created())['id']}"
    assert (await api("DELETE", path)).status == 204
    for method, where in (
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/enable"),
        ("POST", "/disable"),
        ("POST", "/test"),
        ("POST", "/secret/rotate"),
        ("POST", "/secret/reveal"),
    ):
        reply = await api(method, path + where)
        assert (reply.status, reply.kind) == (404, "not-found")
    assert (await api("PATCH", path, {})).status == 404
    assert (await api("GET", "/v1/endpoints/%00%ff")).status == 404


@pytest.mark.parametrize(
    ("changes", "pointer", "said"),
    [
        ({"url": "https://u:p@x.example/"}, "#/url", "may not hold a user name"),
        ({"url": 1}, "#/url", "valid string"),
        ({"url": None}, "#/url", "valid string"),
        ({"event_types": []}, "#/event_types", "at least 1"),
        ({"event_types": ["order.*.x"]}, "#/event_types/0", "no event filter"),
        ({"secret": "hunter2"}, "#/secret", "starts with whsec_"),
        ({"enabled": "true"}, "#/enabled", "valid boolean"),
        ({"headers": {"Host": "hunter2"}}, "#/headers/Host", "reserved"),
        ({"headers": {"webhook-x": "hunter2"}}, "#/headers/webhook-x", "reserved"),
        ({"headers": {"x-a": "a\r\nb: hunter2"}}, "#/headers/x-a", "printable ASCII"),
        ({"metadata": {"a": "\0hunter2"}}, "#/metadata/a", "can't be stored"),
        ({"metadata": {str(n): "" for n in range(51)}}, "#/metadata", "at most 50"),
        ({"timeout_s": 16}, "#/timeout_s", "OUTBOX_ENDPOINT_TIMEOUT_S, 15"),
        ({"timeout_s": 0}, "#/timeout_s", "greater than or equal"),
        ({"schedule_s": [86400.0] * 5}, "#/schedule_s", "add up to no more"),
        ({"max_age_s": 3600}, "#/max_age_s", "add up to no more"),
        ({"max_age_s": 8 * 86_400.0, "schedule_s": []}, "#/max_age_s", "Kafka keeps no delivery longer"),
        ({"rate_limit": 1}, "#/rate_limit", "no such field"),
        ({"concurrency": 0}, "#/concurrency", "greater than or equal"),
        ({"concurrency": 2.5}, "#/concurrency", "valid integer"),
        ({"rate_limit_per_s": 0}, "#/rate_limit_per_s", "greater than or equal"),
        ({"rate_limit_per_s": 10_001}, "#/rate_limit_per_s", "less than or equal"),
        ({"payload_filter": ["hunter2"]}, "#/payload_filter", "be an object"),
        ({"payload_filter": {}}, "#/payload_filter", "at least one field"),
        (
            {"payload_filter": {"a": {"b/c": ["x", {"hunter2": 1}]}}},
            "#/payload_filter/a/b~1c/1",
            "prefix, suffix",
        ),
        ({"payload_filter": {"x" * 99: "hunter2"}}, f"#/payload_filter/{'x' * 64}…", "list of alternatives"),
        (
            {"payload_filter": {"a": [{"numeric": ["hunter2"]}]}},
            "#/payload_filter/a/0/numeric",
            "one comparison",
        ),
    ],
)
async def test_a_field_that_breaks_a_rule_is_named(
    api: ApiClient, changes: dict[str, Any], pointer: str, said: str
) -> None:
    """422 with a JSON pointer and the rule, on a creation as on a change; nothing of the value, and nothing done."""
    reply = await api("POST", "/v1/endpoints", an_endpoint_body(**changes))
    assert (reply.status, reply.kind) == (422, "body-invalid")
    assert said in reply.fields[pointer]
    assert "hunter2" not in reply.text
    endpoint_id = (await api.created())["id"]
    if "secret" not in changes:
        change = await api("PATCH", f"/v1/endpoints/{endpoint_id}", changes)
        assert (change.status, said in change.fields[pointer]) == (422, True)
    assert len((await api("GET", "/v1/endpoints")).json["items"]) == 1


async def test_settings_that_were_lowered_stop_no_other_change(
    api: ApiClient, outbox_database_url: str
) -> None:
    """What an endpoint has of its own is checked when it is given, and not when something else is."""
    path = f"/v1/endpoints/{(await api.created(timeout_s=15))['id']}"
    async with running_api(outbox_database_url, endpoint_timeout_s=10) as strict:
        assert (await strict("PATCH", path, {"description": "x"})).status == 200
        assert (await strict("PATCH", path, {"schedule_s": None})).fields.keys() == {"#/timeout_s"}


async def test_a_change_that_would_make_too_many_is_refused(api: ApiClient) -> None:
    """The bounds hold for what is there afterwards."""
    created = await api.created(
        metadata={str(n): "" for n in range(50)}, headers={f"x-{n}": "1" for n in range(16)}
    )
    path = f"/v1/endpoints/{created['id']}"
    for changes in ({"metadata": {"more": ""}}, {"headers": {"x-more": "1"}}):
        reply = await api("PATCH", path, changes)
        assert (reply.status, list(reply.fields)) == (422, [f"#/{next(iter(changes))}"])
    assert (await api("PATCH", path, {"metadata": {"more": "", "0": None}})).status == 200


async def test_a_test_event_is_committed_for_this_endpoint_only(
    api: ApiClient, outbox_database_url: str
) -> None:
    """A row of the reserved type, whose aggregate is the endpoint; none for a disabled one."""
    created = await api.created()
    path = f"/v1/endpoints/{created['id']}"
    reply = await api("POST", f"{path}/test")
    assert reply.status == 202
    with psycopg.connect(outbox_database_url) as connection:
        rows = connection.execute(
            "select id::text, channel, type, aggregate_id from outbox.outbox"
        ).fetchall()
    assert rows == [(reply.json["event_id"], "events", "endpoint.test", created["id"])]
    assert (await api("POST", f"{path}/disable")).status == 200
    assert (await api("POST", f"{path}/test")).kind == "conflict"


async def test_every_change_is_in_the_audit_table_and_no_value_is(api: ApiClient) -> None:
    """Who, when, what, which endpoint, which fields, in which request; in pages, newest first."""
    created = await api.created(secret=SECRET, headers={"x-a": "hunter2"})
    other = await api.created()
    path = f"/v1/endpoints/{created['id']}"
    await api(
        "PATCH", path, {"url": URL + "x", "headers": {"x-a": "hunter3"}}, headers={"X-Request-Id": "r-1"}
    )
    await api("POST", f"{path}/secret/rotate")
    await api("POST", f"{path}/secret/reveal")
    await api("POST", f"{path}/test")
    await api("PATCH", path, {"url": "https://u:p@refused.example/"})
    await api("DELETE", path)
    page = await api("GET", f"/v1/audit?endpoint_id={created['id']}")
    entries = page.json["items"]
    assert [(entry["action"], entry["fields"]) for entry in reversed(entries)] == [
        ("endpoint.added", []),
        ("endpoint.changed", ["url", "headers"]),
        ("secret.rotated", ["secrets"]),
        ("secret.revealed", []),
        ("endpoint.tested", []),
        ("endpoint.removed", []),
    ]
    assert {entry["actor"] for entry in entries} == {"writer"}
    assert entries[-2]["request_id"] == "r-1"
    for hidden in ("hunter", "whsec_", "url-mark"):
        assert hidden not in page.text
    first = (await api("GET", "/v1/audit?limit=4")).json
    second = (await api("GET", f"/v1/audit?limit=4&cursor={first['next_cursor']}")).json
    together = [entry["id"] for entry in (*first["items"], *second["items"])]
    assert together == sorted(together, reverse=True)
    assert (len(together), second["next_cursor"]) == (7, None)
    assert second["items"][-2]["endpoint_id"] == other["id"]
