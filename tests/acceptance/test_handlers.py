"""A committed row becomes a call of each handler registered for its type, whatever handlers do."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from uuid import UUID

import pytest

from tests.support.answers import respond
from tests.support.child import Child
from tests.support.gate import Gate
from tests.support.pipeline import Pipeline
from tests.support.topics import Record

BADLY = [
    "exits",
    "exits-in-a-thread",
    "interrupts",
    "cancels",
    "cancels-itself",
    "stops-its-loop",
    "leaves-an-exit-behind",
    "hangs",
    "hangs-in-a-thread",
    "blocks",
    "declines-to-end",
]


def dead_letter(running: Pipeline, event_id: object) -> Record:
    letters = running.dead_letters.wait_until(
        lambda letters: str(event_id) in {letter.event_id for letter in letters}, what="dead letter"
    )
    return next(letter for letter in letters if letter.event_id == str(event_id))


def test_every_handler_of_a_type_is_called(running: Pipeline) -> None:
    """A coroutine and a plain function on one type: each has its own delivery."""
    event_id = running.append("handled.well")
    running.attempts.wait_for(event_id, "succeeded", target="handler:in-a-thread")
    running.attempts.wait_for(event_id, "succeeded", target="takes_it")


def test_a_handler_is_called_until_it_succeeds(running: Pipeline, scheduler: Child) -> None:
    """Attempts 1, 2 and 3 stand on record, each under an id of its own."""
    assert scheduler.is_running
    event_id = running.append("handled.third-time")
    turns = running.attempts.wait_for(event_id, "failed", "failed", "succeeded")
    assert [turn["attempt"] for turn in turns] == [1, 2, 3]
    assert len({turn["attempt_id"] for turn in turns}) == 3
    # INV-3, where no receiver tells the time.
    assert all(later["started_at_ms"] >= earlier["next_attempt_at_ms"] for earlier, later in pairwise(turns))


def test_attempts_of_a_handler_end(running: Pipeline, scheduler: Child) -> None:
    """As many attempts as are configured, then a dead letter with the code for it."""
    assert scheduler.is_running
    event_id = running.append("handled.never")
    running.attempts.wait_for(event_id, "failed", "failed", "failed")
    letter = dead_letter(running, event_id)
    assert letter.headers["outbox-error-code"] == "HANDLER_TEMPORARY_FAILURE"
    assert letter.headers["outbox-attempt"] == "3"
    assert letter.headers["outbox-target"] == "handler:never"


def test_a_permanent_error_ends_at_once(running: Pipeline) -> None:
    """One attempt, and a dead letter with the handler's own words."""
    event_id = running.append("handled.refused")
    running.attempts.wait_for(event_id, "rejected")
    letter = dead_letter(running, event_id)
    assert letter.headers["outbox-error-code"] == "HANDLER_PERMANENT_FAILURE"
    assert "no such order" in letter.headers["outbox-error"]


def test_a_handler_may_ask_for_time(running: Pipeline, scheduler: Child) -> None:
    """`TemporaryError(retry_after=2)` is a wait of at least that, although the backoff is shorter."""
    assert scheduler.is_running
    event_id = running.append("handled.later")
    first, second = running.attempts.wait_for(event_id, "failed", "succeeded")
    assert second["started_at_ms"] - first["started_at_ms"] >= 2_000


def test_no_handler_is_a_dead_letter(running: Pipeline) -> None:
    """Terminal, with the bytes of the event, so that it can be replayed once there is a handler."""
    event_id = running.append("handled.by-nobody", payload='{"a": 1}')
    letter = dead_letter(running, event_id)
    assert letter.headers["outbox-error-code"] == "HANDLER_NOT_REGISTERED"
    assert letter.value == b'{"a": 1}'


@pytest.fixture(scope="module")
def bad_and_good(running: Pipeline, scheduler: Child) -> Mapping[str, tuple[UUID, UUID]]:
    """For each handler that behaves badly an event of its own, and one after it for those that behave well."""
    assert scheduler.is_running
    return {name: (running.append(f"handled.badly.{name}"), running.append("handled.well")) for name in BADLY}


@pytest.mark.parametrize("handler", BADLY)
def test_no_handler_stops_the_agent(
    running: Pipeline, bad_and_good: Mapping[str, tuple[UUID, UUID]], handler: str
) -> None:
    """A handler that raises what ends programs, hangs, or blocks its loop has failed, and no more than that.

    All its attempts are made and recorded, and its delivery ends as a dead letter. The event that was
    appended after its own is handled, by a coroutine on the same loop and in a thread.
    """
    bad, good = bad_and_good[handler]
    running.attempts.wait_for(good, "succeeded", "succeeded")
    running.attempts.wait_for(bad, "failed", "failed", "failed")
    assert dead_letter(running, bad).headers["outbox-error-code"] == "HANDLER_TEMPORARY_FAILURE"


def test_a_held_handler_delays_no_other(running: Pipeline, scheduler: Child) -> None:
    """INV-6: while one handler waits for an answer, another handles all its events, of the same aggregate too."""
    assert scheduler.is_running
    gate = Gate()
    slow = running.mailbox(gate.before(respond(204)))
    try:
        held = running.append("handled.slowly", payload={"url": slow.endpoint.url}, key="order-1")
        slow.wait_for(1)
        ids = running.append_many("handled.well", 300, key=lambda index: f"order-{index % 3}")
        running.attempts.wait_until(
            lambda log: all(len(log.of(event_id)) == 2 for event_id in ids), what="end of the others"
        )
        assert not running.attempts.to_the_end().of(held), "it was held all the time"
    finally:
        gate.open()
    running.attempts.wait_for(held, "succeeded")
