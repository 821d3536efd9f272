"""The processes as an operator meets them: how they start, how they stop, what they say when they can't."""

from __future__ import annotations

import json
import signal
import urllib.request
from collections.abc import Iterator, Mapping

import pytest

from tests.support.answers import respond
from tests.support.by_event import attempt_by_attempt
from tests.support.child import Child
from tests.support.gate import Gate
from tests.support.group import wait_until_settled
from tests.support.installation import Installation
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail


def test_a_stop_lets_attempts_end(pipeline: Pipeline) -> None:
    """INV-8: what is in flight is answered, recorded and committed; the next worker repeats nothing of it."""
    events = TopicTail(pipeline.kafka, "outbox.events")
    gate = Gate()
    mailbox = pipeline.mailbox(gate.before(respond(204)))
    worker = pipeline.worker()
    ids = pipeline.append_many(mailbox.event_type, 20)
    mailbox.wait_for_events(ids)
    worker.signal(signal.SIGTERM)
    worker.wait_for("worker_stopping")
    gate.open()
    assert worker.wait_for_end() == 0
    wait_until_settled(pipeline.kafka, events.wait_for_events(ids))
    pipeline.attempts.to_the_end()
    assert [pipeline.attempts.outcomes(event_id) for event_id in ids] == [["succeeded"]] * 20
    assert mailbox.repeated() == {}


def test_a_stop_parks_what_hangs(pipeline: Pipeline) -> None:
    """INV-8, INV-3: beyond the drain limit an attempt is interrupted, on record, and tried again when it is due."""
    gate = Gate()
    held = pipeline.mailbox(gate.before(respond(204)))
    scheduler = pipeline.scheduler()
    settings = {
        "handlers": "tests.support.scripted_handlers",
        "endpoint_connect_timeout_s": 1.9,
        "endpoint_first_byte_timeout_s": 1.9,
        "endpoint_timeout_s": 1.9,
        "drain_limit_s": 2,
        "rebalance_drain_limit_s": 1,
    }
    worker = pipeline.worker(**settings)
    handled = pipeline.append("handled.slowly", payload={"url": held.endpoint.url})
    held.wait_for(1)
    assert worker.stop() == 0
    [interrupted] = pipeline.attempts.wait_for(handled, "interrupted")
    assert (interrupted["attempt"], interrupted["next"]) == (1, "outbox.retry-1s")
    gate.open()
    pipeline.worker(**settings)
    again = pipeline.attempts.wait_for(handled, "interrupted", "succeeded")[1]
    assert again["attempt"] == 2
    assert again["started_at_ms"] >= interrupted["next_attempt_at_ms"]
    assert scheduler.stop() == 0


def test_a_stop_while_it_starts_is_a_stop(pipeline: Pipeline) -> None:
    """A deployment that changes its mind, or Ctrl-C in a terminal: it ends with 0 before it has begun to work."""
    worker = pipeline.start("worker")
    worker.wait_for("endpoints_loaded")
    worker.signal(signal.SIGINT)
    assert worker.wait_for_end() == 0


def test_a_worker_waits_for_its_kafka_and_says_where(pipeline: Pipeline) -> None:
    """A broker that is away ends no worker: it names the address, waits, and is stopped like any other."""
    worker = pipeline.start("worker", kafka_bootstrap_servers="127.0.0.1:9")
    assert worker.wait_for("waiting_for_kafka")["servers"] == "127.0.0.1:9"
    assert worker.is_running
    assert worker.stop() == 0
    assert "Traceback" not in worker.text


def test_a_worker_that_can_not_go_on_ends(pipeline: Pipeline) -> None:
    """CASES 25, 32: it doesn't live on and consume nothing. It says so, and ends with 1, to be started again."""
    worker = pipeline.start("worker", handlers="tests.support.crashing_consumer")
    worker.wait_for("worker_started")
    assert worker.wait_for_end() == 1
    assert "Faust stopped by itself" in worker.text


