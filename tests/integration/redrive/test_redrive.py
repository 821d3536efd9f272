"""A redrive: to its target alone, from the first attempt, once; and what is neither redriven nor lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from secrets import token_hex
from typing import Any
from uuid import uuid4

from connectors.postgres.dead_letter_writer import DeadLetterWriter
from streams import topics
from streams.records.target import TargetName
from tests.support.answers import respond
from tests.support.api_process import ApiProcess, Said
from tests.support.buried import bury, letters_where, sent_by, slow_redrive
from tests.support.dead_letters import a_row, letter_record
from tests.support.deliveries import a_delivery, an_event
from tests.support.eventually import eventually
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail, produce


def ask(api: ApiProcess, *letters: str, key: str | None = None, **fields: Any) -> Said:
    body = {"ids": letters, **fields}
    return api.ask("POST", "/v1/dead-letters/redrive", body, key=key or str(uuid4()))


def redrive(api: ApiProcess, *letters: str, **fields: Any) -> Any:
    said = ask(api, *letters, **fields)
    assert said.status == 202, said
    return api.wait_for(said.body["id"], "done", "failed")


def letter_of(running: Pipeline, event_id: object, target: str | None) -> Any:
    """The one dead letter of an event, when the recorder has it."""

    def found() -> Any:
        rows = letters_where(running, "event_id = %s and target is not distinct from %s", event_id, target)
        assert len(rows) < 2
        return rows or None

    return eventually(found, what=f"the dead letter of {event_id}")[0]


def test_it_goes_to_its_target_alone_and_is_delivered(running: Pipeline, api: ApiProcess) -> None:
    """The one of two endpoints that had refused it gets it, with the same webhook-id and a fresh budget; once."""
    fixed = running.mailbox(respond(404))
    other = running.mailbox(event_type=fixed.event_type)
    running.wait_until_known(other)
    event_id = running.append(f"{fixed.event_type}.refused")
    letter = letter_of(running, event_id, f"endpoint:{fixed.id}")
    fixed.answer_with(respond(204))
    tail = TopicTail(running.kafka, topics.REDELIVERY)
    done = redrive(api, str(letter["id"]))
    assert (done["kind"], done["status"], done["sent"], done["skipped"]) == ("redrive", "done", 1, 0)
    eventually(lambda: len(fixed.of(event_id)) == 2, what="the second request")
    (sent,) = [one for one in tail.to_the_end() if one.event_id == str(event_id)]
    assert sent.headers["outbox-target"] == f"endpoint:{fixed.id}"
    assert sent.headers["outbox-attempt"] == "1"
    assert sent.headers["outbox-deferrals"] == "0"
    assert sent.headers["outbox-origin"] == letter["origin"]
    assert sent.headers["outbox-replay-id"] == done["id"]
    assert not {"outbox-error", "outbox-error-code", "outbox-first-failed-at"} & sent.headers.keys()
    delivery = api.delivery(event_id, endpoint_id=fixed.id)
    assert (delivery["attempts"], delivery["replay_id"]) == (1, done["id"])
    assert len(other.of(event_id)) == 1
    (row,) = letters_where(running, "id = %s", letter["id"])
    assert (row["status"], row["replay_id"], row["changed_by"]) == ("redriven", done["id"], "tests")
    actions = [entry["action"] for entry in api.ask("GET", "/v1/audit?limit=5").body["items"]]
    assert "redrive.requested" in actions


def test_an_event_that_nobody_wanted_goes_to_who_wants_it_now(running: Pipeline, api: ApiProcess) -> None:
    """It has no target: an endpoint that is added afterwards gets it, and its delivery is in the log."""
    event_type = f"test.{token_hex(5)}"
    event_id = running.append(event_type)
    letter = letter_of(running, event_id, None)
    assert (letter["code"], letter["class"]) == ("HANDLER_NOT_REGISTERED", "undelivered")
    mailbox = running.mailbox(event_type=event_type)
    running.wait_until_known(mailbox)
    done = redrive(api, str(letter["id"]))
    mailbox.wait_for_events([event_id])
    delivery = api.delivery(event_id, endpoint_id=mailbox.id)
    assert (delivery["origin"], delivery["replay_id"]) == (letter["origin"], done["id"])
    assert len(mailbox.of(event_id)) == 1


def test_what_dies_again_is_a_new_dead_letter(running: Pipeline, api: ApiProcess) -> None:
    """The first stays redriven; the second says in which replay it died, and can be redriven in its turn."""
    mailbox = running.mailbox(respond(404))
    running.wait_until_known(mailbox)
    event_id = running.append(f"{mailbox.event_type}.refused")
    target = f"endpoint:{mailbox.id}"
    first = letter_of(running, event_id, target)
    done = redrive(api, str(first["id"]))
    rows = eventually(
        lambda: rows if len(rows := letters_where(running, "event_id = %s", event_id)) == 2 else None,
        what="the second dead letter",
    )
    assert [(row["status"], row["died_in_replay_id"]) for row in rows] == [
        ("redriven", None),
        ("open", done["id"]),
    ]
    assert rows[1]["origin"] == first["origin"]
    mailbox.answer_with(respond(204))
    again = redrive(api, str(rows[1]["id"]))
    assert again["id"] > done["id"]
    assert api.delivery(event_id, endpoint_id=mailbox.id)["replay_id"] == again["id"]


def test_of_many_at_once_one_redrives(running: Pipeline, api: ApiProcess) -> None:
    """Eight requests for the same letters, at once and with keys of their own: each letter is delivered once."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    buried = bury(running, mailbox, 40)
    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(lambda _: ask(api, *buried.letters), range(8)))
    assert sorted(one.status for one in said) == [202] + [409] * 7
    assert {one.kind for one in said if one.status == 409} == {"conflict"}
    (accepted,) = (one for one in said if one.status == 202)
    assert api.wait_for(accepted.body["id"])["sent"] == 40
    mailbox.wait_for_events(buried.events)
    assert mailbox.repeated() == {}


