"""Endpoints change in Postgres, and the workers hear of it through the outbox itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.answers import respond
from tests.support.by_event import attempt_by_attempt
from tests.support.child import Child
from tests.support.mailbox import Mailbox, assert_signed
from tests.support.marks import marked_secret
from tests.support.pipeline import Pipeline


@contextmanager
def frozen(scheduler: Child) -> Iterator[None]:
    """Nothing leaves the delay tiers meanwhile."""
    scheduler.freeze()
    try:
        yield
    finally:
        scheduler.thaw()


def parked_event(running: Pipeline, mailbox: Mailbox) -> str:
    event_id = str(running.append(f"{mailbox.event_type}.created"))
    running.attempts.wait_for(event_id, "failed")
    return event_id


def test_a_retry_uses_the_endpoint_as_it_is_now(running: Pipeline, scheduler: Child) -> None:
    """URL and secret were changed while a delivery waited: its next attempt goes to the new URL, signed by the new one.

    INV-4: with the same webhook id.
    """
    mailbox = running.mailbox(respond(204), respond(500))
    running.wait_until_known(mailbox)
    with frozen(scheduler):
        event_id = parked_event(running, mailbox)
        new_secret = marked_secret(2001)
        moved = running.change(mailbox, path=f"{mailbox.path}/moved", secrets=(new_secret,))
        running.wait_until_known(moved)
    moved.wait_for_events([event_id])
    [request] = moved.of(event_id)
    assert_signed(request, new_secret)
    assert len(mailbox.of(event_id)) == 1
    running.attempts.wait_for(event_id, "failed", "succeeded")


def test_a_deleted_endpoint_cancels_what_waits_for_it(running: Pipeline, scheduler: Child) -> None:
    """CASES 2: its parked deliveries end as cancelled, with no further request and no dead letter."""
    mailbox = running.mailbox(respond(204), respond(500))
    running.wait_until_known(mailbox)
    with frozen(scheduler):
        event_id = parked_event(running, mailbox)
        running.remove(mailbox)
        running.wait_until_forgotten(mailbox)
    running.attempts.wait_for(event_id, "failed", "cancelled")
    assert len(mailbox.of(event_id)) == 1
    assert event_id not in {letter.event_id for letter in running.dead_letters.to_the_end()}


def test_a_disabled_endpoint_gets_nothing_until_it_is_enabled(running: Pipeline, scheduler: Child) -> None:
    """What waits for it goes on waiting, which costs no attempt (CASES 6), and arrives when it is enabled again."""
    mailbox = running.mailbox(attempt_by_attempt(respond(500), respond(204)))
    mailbox.answer_with(respond(204))
    running.wait_until_known(mailbox)
    mailbox.answer_with(attempt_by_attempt(respond(500), respond(204)))
    with frozen(scheduler):
        event_id = parked_event(running, mailbox)
        running.change(mailbox, enabled=False)
        running.wait_until_forgotten(mailbox)
    running.attempts.wait_for(event_id, "failed", "deferred")
    assert len(mailbox.of(event_id)) == 1
    running.change(mailbox, enabled=True)
    running.attempts.wait_until(lambda log: not log.parked([event_id]), what="delivery")
    turns = running.attempts.of(event_id)
    assert (turns[-1]["outcome"], turns[-1]["attempt"]) == ("succeeded", 2)
    assert len(mailbox.of(event_id)) == 2
