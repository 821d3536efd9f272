"""What an endpoint takes at most, and which payloads it wants: as its receiver sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from connectors.webhook.payload_filter import PayloadFilter
from tests.support.answers import Answer, Exchange, respond
from tests.support.child import Child
from tests.support.gate import Gate
from tests.support.installation import TIERS
from tests.support.pipeline import Pipeline, marked_payload
from tests.support.received import Received

#: Between the begin of an attempt and its arrival on a busy machine. Two requests may come that much closer together.
ON_THE_WAY_S = 1.0
LONGEST_TIER_S = TIERS[-1].total_seconds()


def most_above(received: Sequence[Received], *, per_s: float) -> float:
    """By how many requests the busiest stretch of all is above burst + rate × t."""
    times_s = [request.at.timestamp() for request in received]
    return max(
        last - first + 1 - max(1.0, per_s) - per_s * (times_s[last] - times_s[first] + ON_THE_WAY_S)
        for first in range(len(times_s))
        for last in range(first, len(times_s))
    )


def test_a_rate_is_obeyed_and_no_other_endpoint_is_delayed(running: Pipeline, scheduler: Child) -> None:
    """INV-6, CASES 6: all come, in no stretch of time more than burst and rate allow, each at its first attempt.

    The other endpoint has got every event while most of them still wait for the limited one.
    """
    assert scheduler.is_running
    free = running.mailbox()
    limited = running.mailbox(event_type=free.event_type, rate_limit_per_s=20.0)
    running.wait_until_known(limited)
    running.wait_until_known(free)
    ids = running.append_many(f"{free.event_type}.many", 150)
    free.wait_for_events(ids)
    assert len(running.attempts.to_the_end().parked(ids, limited.id)) > 75
    limited.wait_for_events(ids)
    assert most_above(limited.received, per_s=20.0) <= 0
    running.attempts.wait_until(lambda log: not log.parked(ids, limited.id), what="the last of them")
    turns = [turn for event_id in ids for turn in running.attempts.of(event_id, limited.id)]
    assert {turn["outcome"] for turn in turns} == {"deferred", "succeeded"}
    assert {turn["attempt"] for turn in turns} == {1}
    assert len(turns) <= 4 * len(ids)
    assert not limited.repeated()


def test_one_a_minute_costs_no_attempt_and_keeps_no_worker_busy(running: Pipeline, scheduler: Child) -> None:
    """CASES 6: each waits for its own minute, and is not tried; the other endpoint gets them all (INV-6)."""
    assert scheduler.is_running
    limited = running.mailbox(rate_limit_per_s=1 / 60)
    free = running.mailbox(event_type=limited.event_type)
    # The first probe that arrives is this minute's.
    running.wait_until_known(limited)
    running.wait_until_known(free)
    seen = len(limited.received)
    ids = running.append_many(f"{limited.event_type}.many", 6)
    free.wait_for_events(ids)
    running.attempts.wait_until(
        lambda log: len(log.having(ids, "deferred")) == len(ids), what="a deferral of each"
    )
    turns = [running.attempts.of(event_id, limited.id)[0] for event_id in ids]
    assert {(turn["outcome"], turn["attempt"], turn["deferrals"]) for turn in turns} == {("deferred", 1, 0)}
    # The longest tier of this installation: minutes ahead, it is looked at again then, and not before.
    waits_s = {(turn["next_attempt_at_ms"] - turn["started_at_ms"]) / 1000 for turn in turns}
    assert waits_s == {LONGEST_TIER_S}
    assert len(limited.received) == seen
    assert {turn["error"] for turn in turns} == {"the endpoint's rate limit is reached"}


class Crowd:
    """How many requests are being answered, and how many were at most."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0

    def counting(self, answer: Answer) -> Answer:
        async def counted(exchange: Exchange) -> bool:
            self.now += 1
            self.most = max(self.most, self.now)
            try:
                return await answer(exchange)
            finally:
                self.now -= 1

        return counted


def test_a_concurrency_is_never_exceeded(running: Pipeline, scheduler: Child) -> None:
    """Three requests at once and no fourth, however long they take; the other endpoint gets all meanwhile (INV-6)."""
    assert scheduler.is_running
    gate, crowd = Gate(), Crowd()
    try:
        free = running.mailbox()
        limited = running.mailbox(
            crowd.counting(gate.before(respond(204))), event_type=free.event_type, concurrency=3
        )
        running.wait_until_known(free)
        while len(limited.received) < 3:
            running.append(f"{free.event_type}.probe")
            running.wait_until_known(free)
        ids = running.append_many(f"{free.event_type}.many", 40)
        free.wait_for_events(ids)
        assert len(limited.received) == 3
    finally:
        gate.open()
    limited.answer_with(crowd.counting(slowly))
    limited.wait_for_events(ids)
    assert crowd.most == 3


async def slowly(exchange: Exchange) -> bool:
    """Long enough for others to come meanwhile, if they were let."""
    for _ in range(20):
        await asyncio.sleep(0)
    return await respond(204)(exchange)


def test_a_payload_filter_decides_who_gets_an_event(running: Pipeline) -> None:
    """By the payload as it was appended; and an event that no filter wants is no dead letter."""
    large = running.mailbox(
        payload_filter=PayloadFilter.of({"total": [{"exists": False}, {"numeric": [">=", 100]}]})
    )
    running.wait_until_known(large)
    wanted, unwanted = (
        running.append(f"{large.event_type}.created", payload=marked_payload(total=total))
        for total in (100, 99)
    )
    again = running.append(f"{large.event_type}.created", payload=marked_payload(total=[1, 500]))
    large.wait_for_events([wanted, again])
    running.change(large, payload_filter=None)
    running.wait_until_known(large)
    later = running.append(f"{large.event_type}.created", payload=marked_payload(total=1))
    large.wait_for_events([later])
    assert not large.of(unwanted)
    assert not running.attempts.to_the_end().of(unwanted)
    assert str(unwanted) not in {letter.event_id for letter in running.dead_letters.to_the_end()}
