"""Recovering an endpoint since a time: what it should have got and has not, once each, and nothing else."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from streams import topics
from tests.integration.replay.test_resend import delete_events
from tests.support.answers import respond
from tests.support.api_process import ApiProcess
from tests.support.eventually import eventually
from tests.support.group import wait_until_settled
from tests.support.mailbox import Mailbox
from tests.support.pipeline import Pipeline
from tests.support.replaying import created_at, traffic
from tests.support.topics import TopicTail


def ago(**length: float) -> str:
    return (datetime.now(UTC) - timedelta(**length)).isoformat()


def wait_for_all(mailbox: Mailbox, ids: list[UUID]) -> None:
    mailbox.wait_for_events(ids, timeout_s=60)


def test_a_disabled_endpoint_gets_what_came_meanwhile(running: Pipeline, api: ApiProcess) -> None:
    """CASES 16. Enabled again, it gets each event that it missed once, during live traffic, and nothing twice.

    What it had got before is not sent again, nor what it gets live; another endpoint of the same types hears nothing
    of it; of what it failed to take for good, it gets what it hasn't got.
    """
    mailbox = running.mailbox()
    other = running.mailbox(event_type=mailbox.event_type)
    running.wait_until_known(mailbox)
    running.wait_until_known(other)
    since = ago(seconds=0)
    before = running.append_many(f"{mailbox.event_type}.before", 20)
    wait_for_all(mailbox, before)
    mailbox.answer_with(respond(400))
    refused = running.append_many(f"{mailbox.event_type}.refused", 3)
    wait_for_all(mailbox, refused)
    mailbox.answer_with(respond(204))
    with traffic(running, f"{mailbox.event_type}.live") as live:
        running.change(mailbox, enabled=False)
        eventually(lambda: misses_an_event(running, mailbox, other), what="the end of what it is sent")
        missed = running.append_many(f"{mailbox.event_type}.missed", 60)
        wait_for_all(other, missed)
        running.change(mailbox, enabled=True)
        # At once: what the worker doesn't know yet must be neither lost nor sent twice.
        replay = api.recover(mailbox.id, since=since, rate_per_s=1_000)
        done = api.wait_for(replay["id"])
        running.wait_until_known(mailbox)
    wait_for_all(mailbox, [*before, *missed, *live])
    wait_for_all(other, [*before, *missed, *live])
    eventually(
        lambda: [len(mailbox.of(event_id)) for event_id in refused] == [2, 2, 2] or None,
        what="what it had refused",
    )
    assert done["warning"] is None
    assert done["sent"] + done["skipped"] == done["events_read"] == done["events_to_read"]
    assert done["sent"] >= len(missed)
    ends = running.attempts.to_the_end()
    assert mailbox.repeated() == dict.fromkeys(map(str, refused), 2)
    assert other.repeated() == {}
    assert [one for one in other.received if "webhook-replay" in one.headers] == []
    replayed = {one.headers["webhook-id"] for one in mailbox.received if "webhook-replay" in one.headers}
    assert set(map(str, missed)) <= replayed
    assert replayed.isdisjoint(map(str, before))
    assert {one.headers.get("webhook-replay") for one in mailbox.received} == {None, replay["id"]}
    assert all(ends.of(event_id, mailbox.id)[-1]["outcome"] == "succeeded" for event_id in missed)

    again = api.wait_for(api.recover(mailbox.id, since=since)["id"])
    assert (again["sent"], again["skipped"]) == (0, again["events_to_read"])


def misses_an_event(running: Pipeline, mailbox: Mailbox, other: Mailbox) -> bool:
    """Whether an event of now goes to the other endpoint alone: the worker has heard that one is disabled."""
    tail = TopicTail(running.kafka, topics.EVENTS)
    event_id = running.append(f"{mailbox.event_type}.asked")
    other.wait_for_events([event_id])
    wait_until_settled(running.kafka, tail.wait_for_events([event_id]))
    tail.close()
    tried = running.attempts.to_the_end().of(str(event_id), mailbox.id)
    return not tried and not mailbox.of(event_id)


def test_a_new_endpoint_gets_the_history_of_its_types(running: Pipeline, api: ApiProcess) -> None:
    """Events from before it existed, of the types that it wants, in [since, until), each once."""
    old = running.mailbox()
    running.wait_until_known(old)
    early = running.append_many(f"{old.event_type}.early", 10)
    wait_for_all(old, early)
    since = created_at(running, early[-1])
    history = running.append_many(f"{old.event_type}.history", 25)
    unwanted = running.append_many("unwanted.of.this", 5)
    wait_for_all(old, history)
    until = created_at(running, running.append(f"{old.event_type}.late"))
    new = running.mailbox(event_type=old.event_type)
    replay = api.wait_for(
        api.recover(new.id, since=after(since), until=until.isoformat(), rate_per_s=500)["id"]
    )
    wait_for_all(new, history)
    assert replay["sent"] == len(history)
    assert sorted(new.ids) == sorted(map(str, history))
    assert set(old.ids).isdisjoint(map(str, unwanted))
    assert old.repeated() == {}


def after(moment: datetime) -> str:
    """The next microsecond: `since` is inclusive."""
    return (moment + timedelta(microseconds=1)).isoformat()


def test_a_stop_ends_it(running: Pipeline, api: ApiProcess) -> None:
    """Nothing more is sent then; what was sent is counted, and is what arrived. Stopped again, it stays as it is."""
    old = running.mailbox()
    running.wait_until_known(old)
    since = ago(seconds=0)
    history = running.append_many(f"{old.event_type}.history", 50)
    wait_for_all(old, history)
    new = running.mailbox(event_type=old.event_type)
    replay = api.recover(new.id, since=since, rate_per_s=5)
    new.wait_for(4)
    stopped = api.ask("POST", f"/v1/replays/{replay['id']}/stop")
    assert (stopped.status, stopped.body["status"]) == (200, "stopped")
    api.child.wait_until(
        lambda: any(
            line.get("event") == "replay_ended" and line.get("replay_id") == replay["id"]
            for line in api.child._lines
        ),
        what="end of the replay",
    )
    ended = api.replay(replay["id"])
    assert ended["status"] == "stopped"
    assert ended["ended_at"] == stopped.body["ended_at"]
    redelivered = TopicTail(running.kafka, topics.REDELIVERY, from_beginning=True).to_the_end()
    sent = [one.event_id for one in redelivered if one.headers.get("outbox-replay-id") == replay["id"]]
    assert 4 <= len(sent) == ended["sent"] < 20
    wait_for_all(new, [UUID(event_id) for event_id in sent])
    assert Counter(new.ids) == Counter(sent)
    assert api.ask("POST", f"/v1/replays/{replay['id']}/stop").body == ended


def test_an_empty_range_is_done_at_once(running: Pipeline, api: ApiProcess) -> None:
    """Nothing in it, nothing sent. A range in the future, or from its end to its begin, is refused with the field."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    now = datetime.now(UTC)
    since, until = (now - timedelta(seconds=seconds) for seconds in (3601, 3600))
    done = api.wait_for(api.recover(mailbox.id, since=since.isoformat(), until=until.isoformat())["id"])
    assert (done["sent"], done["skipped"]) == (0, done["events_to_read"])
    for fields, pointer in (
        ({"since": ago(hours=-1)}, "#/since"),
        ({"since": since.isoformat(), "until": since.isoformat()}, "#/until"),
        ({}, "#/since"),
        ({"since": since.isoformat(), "rate_per_s": 0}, "#/rate_per_s"),
        ({"since": "2026-11-30"}, "#/since"),
    ):
        said = api.ask("POST", f"/v1/endpoints/{mailbox.id}/recover", fields, key="empty-range")
        assert (said.status, said.kind) == (422, "body-invalid")
        assert said.body["errors"][0]["pointer"] == pointer


