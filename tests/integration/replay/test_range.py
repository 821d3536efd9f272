"""A range that is sent again: what was selected, to who was named, once for each replay; and nothing else moves."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from streams import topics
from tests.support.api_process import ApiProcess
from tests.support.eventually import eventually
from tests.support.kafka_tool import KafkaTool
from tests.support.mailbox import Mailbox, assert_signed
from tests.support.pipeline import Pipeline
from tests.support.replaying import created_at, traffic
from tests.support.topics import TopicTail, topic_ends

MOMENT = timedelta(microseconds=1)


def target(mailbox: Mailbox) -> str:
    return f"endpoint:{mailbox.id}"


def two_of_a_type(running: Pipeline) -> tuple[Mailbox, Mailbox]:
    first = running.mailbox()
    second = running.mailbox(event_type=first.event_type)
    for mailbox in (first, second):
        running.wait_until_known(mailbox)
    return first, second


def span(running: Pipeline, history: list[UUID]) -> tuple[str, str]:
    """The range that has exactly these events, which were committed one after the other."""
    first, last = (created_at(running, event_id) for event_id in (history[0], history[-1]))
    return first.isoformat(), (last + MOMENT).isoformat()


def replays_of(mailbox: Mailbox, event_id: UUID) -> list[str | None]:
    return [one.headers.get("webhook-replay") for one in mailbox.of(event_id)]


def test_a_range_during_live_traffic_is_sent_once_more_and_nothing_else(
    running: Pipeline, api: ApiProcess
) -> None:
    """Two of three endpoints are named: each gets each event of the types and the time once more, the same bytes.

    The third hears nothing of it. What other types have, what was committed before or after, and what comes live, each
    gets once. The log counts the replay's attempts.
    """
    first, second = two_of_a_type(running)
    third = running.mailbox(event_type=first.event_type)
    running.wait_until_known(third)
    before = running.append_many(f"{first.event_type}.wanted", 5)
    wanted = running.append_many(f"{first.event_type}.wanted", 60)
    unwanted = running.append_many(f"{first.event_type}.unwanted", 10)
    begin, end = span(running, [wanted[0], unwanted[-1]])
    after = running.append_many(f"{first.event_type}.wanted", 5)
    mailboxes = (first, second, third)
    for mailbox in mailboxes:
        mailbox.wait_for_events([*before, *wanted, *unwanted, *after])
    with traffic(running, f"{first.event_type}.wanted") as live:
        types = [f"{first.event_type}.wanted"]
        asked = api.send_range(begin, end, target(first), target(second), types=types)
        done = api.wait_for(asked["id"])
    for mailbox in mailboxes:
        mailbox.wait_for_events(live)
    for mailbox in (first, second):
        eventually(
            lambda mailbox=mailbox: all(len(mailbox.of(one)) == 2 for one in wanted),  # type: ignore[misc]
            what=f"the range at {mailbox.id}",
        )
        assert mailbox.repeated() == dict.fromkeys(map(str, wanted), 2)
        for event_id in wanted:
            assert replays_of(mailbox, event_id) == [None, asked["id"]]
            assert len({one.body for one in mailbox.of(event_id)}) == 1
            assert_signed(mailbox.of(event_id)[-1], mailbox.endpoint.secrets[0])
    assert third.repeated() == {}
    assert (done["sent"], done["target"], done["warning"]) == (120, None, None)
    assert done["sent"] + done["skipped"] == 2 * done["events_read"] == 2 * done["events_to_read"]
    assert done["range"] == asked["range"]
    assert asked["range"]["targets"] == [target(first), target(second)]
    log = api.delivery(wanted[0], endpoint_id=second.id)
    eventually(
        lambda: api.delivery(wanted[0], endpoint_id=second.id)["replay_id"] == asked["id"],
        what="the replay in the log",
    )
    assert log["attempts"] == 1
    audit = api.ask("GET", f"/v1/audit?endpoint_id={second.id}").body["items"]
    assert [(one["action"], one["actor"]) for one in audit if "range" in one["action"]] == [
        ("range.requested", done["requested_by"])
    ]


def test_the_live_groups_offsets_stay_where_they_are(
    running: Pipeline, api: ApiProcess, tmp_path: Path
) -> None:
    """By Kafka's own tool: what the workers have committed of outbox.events is the same before and after."""
    mailbox, _ = two_of_a_type(running)
    history = running.append_many(f"{mailbox.event_type}.history", 30)
    mailbox.wait_for_events(history)
    tool = KafkaTool(running.kafka, tmp_path)
    ends = topic_ends(running.kafka, topics.EVENTS)
    used = {number: end for number, end in ends.items() if end}

    def settled() -> bool:
        return dict(tool.offsets(topics.WORKER_GROUP, topics.EVENTS)) == used

    eventually(settled, what="the commit of all events")
    members = tool.member_ids(topics.WORKER_GROUP)
    tail = TopicTail(running.kafka, topics.REDELIVERY)
    asked = api.send_range(*span(running, history), target(mailbox))
    assert api.wait_for(asked["id"])["sent"] == 30
    eventually(lambda: all(len(mailbox.of(one)) == 2 for one in history), what="the range")
    assert dict(tool.offsets(topics.WORKER_GROUP, topics.EVENTS)) == used
    assert topic_ends(running.kafka, topics.EVENTS) == ends
    assert tool.member_ids(topics.WORKER_GROUP) == members
    assert Counter(one.event_id for one in tail.to_the_end()) == Counter(map(str, history))


