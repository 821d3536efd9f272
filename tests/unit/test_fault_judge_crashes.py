"""The judge of the fault harness, on evidence made by hand: what a crash excuses, and what nothing does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.faults.harness.facts import (
    Fault,
    Letter,
)
from tests.support.judged_evidence import (
    AGAIN,
    FAILED,
    PLACE,
    ROW,
    SHAKY,
    TAKEN,
    an_attempt,
    broken,
    crash,
    judged,
)


@pytest.mark.parametrize(("struck_ms", "rules"), [(1_100, set()), (1_002, {"dead letters repeated"})])
def test_a_crash_repeats_the_dead_letter_that_it_left_open_and_no_other(
    struck_ms: float, rules: set[str]
) -> None:
    """INV-8: buried before the crash, and in no commit: once more. Buried twice after it: a fault."""
    letters = [Letter(event_id="e01", target=None, code="X", appended_ms=at_ms) for at_ms in (1_050, 7_000)]
    row, place = replace(ROW, type="load.x.unrouted"), replace(PLACE, appended_ms=1_001)
    verdict = judged(rows=[row], places=[place], letters=letters, faults=[crash(struck_ms, committed=5)])
    assert broken(verdict) == rules


def test_taken_twice_without_a_crash_is_repeated() -> None:
    """INV-8: nothing but a crash repeats."""
    assert broken(judged(SHAKY, FAILED, TAKEN, AGAIN)) == {"repeated without a crash"}


def test_a_crash_excuses_one_repetition_of_what_no_commit_covered() -> None:
    """INV-8: what was in flight or settled since the last commit, once; the second repetition is a fault."""
    verdict = judged(SHAKY, FAILED, TAKEN, AGAIN, faults=[crash(2_010, committed=5)])
    assert broken(verdict) == set()
    assert [(line.repeated, line.repeatable) for line in verdict.faults] == [(1, 2)]
    third = an_attempt("flaky", 7_000, number=2, ok=True)
    verdict = judged(SHAKY, FAILED, TAKEN, AGAIN, third, faults=[crash(2_010, committed=5)])
    assert broken(verdict) == {"repeated without a crash"}


def test_a_crash_may_repeat_a_delivery_once_for_each_record_that_it_left_open() -> None:
    """The event's record, which another delivery of it had held back, and the retry's: both are read again."""
    retry = replace(PLACE, target="endpoint:flaky", partition=("outbox.redelivery", 0), appended_ms=1_990)
    struck = crash(2_010, committed=5)
    assert struck.repeats is not None
    both = replace(struck, repeats=replace(struck.repeats, topics={"outbox.events", "outbox.redelivery"}))
    third = an_attempt("flaky", 7_000, number=2, ok=True)
    assert broken(judged(SHAKY, FAILED, TAKEN, AGAIN, third, places=[PLACE, retry], faults=[both])) == set()
    fourth = an_attempt("flaky", 8_000, number=2, ok=True)
    attempts = [SHAKY, FAILED, TAKEN, AGAIN, third, fourth]
    assert "repeated without a crash" in broken(judged(*attempts, places=[PLACE, retry], faults=[both]))


@pytest.mark.parametrize(
    "fault",
    [
        crash(2_010, committed=6),
        crash(1_001, committed=5),
        crash(6_000, committed=5),
        crash(2_010, committed=5, of=frozenset({("outbox.events", 3)})),
        replace(crash(2_010, committed=5), calm_ms=-18_000.0, ended_ms=-18_000.0),
    ],
    ids=["it was committed", "it had not begun", "it came after", "it hit others", "it was over"],
)
def test_a_crash_that_did_not_hit_it_excuses_nothing(fault: Fault) -> None:
    """INV-8: a crash elsewhere, earlier, later or long ago is no excuse."""
    assert "repeated without a crash" in broken(judged(SHAKY, FAILED, TAKEN, AGAIN, faults=[fault]))


def test_repeated_though_its_settling_was_long_ago_is_told() -> None:
    """INV-8: a commit is never so late that something settled seconds before a crash comes again."""
    late = an_attempt("flaky", 9_000, number=2, ok=True)
    verdict = judged(SHAKY, FAILED, TAKEN, late, faults=[crash(8_000, committed=5)])
    assert broken(verdict) == {"repeated though long settled"}


def test_an_answer_that_the_worker_says_it_never_heard_needs_a_reason() -> None:
    """A worker that mishears a quick answer when nothing is wrong repeats for no reason."""
    receipt, turn = FAILED
    misheard = (replace(receipt, ok=True), replace(turn, status=None))
    assert broken(judged(SHAKY, misheard, TAKEN)) == {"repeated without a crash"}
    cut = replace(crash(1_000, committed=9), kind="connections dropped", repeats=None)
    assert broken(judged(SHAKY, misheard, TAKEN, faults=[cut])) == set()