def test_a_request_that_is_repeated_with_its_key_is_one_redrive(running: Pipeline, api: ApiProcess) -> None:
    """The same replay is answered; the key for other letters is refused."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    buried = bury(running, mailbox, 3)
    first, again = (ask(api, *buried.letters[:2], key="k1") for _ in range(2))
    assert (first.status, again.status, again.body["id"]) == (202, 202, first.body["id"])
    other = ask(api, buried.letters[2], key="k1")
    assert (other.status, other.kind) == (422, "idempotency-key-reused")
    assert api.wait_for(first.body["id"])["sent"] == 2
    assert [row["status"] for row in letters_where(running, "target = %s", f"endpoint:{mailbox.id}")].count(
        "open"
    ) == 1


def test_what_is_discarded_is_not_redriven(running: Pipeline, api: ApiProcess) -> None:
    """409 for it alone; beside another it is left out, and nothing of it is sent."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    buried = bury(running, mailbox, 2)
    said = api.ask("POST", "/v1/dead-letters/discard", {"ids": [buried.letters[0]]})
    assert (said.status, said.body) == (200, {"discarded": 1})
    assert ask(api, buried.letters[0]).status == 409
    done = redrive(api, *buried.letters)
    assert (done["sent"], done["events_to_read"]) == (1, 1)
    mailbox.wait_for_events([buried.events[1]])
    assert mailbox.ids.count(str(buried.events[0])) == 0


