"""An endpoint as a target: what it has of its own counts, and what this worker can't open waits."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from connectors.webhook.answer import Answer
from connectors.webhook.confidential import Confidential
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.key_ring import NO_KEYS, EncryptionKey, KeyRing
from connectors.webhook.request import Request
from connectors.webhook.wire import encode_request
from streams.dispatch.endpoint_target import EndpointTarget
from streams.records.next_hop import DeadLetter, Retry
from streams.records.outcome import Deferred, Failed, Succeeded
from streams.retry.policy import decide
from tests.support.deliveries import ENDPOINT_POLICY, NOW_MS, a_delivery, an_event, default_tiers
from tests.unit.webhook.records import NOW, endpoint, responded

RING = KeyRing([EncryptionKey("k1", b"1" * 32)])


class Sent:
    """Takes requests as a sender does, as far as their bytes, and answers 204."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []

    async def send(self, request: Request) -> Answer:
        self.requests.append(encode_request(request, user_agent="test/1"))
        return responded(204)


def a_target(one: Endpoint, sender: Sent | None = None) -> EndpointTarget:
    target = EndpointTarget(
        "ep_1",
        sender=sender or Sent(),
        policy=ENDPOINT_POLICY,
        concurrency=4,
        now=lambda: NOW,
        monotonic_s=lambda: 0.0,
    )
    target.change(one)
    return target


async def test_static_headers_are_sent_and_win() -> None:
    """What the endpoint's owner wants sent is not for the event to change."""
    sender = Sent()
    static = (("authorization", Confidential("Bearer hunter2")), ("traceparent", Confidential("static")))
    event = an_event(headers={"traceparent": "00-event", "x-more": "1"})
    outcome = await a_target(replace(endpoint(), headers=static), sender).attempt(a_delivery(event=event))
    assert isinstance(outcome, Succeeded)
    [sent] = sender.requests
    for line in (b"authorization: Bearer hunter2", b"traceparent: static", b"x-more: 1"):
        assert b"\r\n" + line + b"\r\n" in sent
    assert b"00-event" not in sent


async def test_as_many_headers_as_there_can_be_are_sent() -> None:
    """An event's 64, an endpoint's 16, and the event's type: none of them turns an event into a dead letter."""
    sender = Sent()
    static = tuple((f"s-{n}", Confidential("1")) for n in range(16))
    event = an_event(headers={f"e-{n}": "1" for n in range(64)})
    await a_target(replace(endpoint(), headers=static), sender).attempt(a_delivery(event=event))
    assert sender.requests[0].count(b": 1\r\n") == 80


async def test_a_locked_endpoint_waits_without_an_attempt() -> None:
    """The worker's fault, not the endpoint's: no attempt is spent, nothing is sent, and the reason names the key."""
    locked = Endpoint.from_json(endpoint().to_json(RING), NO_KEYS)
    header = Endpoint.from_json(
        replace(endpoint(), headers=(("x-a", Confidential("hunter2")),)).to_json(RING), NO_KEYS
    )
    mixed = replace(header, secrets=endpoint().secrets)
    for one in (locked, mixed):
        sender = Sent()
        outcome = await a_target(one, sender).attempt(a_delivery())
        assert isinstance(outcome, Deferred)
        assert "the key k1, which OUTBOX_ENCRYPTION_KEYS lacks" in outcome.reason
        assert sender.requests == []


def hop(target: EndpointTarget, **counts: Any) -> Retry | DeadLetter:
    found = decide(
        a_delivery(**counts),
        Failed(error="answered 500"),
        policy=target.policy,
        tiers=default_tiers(),
        now_ms=NOW_MS,
        random=lambda: 0.5,
    )
    assert isinstance(found, Retry | DeadLetter)
    return found


def test_an_endpoints_own_schedule_counts_instead_of_the_workers() -> None:
    """Its waits are its attempts but one; no wait at all is one attempt. Without one, the worker's, also afterwards."""
    target = a_target(replace(endpoint(), schedule=(timedelta(seconds=8), timedelta(seconds=8))))
    first = hop(target)
    assert isinstance(first, Retry)
    assert 4_000 < first.due_at_ms - NOW_MS <= 8_000
    assert isinstance(hop(target, attempt=2), Retry)
    assert isinstance(hop(target, attempt=3), DeadLetter)
    target.change(replace(endpoint(), schedule=()))
    assert isinstance(hop(target), DeadLetter)
    target.change(endpoint())
    assert target.policy == ENDPOINT_POLICY


def test_an_endpoints_own_age_ends_its_deliveries() -> None:
    """However many attempts are left."""
    target = a_target(replace(endpoint(), max_age=timedelta(minutes=1)))
    assert target.policy == replace(ENDPOINT_POLICY, max_age=timedelta(minutes=1))
    old = hop(target, attempt=2, first_failed_at_ms=NOW_MS - 61_000)
    assert isinstance(old, DeadLetter)
    assert old.error.startswith("older than 0:01:00")
