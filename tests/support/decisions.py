"""What the retry policy decides of a delivery, with the default tiers and a chance that is given."""

from streams.records.delivery import Delivery
from streams.records.next_hop import DeadLetter, NextHop, Retry
from streams.records.outcome import (
    Outcome,
)
from streams.records.wire import decode_delivery, encode_delivery, header_map
from streams.retry.policy import RetryPolicy, decide
from tests.support.deliveries import (
    HANDLER_POLICY,
    NOW_MS,
    default_tiers,
)

__all__ = ["TIERS", "buried", "decided", "over_the_wire", "retried", "wait_ms"]

TIERS = default_tiers()


def decided(
    delivery: Delivery,
    outcome: Outcome,
    *,
    policy: RetryPolicy = HANDLER_POLICY,
    now_ms: int = NOW_MS,
    chance: float = 0.5,
) -> NextHop:
    return decide(delivery, outcome, policy=policy, tiers=TIERS, now_ms=now_ms, random=lambda: chance)


def retried(hop: NextHop) -> Retry:
    assert isinstance(hop, Retry)
    return hop


def buried(hop: NextHop) -> DeadLetter:
    assert isinstance(hop, DeadLetter)
    return hop


def wait_ms(hop: Retry, *, now_ms: int = NOW_MS) -> int:
    return (hop.not_before_ms or hop.due_at_ms) - now_ms


def over_the_wire(delivery: Delivery) -> Delivery:
    """What another process reads of a delivery."""
    event = delivery.event
    headers = header_map(encode_delivery(delivery))
    return decode_delivery(headers, key=event.aggregate_id.encode(), value=event.payload)
