"""The verdict on an event, against the same rules told plainly."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.postgres.event_facts import Fact
from connectors.postgres.reconciliation import ExpectedTarget
from streams.verify.judgement import ACCOUNTED, REASONS, Verdict, breaking, counted_verdicts, judge
from tests.support.verified_event import KnownEvent, any_event, any_expected, naive_verdict


def facts_of(event: KnownEvent, expected: list[ExpectedTarget]) -> Fact:
    """The bits, found event by event."""
    facts = Fact(0)
    facts |= Fact.HAS_ROW if event.has_row else facts
    facts |= Fact.ON_KAFKA if event.records else facts
    facts |= Fact.IN_FLIGHT if any(event.records) else facts
    facts |= Fact.UNWANTED if event.unwanted and event.records else facts
    facts |= Fact.WHOLE_LETTER if event.whole_letter else facts
    facts |= Fact.ROUTED_AGAIN if event.routed_again else facts
    wanting = [one.target for one in expected if one.type == event.type and one.since <= event.created_at]
    facts |= Fact.EXPECTED if wanting else facts
    facts |= Fact.TARGET_MISSING if set(wanting) - event.deliveries.keys() else facts
    for delivery in event.deliveries.values():
        match delivery.status, delivery.held, delivery.letter:
            case "succeeded", _, _:
                facts |= Fact.SUCCEEDED
            case "cancelled", _, _:
                facts |= Fact.CANCELLED
            case "failed", False, False:
                facts |= Fact.LETTER_LOST
            case ("failed", _, _) | (_, False, True):
                facts |= Fact.BURIED
            case _, True, _:
                facts |= Fact.WAITS
            case _:
                facts |= Fact.WAIT_LOST
    return facts


@settings(max_examples=500)
@given(event=any_event, expected=any_expected)
def test_a_verdict_is_what_the_rules_say(event: KnownEvent, expected: list[ExpectedTarget]) -> None:
    """Bits and plain rules agree on every event."""
    assert judge(facts_of(event, expected)) is naive_verdict(event, expected)


@given(counts=st.dictionaries(st.integers(0, 2**14 - 1), st.integers(1, 10**6)))
def test_inv_1_the_counts_add_up(counts: dict[int, int]) -> None:
    """Each event has one verdict, whatever is known of it: accounted for, or one of the sets that are listed."""
    verdicts = counted_verdicts(counts)
    assert sum(verdicts.values()) == sum(counts.values())
    listed = sum(counts[facts] for facts in breaking(counts))
    assert listed == sum(number for verdict, number in verdicts.items() if verdict in REASONS)


def test_every_verdict_is_accounted_for_or_has_a_reason() -> None:
    """And none is both."""
    assert Counter([*ACCOUNTED, *REASONS]) == Counter(Verdict)


def test_what_a_target_surely_wants_is_not_unwanted() -> None:
    """That a payload filter left it out says nothing of the endpoint that has none."""
    left_out = Fact.ON_KAFKA | Fact.UNWANTED
    assert judge(left_out) is Verdict.UNWANTED
    assert judge(left_out | Fact.EXPECTED | Fact.TARGET_MISSING) is Verdict.NO_OUTCOME
    assert judge(left_out | Fact.SUCCEEDED) is Verdict.DELIVERED


@pytest.mark.parametrize("others", [*combinations(Fact, 2)])
def test_what_is_in_flight_raises_no_alarm(others: tuple[Fact, Fact]) -> None:
    """What the log says of an event that is not settled may be half written."""
    assert judge(Fact.IN_FLIGHT | others[0] | others[1]) is Verdict.WAITING