def test_run_starts_and_stops_both(pipeline: Pipeline) -> None:
    """`outbox run`: one command delivers and retries, and its SIGTERM is a clean stop of both processes."""
    mailbox = pipeline.mailbox(attempt_by_attempt(respond(500), respond(204)))
    both = pipeline.start("run", "--handlers", "tests.support.scripted_handlers", endpoint_schedule="1s")
    both.wait_for("worker_started")
    both.wait_for("lanes_assigned")
    event_id = pipeline.append(mailbox.event_type)
    pipeline.attempts.wait_for(event_id, "failed", "succeeded")
    pipeline.attempts.wait_for(pipeline.append("handled.well"), "succeeded", target="in-a-thread")
    assert both.stop() == 0
    assert both.of("worker_stopped")
    assert both.of("scheduler_stopped")


def test_run_records_and_serves_the_api_where_there_is_a_database(pipeline: Pipeline) -> None:
    """With OUTBOX_DATABASE_URL recorder and API are two of them, and stop with them; a test event arrives."""
    mailbox = pipeline.mailbox()
    database_url = pipeline.installation.database_url
    all_of_them = pipeline.start("run", database_url=database_url, api_listen="127.0.0.1:0")
    port = all_of_them.wait_for("api_started")["port"]
    all_of_them.wait_for("worker_started")
    all_of_them.wait_for("recorder_assigned")
    all_of_them.wait_for("lanes_assigned")
    pipeline.wait_until_known(mailbox)
    address = f"http://127.0.0.1:{port}/v1/endpoints/{mailbox.id}/test"
    with urllib.request.urlopen(urllib.request.Request(address, method="POST")) as answer:
        event_id = json.load(answer)["event_id"]
    mailbox.wait_for_events([event_id])
    assert all_of_them.stop() == 0
    assert all_of_them.of("recorder_stopped")
    assert all_of_them.of("api_stopped")


def test_run_ends_when_one_process_does(pipeline: Pipeline) -> None:
    """A half of it alone would look like a running system: the other is stopped, and the exit code is not 0."""
    both = pipeline.start("run")
    both.wait_for("worker_started")
    both.wait_for("lanes_assigned")
    [scheduler] = [child for child in both.children() if "scheduler" in child.cmdline()]
    scheduler.kill()
    assert both.wait_for_end() == 1
    assert "scheduler ended with code -9" in both.text
    assert both.of("worker_stopped")


def test_a_second_signal_ends_at_once(pipeline: Pipeline) -> None:
    """Whoever can't wait for the drain doesn't have to. It is a crash then: others make the attempt again (INV-8)."""
    gate = Gate()
    mailbox = pipeline.mailbox(gate.before(respond(204)))
    worker = pipeline.worker()
    pipeline.append(mailbox.event_type)
    mailbox.wait_for(1)
    worker.signal(signal.SIGTERM)
    worker.wait_for("worker_stopping")
    worker.signal(signal.SIGTERM)
    assert worker.wait_for_end() == 128 + signal.SIGTERM
    gate.open()


UNABLE: dict[str, tuple[str, dict[str, str]]] = {
    "no.such.module": ("worker", {"handlers": "no.such.module"}),
    "OUTBOX_WINDOW": ("worker", {"window": "many", "tiers": "2s,1s"}),
    "OUTBOX_TIERS": ("scheduler", {"window": "many", "tiers": "2s,1s"}),
    "OUTBOX_KAFKA_BOOTSTRAP_SERVERS": ("scheduler", {"kafka_bootstrap_servers": ""}),
}


@pytest.fixture(scope="module")
def unable(installation: Installation) -> Iterator[Mapping[str, Child]]:
    """All of them started at once."""
    with Pipeline(installation, name="unable") as pipeline:
        yield {said: pipeline.start(command, **settings) for said, (command, settings) in UNABLE.items()}


@pytest.mark.parametrize("said", UNABLE)
def test_what_can_not_start_says_why(unable: Mapping[str, Child], said: str) -> None:
    """One clear text that names what is wrong, exit code 1, no traceback."""
    child = unable[said]
    assert child.wait_for_end() == 1
    assert said in child.text
    assert "Traceback" not in child.text