def test_what_can_not_be_recovered_is_refused(running: Pipeline, api: ApiProcess) -> None:
    """An endpoint that is disabled or isn't there; one that is disabled meanwhile ends its recovery with the reason."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    since = ago(seconds=0)
    history = running.append_many(f"{mailbox.event_type}.history", 30)
    wait_for_all(mailbox, history)
    new = running.mailbox(event_type=mailbox.event_type)
    replay = api.recover(new.id, since=since, rate_per_s=5)
    new.wait_for(2)
    running.change(new, enabled=False)
    failed = api.wait_for(replay["id"], "failed")
    assert "is disabled" in failed["error"]
    said = api.ask("POST", f"/v1/endpoints/{new.id}/recover", {"since": since}, key="disabled")
    assert (said.status, said.kind) == (409, "conflict")
    running.change(new, enabled=True)
    said = api.ask("POST", "/v1/endpoints/ep_not_there/recover", {"since": since}, key="not-there")
    assert (said.status, said.kind) == (404, "not-found")


@pytest.mark.cuts_history
def test_it_says_when_it_reaches_beyond_what_is_kept(running: Pipeline, api: ApiProcess) -> None:
    """Events that Kafka has deleted, and days that the log has dropped, can't be sent: the warning names both."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    delete_events(running)
    kept = running.append_many(f"{mailbox.event_type}.kept", 5)
    wait_for_all(mailbox, kept)
    new = running.mailbox(event_type=mailbox.event_type)
    done = api.wait_for(api.recover(new.id, since="1970-01-01T00:00:00Z", rate_per_s=500)["id"])
    wait_for_all(new, kept)
    assert sorted(new.ids) == sorted(map(str, kept))
    assert "OUTBOX_LOG_RETENTION_DAYS" in done["warning"]
    assert "OUTBOX_RETENTION_HOURS" in done["warning"]
