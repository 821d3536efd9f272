"""The demo's story: its hand-written truth table agrees with how its listeners are set up to behave."""

import json
import random
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from demo import handlers as demo_handlers  # noqa: F401 - its import registers the handlers
from demo.expectation import RETRY_TOPICS
from demo.story import KINDS, ROLLED_BACK, SUBSCRIBERS, orders, pauses_s
from outbox import EventFilter, handlers
from streams.retry.tiers import RetryTiers
from streams.settings import Settings


def test_the_truth_table_names_exactly_who_subscribed() -> None:
    """Each kind's targets are the endpoints whose filter matches, and the registered handlers of that type."""
    for kind in KINDS:
        subscribed = {
            f"endpoint:{subscriber.endpoint_id}"
            for subscriber in SUBSCRIBERS
            if EventFilter(subscriber.events).matches(kind.type)
        }
        registered = {f"handler:{handler.name}" for handler in handlers.for_type(kind.type)}
        named = {target.name for target in kind.targets} - {None}
        assert named == subscribed | registered


def test_an_endpoint_succeeds_with_the_attempt_that_the_table_names() -> None:
    """The receivers answer 2xx at exactly the expected attempt, or never where a dead letter is expected."""
    by_name = {f"endpoint:{subscriber.endpoint_id}": subscriber for subscriber in SUBSCRIBERS}
    for target in (target for kind in KINDS for target in kind.targets if target.name in by_name):
        assert target.name is not None
        answers = [by_name[target.name].answer(nth) for nth in range(1, target.attempts + 1)]
        succeeds = [200 <= status < 300 for status in answers]
        assert succeeds == [False] * (target.attempts - 1) + [target.code is None]


@given(st.integers())
def test_every_telling_has_the_same_counts(seed: int) -> None:
    """Whatever chance says: 200 kept transactions of the table's kinds, 20 rolled back, numbers without a gap."""
    told = orders(random.Random(seed))
    kept = [order.event_type for order in told if order.kept]
    assert {kind.type: kept.count(kind.type) for kind in KINDS} == {kind.type: kind.orders for kind in KINDS}
    assert len(kept) == 200
    assert len(told) - len(kept) == ROLLED_BACK
    assert [order.number for order in told] == list(range(1, len(told) + 1))


def test_payloads_are_json_that_parsing_and_writing_would_change() -> None:
    """INV-5 is only shown by bytes that a JSON round trip doesn't preserve."""
    for order in orders(random.Random(1)):
        assert json.dumps(json.loads(order.payload), ensure_ascii=False).encode() != order.payload


@given(st.floats(min_value=0, max_value=1, exclude_max=True))
def test_the_demo_s_delays_wait_in_the_named_tiers_only(chance: float) -> None:
    """1 s and 2 s land in retry-1s and retry-2s whatever the jitter, with the tiers and lanes that the demo runs on."""
    settings = Settings()
    tiers = RetryTiers(settings.tiers, lanes=settings.lanes)
    lanes = [tiers.jittered(delay_ms, random=lambda: chance) for delay_ms in (1_000, 2_000)]
    assert [lane.topic for lane in lanes] == list(RETRY_TOPICS.values())


def test_arrivals_come_at_the_asked_rate() -> None:
    """The mean of many pauses is the inverse of the rate, and they vary as those of a Poisson process do."""
    pauses = list(islice(pauses_s(random.Random(1), per_second=50), 10_000))
    mean = sum(pauses) / len(pauses)
    spread = (sum((pause - mean) ** 2 for pause in pauses) / len(pauses)) ** 0.5
    assert abs(mean - 0.02) < 0.001
    assert abs(spread - mean) < 0.002
