"""From a request to the API to the signed POST: through Postgres, Debezium and Kafka, with what is secret sealed."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any

import psycopg

from connectors.kafka.compacted import CompactedReader
from connectors.postgres.endpoints import EndpointStore
from connectors.webhook.key_ring import EncryptionKey, KeyRing
from connectors.webhook.secret import Secret
from streams import topics
from streams.api.access import new_token
from tests.support.child import Child
from tests.support.eventually import eventually
from tests.support.figures import note
from tests.support.mailbox import Mailbox, assert_signed
from tests.support.marks import SECRET_MARK, URL_MARK, marked_secret
from tests.support.pipeline import Pipeline
from tests.support.received import Received
from tests.support.topics import TopicTail

K1 = EncryptionKey("k1", b"1" * 32)
K2 = EncryptionKey("k2", b"2" * 32)
TOKEN, ENTRY = new_token("tests", "write")


class Api:
    """The API as a process of its own."""

    def __init__(self, pipeline: Pipeline, **settings: Any) -> None:
        database_url = pipeline.installation.database_url
        self.child: Child = pipeline.start(
            "api", database_url=database_url, api_listen="127.0.0.1:0", api_tokens=ENTRY, **settings
        )
        self._base = f"http://127.0.0.1:{self.child.wait_for('api_started')['port']}"

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(  # noqa: S310 - our own address
            self._base + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own address
            text = answer.read()
        return json.loads(text) if text else None


def received_test_event(pipeline: Pipeline, api: Api, path: str, *, signatures: int) -> Received:
    """Send test events until one arrives with so many signatures: the worker has heard of the last change."""

    def arrived() -> Received | None:
        event_id = api("POST", f"/v1/endpoints/{path.rpartition('/')[2]}/test")["event_id"]
        pipeline.attempts.wait_until(
            lambda log: (
                bool(log.of(event_id))
                or any(letter.event_id == event_id for letter in pipeline.dead_letters.to_the_end())
            ),
            what="end of a test event",
        )
        found = [
            one
            for one in pipeline.installation.receiver.requests_to(path)
            if one.headers["webhook-id"] == event_id
        ]
        return next(
            (one for one in found if len(one.headers["webhook-signature"].split()) == signatures), None
        )

    return eventually(arrived, what=f"a test event with {signatures} signatures")


def test_what_is_done_with_the_api_is_what_the_receiver_gets(pipeline: Pipeline) -> None:
    """Create, rotate, end the overlap, delete: the POST carries what was asked for, verified by another's library.

    A test event goes to its endpoint and to nobody else. Kafka holds no secret and no header's value.
    """
    api = Api(pipeline, encryption_keys=K1.reveal())
    pipeline.worker(encryption_keys=K1.reveal())
    endpoint_id = "ep_of_the_api"
    path = f"/in/{endpoint_id}"
    everything = pipeline.mailbox(event_type="endpoint")
    created = api(
        "POST",
        "/v1/endpoints",
        {
            "id": endpoint_id,
            "url": f"{pipeline.installation.receiver.url(path)}?token={URL_MARK}",
            "event_types": ["nothing.of.this"],
            "headers": {"X-Api-Key": f"key-{SECRET_MARK}"},
            "secret": marked_secret(3001).reveal(),
        },
    )
    assert created["secret"] is None
    request = received_test_event(pipeline, api, path, signatures=1)
    assert_signed(request, marked_secret(3001))
    assert request.headers["x-api-key"] == f"key-{SECRET_MARK}"
    assert json.loads(request.body)["endpoint_id"] == endpoint_id

    new = Secret.parse(api("POST", f"/v1/endpoints/{endpoint_id}/secret/rotate")["secret"])
    request = received_test_event(pipeline, api, path, signatures=2)
    assert_signed(request, new)
    assert_signed(request, marked_secret(3001))

    newest = Secret.parse(
        api("POST", f"/v1/endpoints/{endpoint_id}/secret/rotate", {"overlap_s": 0})["secret"]
    )
    assert_signed(received_test_event(pipeline, api, path, signatures=1), newest)

    assert not [one for one in everything.received if one.headers["webhook-event-type"] == "endpoint.test"]
    records = TopicTail(pipeline.kafka, topics.ENDPOINTS, from_beginning=True).to_the_end()
    told = [(one.value or b"").decode() for one in records if one.key == endpoint_id.encode()]
    assert len(told) >= 3
    assert "sealed:v1:k1:" in told[-1]
    for hidden in (SECRET_MARK, "whsec_", newest.reveal().removeprefix("whsec_")):
        assert hidden not in "".join(told)
    api("DELETE", f"/v1/endpoints/{endpoint_id}")
    assert api.child.stop() == 0
    assert URL_MARK not in api.child.text
    assert SECRET_MARK not in api.child.text


def test_every_change_reaches_whoever_reads_as_a_worker_does(pipeline: Pipeline) -> None:
    """In the order in which they were made; how soon is a figure, and no assertion."""
    api = Api(pipeline)
    told: list[tuple[bytes, float]] = []
    reader = CompactedReader(
        pipeline.kafka,
        topic=topics.ENDPOINTS,
        client_id="tests-endpoints",
        apply=lambda _key, value: told.append((value or b"", time.monotonic())),
    )
    reader.load()
    told.clear()
    endpoint_id = api("POST", "/v1/endpoints", {"url": "https://receiver.example/", "event_types": ["a"]})[
        "id"
    ]
    waits_ms = []
    for number in range(100):
        api("PATCH", f"/v1/endpoints/{endpoint_id}", {"description": f"change {number}"})
        done_s = time.monotonic()
        while len(told) < number + 2:
            reader.follow(timeout_s=10.0)
        waits_ms.append(max(0.0, told[-1][1] - done_s) * 1000)
    reader.close()
    api("DELETE", f"/v1/endpoints/{endpoint_id}")
    changes = [json.loads(value)["description"] for value, _ in told[1:]]
    assert changes == [f"change {number}" for number in range(100)]
    waits_ms.sort()
    note(
        f"a change by the API is on outbox.endpoints after {waits_ms[50]:.0f} ms (p50), {waits_ms[98]:.0f} ms (p99)"
    )


def sealed_mailbox(pipeline: Pipeline, key: EncryptionKey, *, like: Mailbox) -> Mailbox:
    """An endpoint that wants the same events as another, and whose secret is sealed with a key."""
    mailbox = pipeline.mailbox(event_type=like.event_type)
    with psycopg.connect(pipeline.installation.database_url) as connection:
        EndpointStore(connection, keys=KeyRing([key])).reseal(mailbox.id)
    return mailbox


def test_a_worker_without_a_key_says_which_and_delivers_to_the_others(pipeline: Pipeline) -> None:
    """The locked endpoint's delivery waits without costing an attempt, and arrives once the worker has the key."""
    plain = pipeline.mailbox()
    locked = sealed_mailbox(pipeline, K1, like=plain)
    scheduler = pipeline.scheduler()
    worker = pipeline.worker(encryption_keys=K2.reveal())
    pipeline.wait_until_known(plain)
    assert scheduler.is_running
    line = worker.wait_for("endpoints_locked")
    assert (line["missing_key"], line["count"], line["endpoints"]) == ("k1", 1, [locked.id])
    event_id = str(pipeline.append(plain.event_type))
    plain.wait_for_events([event_id])
    pipeline.attempts.wait_for(event_id, "deferred", target=locked.id)
    [turn, *_] = pipeline.attempts.of(event_id, locked.id)
    assert "the key k1, which OUTBOX_ENCRYPTION_KEYS lacks" in turn["error"]
    assert locked.of(event_id) == []
    assert worker.stop() == 0
    pipeline.worker(encryption_keys=f"{K2.reveal()},{K1.reveal()}")
    locked.wait_for_events([event_id])
    [request] = locked.of(event_id)
    assert_signed(request, locked.endpoint.secrets[0])
    pipeline.attempts.wait_until(lambda log: not log.parked([event_id]), what="end of both deliveries")
    assert pipeline.attempts.of(event_id, locked.id)[-1]["attempt"] == 1