def test_what_is_gone_from_kafka_stays_open(running: Pipeline, api: ApiProcess) -> None:
    """It can't be sent: the replay says so, the others are sent, and nobody takes another record for it."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    buried = bury(running, mailbox, 2)
    there = letters_where(running, "target = %s", f"endpoint:{mailbox.id}")[0]
    gone = a_row(10**9, target="endpoint:ep_gone", place_partition=0)
    # At the place of a record that is there, of another event: the topic was made anew since.
    anew = a_row(there["place_offset"], place_partition=there["place_partition"], target="endpoint:ep_anew")
    writer = DeadLetterWriter(running.installation.database_url)
    writer.write([gone, anew])
    writer.close()
    done = redrive(api, gone.id, anew.id, *buried.letters)
    assert (done["status"], done["sent"], done["skipped"]) == ("done", 2, 2)
    assert "2 of 4 are no longer on Kafka" in done["warning"]
    mailbox.wait_for_events(buried.events)
    assert {row["status"] for row in letters_where(running, "id = any(%s::uuid[])", [gone.id, anew.id])} == {
        "open"
    }
    asked = ask(api, gone.id, key="gone")
    failed = api.wait_for(asked.body["id"], "done", "failed")
    assert (failed["status"], failed["sent"]) == ("failed", 0)
    assert "append their events again" in failed["error"]
    # The same request again is the same replay, which has ended: no letter may be given to it.
    assert ask(api, gone.id, key="gone").body["id"] == failed["id"]
    assert letters_where(running, "id = %s::uuid", gone.id)[0]["status"] == "open"


def test_poison_is_redriven_by_choice_and_only_if_it_can_be_read(running: Pipeline, api: ApiProcess) -> None:
    """409 where it isn't said; what this version can't read either is not sent, so that it doesn't die again."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    event = an_event(id=uuid4(), type=mailbox.event_type)
    delivery = a_delivery(event=event, target=TargetName("endpoint", mailbox.id))
    readable = letter_record(delivery, code="EVENT_MALFORMED")
    mark = f"mark-{token_hex(5)}"
    garbled = letter_record(delivery, code="EVENT_MALFORMED", error=mark)
    garbled.headers[:] = [(name, raw) for name, raw in garbled.headers if name != "created-at"]
    produce(running.kafka, [readable, garbled])
    first = eventually(
        lambda: letters_where(running, "event_id = %s and error <> %s", event.id, mark) or None,
        what="the readable one",
    )[0]
    second = eventually(lambda: letters_where(running, "error = %s", mark) or None, what="the garbled one")[0]
    refused = ask(api, str(first["id"]))
    assert (refused.status, refused.kind) == (409, "conflict")
    assert "class poison" in refused.body["detail"]
    done = redrive(api, str(first["id"]), str(second["id"]), include_poison=True)
    assert (done["sent"], done["skipped"]) == (1, 1)
    mailbox.wait_for_events([event.id])
    assert letters_where(running, "id = %s", second["id"])[0]["status"] == "open"


def test_a_stopped_redrive_opens_the_rest_again(running: Pipeline, api: ApiProcess) -> None:
    """What it sent stays redriven, what it did not is open, and redriving that sends each event once in all."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    buried = bury(running, mailbox, 60)
    tail = TopicTail(running.kafka, topics.REDELIVERY)
    replay = slow_redrive(running, buried.letters, rate_per_s=20)
    eventually(lambda: len(sent_by(tail, replay)) >= 10, what="the first ten")
    assert api.ask("POST", f"/v1/replays/{replay}/stop").body["status"] == "stopped"

    def opened() -> list[Any] | None:
        rows = letters_where(running, "target = %s and status = 'open'", f"endpoint:{mailbox.id}")
        return rows if rows and len(rows) + len(sent_by(tail, replay)) == 60 else None

    left = eventually(opened, what="the letters that were not sent, open again")
    sent = sent_by(tail, replay)
    assert {str(row["event_id"]) for row in left}.isdisjoint(sent)
    rest = redrive(api, *(str(row["id"]) for row in left))
    mailbox.wait_for_events(buried.events)
    assert sorted(sent_by(tail, replay, rest["id"])) == sorted(map(str, buried.events))
    assert mailbox.repeated() == {}
