"""The demo's verdict: green for a run without a fault, red for each single thing that is off."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from demo.evidence import Evidence
from demo.expectation import expectations
from demo.verdict import Verdict, is_complete, judge
from tests.support.told_demo import told_demo


def _judged(evidence: Evidence) -> Verdict:
    return judge(expectations(evidence.committed), evidence)


def test_a_run_without_a_fault_passes() -> None:
    """Everything as it must be: no problem, and the last line has every number."""
    verdict = _judged(told_demo())
    assert verdict.problems == ()
    assert verdict.line == (
        "demo ok: committed=200 delivered=350 retried=80 dead_lettered=40 lost=0 p50_ms=10.0 p99_ms=10.0"
    )


def _lose_a_receipt(evidence: Evidence) -> None:
    del evidence.receipts[0]


def _lose_a_call(evidence: Evidence) -> None:
    del evidence.calls[0]


def _lose_a_dead_letter(evidence: Evidence) -> None:
    del evidence.dead_letters[0]


def _lose_an_attempt_record(evidence: Evidence) -> None:
    del evidence.attempts[0]


def _skip_a_tier(evidence: Evidence) -> None:
    evidence.parked[0] = replace(evidence.parked[0], topic="outbox.retry-4s")


def _repeat_a_request(evidence: Evidence) -> None:
    evidence.receipts.append(evidence.receipts[0])


def _repeat_a_call(evidence: Evidence) -> None:
    evidence.calls.append(evidence.calls[0])


def _repeat_a_dead_letter(evidence: Evidence) -> None:
    evidence.dead_letters.append(evidence.dead_letters[0])


def _retry_once_too_often(evidence: Evidence) -> None:
    evidence.parked.append(replace(evidence.parked[0], attempt=4, topic="outbox.retry-4s"))


def _deliver_what_was_rolled_back(evidence: Evidence) -> None:
    ghost = next(iter(evidence.rolled_back))
    evidence.receipts.append(replace(evidence.receipts[0], event_id=ghost))


def _deliver_to_a_stranger(evidence: Evidence) -> None:
    evidence.receipts.append(replace(evidence.receipts[0], target="endpoint:ep_other"))


def _change_a_body(evidence: Evidence) -> None:
    evidence.receipts[0] = replace(evidence.receipts[0], body=b"{}")


def _change_a_call_s_body(evidence: Evidence) -> None:
    evidence.calls[0] = replace(evidence.calls[0], body_sha256="0")


def _change_a_dead_letter_s_body(evidence: Evidence) -> None:
    evidence.dead_letters[0] = replace(evidence.dead_letters[0], body=b"{}")


def _change_a_code(evidence: Evidence) -> None:
    evidence.dead_letters[0] = replace(evidence.dead_letters[0], code="ENDPOINT_GONE")


def _forge_a_signature(evidence: Evidence) -> None:
    evidence.receipts[0] = replace(evidence.receipts[0], signed=False)


def _claim_a_success(evidence: Evidence) -> None:
    index = next(i for i, record in enumerate(evidence.attempts) if record.outcome == "rejected")
    evidence.attempts[index] = replace(evidence.attempts[index], outcome="succeeded")


def _lose_an_order(evidence: Evidence) -> None:
    evidence.orders_stored = 199


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (_lose_a_receipt, "lost"),
        (_lose_a_call, "lost"),
        (_lose_a_dead_letter, "lost"),
        (_lose_an_attempt_record, "outbox.attempts"),
        (_skip_a_tier, "never waited where it must"),
        (_repeat_a_request, "duplicate"),
        (_repeat_a_call, "duplicate"),
        (_repeat_a_dead_letter, "too many"),
        (_retry_once_too_often, "must not be"),
        (_deliver_what_was_rolled_back, "rolled back, and arrived"),
        (_deliver_to_a_stranger, "never to be sent"),
        (_change_a_body, "other bytes"),
        (_change_a_call_s_body, "other bytes"),
        (_change_a_dead_letter_s_body, "other bytes"),
        (_change_a_code, "ENDPOINT_GONE"),
        (_forge_a_signature, "wrongly signed"),
        (_claim_a_success, "succeeded, and must not"),
        (_lose_an_order, "199 orders"),
    ],
)
def test_one_thing_off_fails_and_is_named(break_it: Callable[[Evidence], None], said: str) -> None:
    """Whatever is off by one, the verdict is red, and its line says what."""
    evidence = told_demo()
    break_it(evidence)
    verdict = _judged(evidence)
    assert not verdict.ok
    assert verdict.line.startswith("demo FAILED: ")
    assert said in verdict.line


@pytest.mark.parametrize("lose", [_lose_a_receipt, _lose_a_call, _lose_a_dead_letter])
def test_what_is_missing_is_counted_as_lost_and_waited_for(lose: Callable[[Evidence], None]) -> None:
    """A run with a delivery outstanding is not complete, and counts it as lost should it end so."""
    evidence = told_demo()
    expected = expectations(evidence.committed)
    assert is_complete(expected, evidence)
    lose(evidence)
    assert not is_complete(expected, evidence)
    assert judge(expected, evidence).numbers.lost == 1


def test_a_deferral_is_no_retry_and_no_fault() -> None:
    """A busy machine may park a first attempt: that costs no attempt, and the demo still passes."""
    evidence = told_demo()
    first = evidence.attempts[0]
    evidence.attempts.insert(0, replace(first, outcome="deferred", next="outbox.retry-1s"))
    evidence.parked.append(
        replace(evidence.parked[0], event_id=first.event_id, target=first.target, attempt=1)
    )
    verdict = _judged(evidence)
    assert verdict.problems == ()
    assert verdict.numbers.retried == 80


def test_a_long_list_is_cut() -> None:
    """With everything lost, the line still fits a screen: a count and three examples each."""
    evidence = told_demo()
    evidence.receipts.clear()
    line = _judged(evidence).line
    assert "230 without the end that it must have" in line
    assert len(line) < 1_500
