"""Rotating and revealing secrets, over sockets and a real Postgres."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg

from connectors.postgres.endpoints import EndpointStore
from connectors.webhook.key_ring import EncryptionKey, KeyRing
from connectors.webhook.secret import Secret
from tests.support.api import ApiClient, running_api

KEYS = KeyRing([EncryptionKey("k1", b"1" * 32)])
OTHER = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def signing_in(url: str, endpoint_id: str, after: timedelta) -> list[str]:
    with psycopg.connect(url) as connection:
        endpoint = EndpointStore(connection, keys=KEYS).get(endpoint_id)
    return [secret.reveal() for secret in endpoint.signing_secrets(datetime.now(UTC) + after)]


async def test_after_a_rotation_both_sign_until_the_overlap_ends(
    api: ApiClient, outbox_database_url: str
) -> None:
    """The new one at once and for ever, the old one for 24 hours, and nobody has to come back."""
    created = await api.created()
    path = f"/v1/endpoints/{created['id']}/secret/rotate"
    rotated = (await api("POST", path)).json
    new, old = rotated["secret"], created["secret"]
    assert rotated["secrets"][0] == {"expires_at": None}
    hour = timedelta(hours=1)
    for after, secrets in ((0 * hour, [new, old]), (23 * hour, [new, old]), (24 * hour, [new])):
        assert signing_in(outbox_database_url, created["id"], after) == secrets


async def test_an_overlap_can_be_chosen_and_never_becomes_longer(
    api: ApiClient, outbox_database_url: str
) -> None:
    """A second rotation gives an old secret no later end; an overlap of 0 ends all old ones at once."""
    created = await api.created()
    path = f"/v1/endpoints/{created['id']}/secret/rotate"
    first = (await api("POST", path, {"overlap_s": 60})).json["secret"]
    second = (await api("POST", path, {"overlap_s": 3600})).json["secret"]
    assert signing_in(outbox_database_url, created["id"], timedelta(0)) == [second, first, created["secret"]]
    assert signing_in(outbox_database_url, created["id"], timedelta(minutes=2)) == [second, first]
    third = (await api("POST", path, {"overlap_s": 0})).json
    assert third["secrets"] == [{"expires_at": None}]
    assert signing_in(outbox_database_url, created["id"], timedelta(0)) == [third["secret"]]


async def test_two_rotations_at_once_lose_no_secret(api: ApiClient, outbox_database_url: str) -> None:
    """Each caller's new secret signs, and so does the old one."""
    created = await api.created()
    path = f"/v1/endpoints/{created['id']}/secret/rotate"
    replies = await asyncio.gather(*(api("POST", path) for _ in range(3)))
    made = {reply.json["secret"] for reply in replies}
    signing = signing_in(outbox_database_url, created["id"], timedelta(0))
    assert set(signing) == made | {created["secret"]}


async def test_a_rotation_with_a_given_secret_may_be_repeated(
    api: ApiClient, outbox_database_url: str
) -> None:
    """The second request finds it done, and ends nothing."""
    created = await api.created()
    path = f"/v1/endpoints/{created['id']}/secret/rotate"
    first = await api("POST", path, {"secret": OTHER})
    again = await api("POST", path, {"secret": f"v1,{OTHER}", "overlap_s": 0})
    assert (first.json["secret"], again.json) == (None, first.json)
    assert signing_in(outbox_database_url, created["id"], timedelta(0)) == [OTHER, created["secret"]]


async def test_no_more_secrets_overlap_than_can_sign(api: ApiClient) -> None:
    """The ninth is refused with what to do; without an overlap it goes."""
    created = await api.created()
    path = f"/v1/endpoints/{created['id']}/secret/rotate"
    for _ in range(7):
        assert (await api("POST", path)).status == 200
    refused = await api("POST", path)
    assert (refused.status, refused.kind) == (409, "conflict")
    assert "without an overlap" in refused.json["detail"]
    assert (await api("POST", path, {"overlap_s": 0})).status == 200


async def test_a_reveal_shows_what_signs_now(api: ApiClient) -> None:
    """Newest first, with their ends."""
    created = await api.created()
    path = f"/v1/endpoints/{created['id']}/secret"
    new = (await api("POST", f"{path}/rotate")).json["secret"]
    revealed = (await api("POST", f"{path}/reveal")).json["secrets"]
    assert [one["secret"] for one in revealed] == [new, created["secret"]]
    assert revealed[0]["expires_at"] is None
    assert datetime.fromisoformat(revealed[1]["expires_at"]) > datetime.now(UTC)


async def test_with_keys_postgres_holds_no_secret(outbox_database_url: str) -> None:
    """Sealed in the table, and opened for who may see them; who lacks the key can still list, change, rotate."""
    async with running_api(outbox_database_url, keys=KEYS) as api:
        created = await api.created(headers={"x-a": "hunter2"})
        path = f"/v1/endpoints/{created['id']}"
        with psycopg.connect(outbox_database_url) as connection:
            row = str(
                connection.execute(
                    "select row_to_json(e) from outbox.endpoints e where id = %s", [created["id"]]
                ).fetchone()
            )
        assert "hunter2" not in row
        assert created["secret"].removeprefix("whsec_") not in row
        assert (await api("POST", f"{path}/secret/reveal")).json["secrets"][0]["secret"] == created["secret"]
    other = KeyRing([EncryptionKey("k2", b"2" * 32)])
    async with running_api(outbox_database_url, keys=other) as api:
        assert (await api("GET", path)).json["header_names"] == ["x-a"]
        assert (await api("PATCH", path, {"description": "x"})).status == 200
        assert (await api("POST", f"{path}/secret/rotate")).status == 200
        locked = await api("POST", f"{path}/secret/reveal")
        assert (locked.status, locked.kind) == (409, "conflict")
        assert "the key k1, which OUTBOX_ENCRYPTION_KEYS lacks" in locked.json["detail"]
    both = KeyRing([EncryptionKey("k2", b"2" * 32), EncryptionKey("k1", b"1" * 32)])
    with psycopg.connect(outbox_database_url) as connection:
        endpoint = EndpointStore(connection, keys=both).get(created["id"])
    assert Secret.parse(created["secret"]).same_key(endpoint.secrets[1])
    assert endpoint.headers[0][1].reveal() == "hunter2"
