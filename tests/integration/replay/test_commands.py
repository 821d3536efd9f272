"""The commands, as an operator calls them: without an API, and beside one."""

from __future__ import annotations

import json
import signal
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from streams import topics
from tests.support.child import Child
from tests.support.eventually import eventually
from tests.support.pipeline import Pipeline
from tests.support.replaying import a_new_endpoint
from tests.support.topics import TopicTail


def run(running: Pipeline, *arguments: str, code: int = 0) -> Child:
    """Run a command to its end."""
    child = start(running, *arguments)
    assert child.wait_for_end() == code, child.text
    return child


def start(running: Pipeline, *arguments: str) -> Child:
    return running.start(*arguments, database_url=running.installation.database_url)


def answer(child: Child) -> Any:
    return json.loads(child.text)


def test_the_command_recovers_an_endpoint_is_broken_off_and_goes_on(running: Pipeline) -> None:
    """No API runs: it executes itself. After Ctrl-C, `replay resume` sends the rest; in all, each event once."""
    since, history, new = a_new_endpoint(running, after=40)
    tail = TopicTail(running.kafka, topics.REDELIVERY)
    recovering = start(running, "endpoints", "recover", new.id, "--since", since, "--rate", "10")
    tail.wait_until(lambda records: len(records) >= 15, what="15 events")
    recovering.signal(signal.SIGINT)
    assert recovering.wait_for_end() == 130
    (left, *_) = answer(run(running, "replay", "list", "--json"))["replays"]
    assert (left["target"], left["status"]) == (f"endpoint:{new.id}", "running")
    assert f"outbox replay resume {left['id']}" in recovering.text

    said = run(running, "replay", "resume", left["id"]).text
    assert said.splitlines()[-1].startswith(f"done: {len(history)} sent")
    new.wait_for_events(history)
    assert sorted(new.ids) == sorted(map(str, history))
    sent = [one for one in tail.to_the_end() if one.headers.get("outbox-replay-id") == left["id"]]
    assert Counter(one.event_id for one in sent) == Counter(map(str, history))
    shown = answer(run(running, "replay", "show", left["id"], "--json"))
    assert (shown["status"], shown["sent"], shown["requested_by"]) == (
        "done",
        len(history),
        left["requested_by"],
    )
    assert left["requested_by"].startswith("cli:")


def test_the_command_resends_once_for_each_key(running: Pipeline) -> None:
    """A repeated key sends nothing more. Refusals are one clear text, and code 1."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    event_id = running.append(f"{mailbox.event_type}.sold")
    mailbox.wait_for_events([event_id])

    def listed() -> Any:
        listing = run(running, "deliveries", "list", "--event", str(event_id), "--json")
        return answer(listing)["deliveries"] or None

    (delivery,) = eventually(listed, what="the delivery in the log")
    first = answer(run(running, "deliveries", "resend", delivery["id"], "--key", "once", "--json"))
    again = answer(run(running, "deliveries", "resend", delivery["id"], "--key", "once", "--json"))
    assert (first["id"], first["status"], first["sent"]) == (again["id"], "done", 1)
    eventually(lambda: len(mailbox.of(event_id)) == 2, what="the resend")
    running.change(mailbox, enabled=False)
    refused = run(running, "deliveries", "resend", delivery["id"], code=1)
    assert "is disabled" in refused.text
    assert "Traceback" not in refused.text
    assert len(mailbox.of(event_id)) == 2


def test_a_detached_request_waits_for_an_api_and_may_be_stopped(running: Pipeline) -> None:
    """It is only asked for. Stopped before anybody took it, it sends nothing."""
    mailbox = running.mailbox()
    since = datetime.now(UTC).isoformat()
    asked = answer(run(running, "endpoints", "recover", mailbox.id, "--since", since, "--detach", "--json"))
    assert (asked["status"], asked["sent"], asked["events_to_read"]) == ("waiting", 0, None)
    stopped = answer(run(running, "replay", "stop", asked["id"], "--json"))
    assert stopped["status"] == "stopped"
    assert answer(run(running, "replay", "stop", asked["id"], "--json")) == stopped
    assert "There is no replay" in run(running, "replay", "show", "nothing", code=1).text
    assert (
        "future"
        in run(running, "endpoints", "recover", mailbox.id, "--since", "2999-01-01T00:00:00Z", code=2).text
    )
