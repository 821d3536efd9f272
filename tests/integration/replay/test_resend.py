"""Resending one delivery, from the request to the receiver and the delivery log."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from streams import topics
from tests.support.answers import respond
from tests.support.api_process import ApiProcess
from tests.support.eventually import eventually
from tests.support.mailbox import Mailbox, assert_signed
from tests.support.pipeline import Pipeline
from tests.support.topics import topic_ends


def delivered(running: Pipeline, mailbox: Mailbox) -> UUID:
    event_id = running.append(f"{mailbox.event_type}.sold")
    mailbox.wait_for_events([event_id])
    return event_id


def test_each_key_sends_once_and_each_new_key_again(running: Pipeline, api: ApiProcess) -> None:
    """CASES 15. A delivery that has succeeded is sent once more for each new key, and not for one that was used.

    The same webhook id and bytes, signed; the receiver sees which replay it is; the log counts the replay's attempts,
    and lists those before.
    """
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    event_id = delivered(running, mailbox)
    delivery = api.delivery(event_id, endpoint_id=mailbox.id)
    probes = len(mailbox.received)
    replays, used = [], set[str]()
    for key in ("first", "second", "first", "second", "third"):
        replays.append(api.resend(delivery["id"], key=f"{key}-of-{event_id}"))
        used.add(key)
        done = api.wait_for(replays[-1]["id"])
        assert (done["sent"], done["skipped"], done["events_to_read"]) == (1, 0, 1)
        mailbox.wait_for(probes + len(used), timeout_s=20)
    ids = [one["id"] for one in replays]
    assert ids[0] == ids[2]
    assert ids[1] == ids[3]
    assert ids[0] < ids[1] < ids[4]
    last = eventually(
        lambda: (
            found
            if (found := api.delivery(event_id, endpoint_id=mailbox.id))["replay_id"] == ids[4]
            else None
        ),
        what="the last replay in the log",
    )
    assert (last["id"], last["attempts"]) == (delivery["id"], 1)
    requests = mailbox.of(event_id)
    assert [one.headers.get("webhook-replay") for one in requests] == [None, ids[0], ids[1], ids[4]]
    assert len({one.body for one in requests}) == 1
    for request in requests:
        assert_signed(request, mailbox.endpoint.secrets[0])
    turns = api.ask("GET", f"/v1/deliveries/{delivery['id']}").body["attempts_made"]
    assert [turn["replay_id"] for turn in turns] == [None, ids[0], ids[1], ids[4]]
    assert {turn["attempt"] for turn in turns} == {1}


def test_many_at_once_with_one_key_are_one(running: Pipeline, api: ApiProcess) -> None:
    """Eight requests at the same time: one replay, one audit entry, one more request at the receiver."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    event_id = delivered(running, mailbox)
    delivery = api.delivery(event_id, endpoint_id=mailbox.id)
    key = str(uuid4())
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: api.resend(delivery["id"], key=key), range(8)))
    assert len({one["id"] for one in answers}) == 1
    api.wait_for(answers[0]["id"])
    later = api.resend(delivery["id"])
    eventually(
        lambda: any(one.headers.get("webhook-replay") == later["id"] for one in mailbox.of(event_id)),
        what="a later resend",
    )
    assert len(mailbox.of(event_id)) == 3
    audit = api.ask("GET", f"/v1/audit?endpoint_id={mailbox.id}").body["items"]
    assert [entry["action"] for entry in audit].count("resend.requested") == 2


def test_a_failed_delivery_succeeds_by_its_resend(running: Pipeline, api: ApiProcess) -> None:
    """A dead letter's delivery: its status in the log is the replay's."""
    mailbox = running.mailbox(respond(400))
    running.wait_until_known(mailbox)
    event_id = delivered(running, mailbox)
    failed = api.delivery(event_id, endpoint_id=mailbox.id, status="failed")
    mailbox.answer_with(respond(204))
    replay = api.resend(failed["id"])
    succeeded = api.delivery(event_id, endpoint_id=mailbox.id)
    assert (succeeded["replay_id"], succeeded["error_code"]) == (replay["id"], None)


@pytest.mark.cuts_history
def test_what_can_not_be_resent_is_refused(running: Pipeline, api: ApiProcess) -> None:
    """No key, a used key, no such delivery, a disabled or removed endpoint, a deleted event: each by its name."""
    mailbox, other = running.mailbox(), running.mailbox()
    running.wait_until_known(mailbox)
    running.wait_until_known(other)
    delivery = api.delivery(delivered(running, mailbox), endpoint_id=mailbox.id)
    another = api.delivery(delivered(running, other), endpoint_id=other.id)
    path = f"/v1/deliveries/{delivery['id']}/resend"
    missing = api.ask("POST", path)
    assert (missing.status, missing.kind) == (400, "header-invalid")
    assert missing.body["errors"][0]["header"] == "Idempotency-Key"
    key = str(uuid4())
    made = api.resend(delivery["id"], key=key)
    reused = api.ask("POST", f"/v1/deliveries/{another['id']}/resend", key=key)
    assert (reused.status, reused.kind) == (422, "idempotency-key-reused")
    unknown = api.ask("POST", f"/v1/deliveries/{uuid4()}/resend", key=str(uuid4()))
    assert (unknown.status, unknown.kind) == (404, "not-found")

    running.change(mailbox, enabled=False)
    refused = api.ask("POST", path, key=str(uuid4()))
    assert (refused.status, refused.kind) == (409, "conflict")
    assert "disabled" in refused.body["detail"]
    assert api.resend(delivery["id"], key=key)["id"] == made["id"]
    running.remove(other)
    removed = api.ask("POST", f"/v1/deliveries/{another['id']}/resend", key=str(uuid4()))
    assert (removed.status, removed.kind) == (409, "conflict")
    assert "removed" in removed.body["detail"]

    running.change(mailbox, enabled=True)
    delete_events(running)
    gone = api.ask("POST", path, key=str(uuid4()))
    assert (gone.status, gone.kind) == (409, "event-gone")
    assert api.resend(delivery["id"], key=key)["id"] == made["id"]


def test_without_kafka_the_api_serves_and_says_so(running: Pipeline, api: ApiProcess) -> None:
    """503 with what to do: where Kafka is away, and where the API was not told where it is. All else goes on."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    delivery = api.delivery(delivered(running, mailbox), endpoint_id=mailbox.id)
    for servers, kind, said in (
        ("", "kafka-not-set", "OUTBOX_KAFKA_BOOTSTRAP_SERVERS"),
        ("127.0.0.1:1", "unavailable", "Kafka gives no answer"),
    ):
        alone = ApiProcess(running, kafka_bootstrap_servers=servers)
        answer = alone.ask("POST", f"/v1/deliveries/{delivery['id']}/resend", key=str(uuid4()))
        assert (answer.status, answer.kind) == (503, kind)
        assert said in answer.body["detail"]
        assert alone.ask("GET", f"/v1/endpoints/{mailbox.id}").status == 200
        assert alone.child.stop() == 0


def delete_events(running: Pipeline) -> None:
    """Have Kafka delete all events that there are, as it does when their time is over."""
    ends = topic_ends(running.kafka, topics.EVENTS)
    admin = AdminClient({"bootstrap.servers": running.kafka, "log_level": 4})
    wanted = [TopicPartition(topics.EVENTS, number, end) for number, end in ends.items()]
    for future in admin.delete_records(wanted).values():
        future.result(15.0)
