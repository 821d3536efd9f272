"""A failed delivery waits in a delay tier and is tried again: not too early, not too often, by the same id."""

from __future__ import annotations

from statistics import median

import pytest

from tests.support.answers import Answer, redirect, reset, respond
from tests.support.by_event import attempt_by_attempt
from tests.support.child import Child
from tests.support.figures import note
from tests.support.pipeline import Pipeline


def test_a_retry_never_comes_before_it_is_due(running: Pipeline, scheduler: Child) -> None:
    """INV-3: each further attempt arrives at or after the `next_attempt_at_ms` that the one before it recorded.

    How late they come is printed, not asserted.
    """
    assert scheduler.is_running
    mailbox = running.mailbox(attempt_by_attempt(respond(500), respond(503), respond(200)))
    running.wait_until_known(mailbox)
    # So few that they don't open its circuit, unless the machine is slow: then some wait once more, at no attempt.
    ids = running.append_many(f"{mailbox.event_type}.flaky", 40)
    running.attempts.wait_until(lambda log: not log.parked(ids), what="delivery of all")
    late_ms = []
    for event_id in ids:
        requests = mailbox.of(event_id)
        turns = running.attempts.of(event_id)
        made = [index for index, turn in enumerate(turns) if turn["outcome"] != "deferred"]
        assert [turns[index]["attempt"] for index in made] == [1, 2, 3]
        for index, retry in zip(made[1:], requests[1:], strict=True):
            late_ms.append(retry.at.timestamp() * 1000 - turns[index - 1]["next_attempt_at_ms"])
    assert min(late_ms) >= 0
    note(
        f"{len(late_ms)} retries at the receiver: p50 {median(late_ms):.0f} ms late, the latest {max(late_ms):.0f} ms"
    )


def test_a_retry_after_is_obeyed(running: Pipeline, scheduler: Child) -> None:
    """INV-3, CASES 8: at least as long as the receiver asked for, although the schedule's wait is shorter."""
    assert scheduler.is_running
    mailbox = running.mailbox(attempt_by_attempt(respond(429, headers={"retry-after": "3"}), respond(204)))
    running.wait_until_known(mailbox)
    event_id = running.append(f"{mailbox.event_type}.throttled")
    running.attempts.wait_for(event_id, "failed", "succeeded")
    first, second = mailbox.of(event_id)
    assert (second.at - first.at).total_seconds() >= 3


def test_a_lost_connection_is_tried_again(running: Pipeline, scheduler: Child) -> None:
    """No answer is a failed attempt like any other, with its reason on record."""
    assert scheduler.is_running
    mailbox = running.mailbox(attempt_by_attempt(reset(), reset(), respond(204)))
    event_id = running.append(mailbox.event_type)
    running.wait_until_known(mailbox)
    event_id = running.append(mailbox.event_type)
    running.attempts.wait_until(lambda log: not log.parked([event_id]), what="delivery")
    turns = running.attempts.of(event_id)
    assert turns[-1]["outcome"] == "succeeded"
    assert "no answer" in turns[0]["error"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (redirect("https://elsewhere.example/in?token=x"), "ENDPOINT_REJECTED"),
        (respond(404), "ENDPOINT_REJECTED"),
        (respond(410), "ENDPOINT_GONE"),
    ],
    ids=["redirect", "not found", "gone"],
)
def test_a_permanent_answer_ends_at_once(running: Pipeline, answer: Answer, code: str) -> None:
    """CASES 1, 21: one attempt, no redirect followed, a dead letter with the code, the event's bytes and its target."""
    mailbox = running.mailbox(answer)
    while True:
        # As long as the worker doesn't know the endpoint, an event of its type goes to nobody.
        event_id = str(running.append(mailbox.event_type))
        letters = running.dead_letters.wait_until(
            lambda letters: event_id in {letter.event_id for letter in letters},  # noqa: B023 - called in this turn only
            what="dead letter",
        )
        letter = next(letter for letter in letters if letter.event_id == event_id)
        if letter.headers["outbox-error-code"] != "HANDLER_NOT_REGISTERED":
            break
    assert letter.headers["outbox-error-code"] == code
    assert letter.headers["outbox-target"] == f"endpoint:{mailbox.id}"
    assert letter.value == mailbox.received[0].body
    running.attempts.wait_for(event_id, "rejected")
    assert len(mailbox.of(event_id)) == 1