def test_ids_and_aggregates_choose(running: Pipeline, api: ApiProcess) -> None:
    """What is given must hold, and of a list any one will do; an endpoint gets nothing that it doesn't want."""
    mailbox, other = two_of_a_type(running)
    stranger = running.mailbox()
    history = running.append_many(
        f"{mailbox.event_type}.kept", 8, key=lambda index: f"{mailbox.id}/{index % 4}"
    )
    mailbox.wait_for_events(history)
    begin, end = span(running, history)
    about = [f"order/{mailbox.id}/{number}" for number in (1, 2)]
    ids = [str(event_id) for event_id in history[:6]]
    asked = api.send_range(begin, end, target(mailbox), target(stranger), aggregates=about, ids=ids)
    done = api.wait_for(asked["id"])
    chosen = [history[1], history[2], history[5]]
    eventually(lambda: all(len(mailbox.of(one)) == 2 for one in chosen), what="what was chosen")
    assert done["sent"] == 3
    assert mailbox.repeated() == dict.fromkeys(map(str, chosen), 2)
    assert (other.repeated(), list(stranger.received)) == ({}, [])


def test_each_key_sends_once_and_each_new_key_again(running: Pipeline, api: ApiProcess) -> None:
    """CASES 15. The same key gives the same replay; with another request it is refused; a new one sends again."""
    mailbox, _ = two_of_a_type(running)
    (event_id,) = history = running.append_many(f"{mailbox.event_type}.sold", 1)
    mailbox.wait_for_events(history)
    begin, end = span(running, history)
    asked = [
        api.send_range(begin, end, target(mailbox), key=f"{key} of {event_id}".replace(" ", "-"))
        for key in "abab"
    ]
    for one in asked:
        api.wait_for(one["id"])
    assert [one["id"] == asked[0]["id"] for one in asked] == [True, False, True, False]
    eventually(lambda: len(mailbox.of(event_id)) == 3, what="two replays")
    first, *replayed = replays_of(mailbox, event_id)
    assert (first, set(replayed)) == (None, {one["id"] for one in asked})  # two threads send them
    body = {"from": begin, "to": end, "targets": [target(mailbox)], "types": ["other.*"]}
    reused = api.ask("POST", "/v1/replays", body, key=f"a-of-{event_id}")
    assert (reused.status, reused.kind) == (422, "idempotency-key-reused")


def test_an_empty_range_is_done_and_what_makes_no_sense_is_refused(
    running: Pipeline, api: ApiProcess
) -> None:
    """Nothing in it, nothing sent. Each refusal names its field; a range into the future says that it ends earlier."""
    mailbox, _ = two_of_a_type(running)
    now = datetime.now(UTC)
    earlier, later = (now - timedelta(seconds=seconds) for seconds in (3601, 3600))
    done = api.wait_for(api.send_range(earlier.isoformat(), later.isoformat(), target(mailbox))["id"])
    assert (done["sent"], done["skipped"]) == (0, done["events_to_read"])
    ahead = api.wait_for(
        api.send_range(now.isoformat(), (now + timedelta(days=1)).isoformat(), target(mailbox))["id"]
    )
    assert ahead["sent"] == 0
    assert "in the future" in ahead["warning"]
    good = {"from": earlier.isoformat(), "to": later.isoformat(), "targets": [target(mailbox)]}
    for fields, pointer in (
        ({"from": (now + timedelta(hours=1)).isoformat(), "to": "2999-01-01T00:00:00Z"}, "#/from"),
        ({"to": earlier.isoformat()}, "#/to"),
        ({"targets": []}, "#/targets"),
        ({"targets": ["handler:billing"]}, "#/types"),
        ({"targets": ["somebody"]}, "#/targets/0"),
        ({"types": ["*.created"]}, "#/types/0"),
        ({"aggregates": ["order"]}, "#/aggregates/0"),
        ({"ids": ["7"]}, "#/ids/0"),
        ({"source": "s3"}, "#/source"),
        ({"rate_per_s": 0}, "#/rate_per_s"),
        ({"everything": True}, "#/everything"),
    ):
        said = api.ask("POST", "/v1/replays", {**good, **fields}, key=str(uuid4()))
        assert (said.status, said.kind) == (422, "body-invalid"), fields
        assert said.body["errors"][0]["pointer"] == pointer
    for endpoint_id, word in (("ep_not_there", "no endpoint"), (mailbox.id, "disabled")):
        running.change(mailbox, enabled=False)
        body = {**good, "targets": [f"endpoint:{endpoint_id}"]}
        said = api.ask("POST", "/v1/replays", body, key=str(uuid4()))
        assert (said.status, said.kind) == (409, "conflict")
        assert word in said.body["detail"]
