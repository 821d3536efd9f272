"""The largest event there is goes every way that a delivery can go."""

from __future__ import annotations

from secrets import token_hex

import outbox
from outbox import MAX_PAYLOAD_BYTES
from tests.support.answers import respond
from tests.support.by_event import attempt_by_attempt
from tests.support.child import Child
from tests.support.pipeline import Pipeline


def test_the_largest_event_is_retried_and_buried_whole(running: Pipeline, scheduler: Child) -> None:
    """INV-5, CASES 18: with the largest headers and key, and answers of a megabyte: through every topic, byte for byte.

    A record too large for a retry tier or for the dead letters would be produced for ever, and hold its partition.
    """
    assert scheduler.is_running
    huge = respond(500, b"\\" * 1_000_000)
    mailbox = running.mailbox(attempt_by_attempt(huge, huge, huge))
    payload = '"' + "x" * (MAX_PAYLOAD_BYTES - 2) + '"'
    running.wait_until_known(mailbox)
    with running.connect() as connection:
        event_id = outbox.append(
            connection,
            type=f"{mailbox.event_type}.large",
            aggregate=("order", token_hex(8) + "k" * 496),
            payload=payload,
            headers={f"x-{number}": "v" * 900 for number in range(4)},
        )
    [letter] = running.dead_letters.wait_for_events([event_id])
    assert letter.headers["outbox-error-code"] == "ENDPOINT_EXHAUSTED"
    assert letter.value == payload.encode()
    assert [len(request.body) for request in mailbox.of(event_id)] == [MAX_PAYLOAD_BYTES] * 3
    excerpts = [len(turn["excerpt"]) for turn in running.attempts.to_the_end().of(event_id)]
    assert len(excerpts) == 3
    assert max(excerpts) <= 1024
