"""The evidence of a demo in which everything went as it must, for tests that then change one thing."""

import hashlib
import random

from demo.evidence import AttemptRecord, Call, Committed, DeadLetter, Evidence, Parked, Receipt
from demo.expectation import Expectation, expectations
from demo.story import SUBSCRIBERS, orders

__all__ = ["told_demo"]

_LATENCY_NS = 10_000_000


def told_demo(seed: int = 1) -> Evidence:
    """Played by a processor without a fault."""
    evidence = Evidence()
    for number, order in enumerate(orders(random.Random(seed))):
        event_id = f"event-{number}"
        if order.kept:
            evidence.committed.append(
                Committed(
                    event_id=event_id, type=order.event_type, payload=order.payload, at_ns=number * 1_000_000
                )
            )
        else:
            evidence.rolled_back.add(event_id)
    evidence.orders_stored = len(evidence.committed)
    by_id = {event.event_id: event for event in evidence.committed}
    for expected in expectations(evidence.committed):
        _play(evidence, expected, by_id[expected.event_id])
    return evidence


def _play(evidence: Evidence, expected: Expectation, event: Committed) -> None:
    retries = dict(expected.retries)
    for attempt in range(1, expected.attempts + 1):
        assert expected.target is not None
        if attempt > 1:
            evidence.parked.append(
                Parked(
                    event_id=event.event_id, target=expected.target, attempt=attempt, topic=retries[attempt]
                )
            )
        _contact(evidence, event, expected.target, attempt)
        outcome, next_hop = _outcome(expected, attempt)
        evidence.attempts.append(
            AttemptRecord(
                event_id=event.event_id,
                target=expected.target,
                attempt=attempt,
                outcome=outcome,
                next=next_hop,
            )
        )
    if expected.code is not None:
        evidence.dead_letters.append(
            DeadLetter(
                event_id=event.event_id, target=expected.target, code=expected.code, body=event.payload
            )
        )


def _outcome(expected: Expectation, attempt: int) -> tuple[str, str]:
    if attempt < expected.attempts:
        return "failed", dict(expected.retries)[attempt + 1]
    return ("succeeded", "done") if expected.code is None else ("rejected", "dead-letter")


def _contact(evidence: Evidence, event: Committed, target: str, attempt: int) -> None:
    if target.startswith("handler:"):
        body_sha256 = hashlib.sha256(event.payload).hexdigest()
        evidence.calls.append(Call(target=target, event_id=event.event_id, body_sha256=body_sha256))
        return
    subscriber = next(each for each in SUBSCRIBERS if target == f"endpoint:{each.endpoint_id}")
    evidence.receipts.append(
        Receipt(
            target=target,
            event_id=event.event_id,
            body=event.payload,
            status=subscriber.answer(attempt),
            signed=True,
            at_ns=event.at_ns + _LATENCY_NS,
        )
    )
