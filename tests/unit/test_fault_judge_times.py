"""The judge of the fault harness, on evidence made by hand: what it must call early, late, or another attempt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.judged_evidence import (
    FAILED,
    ROW,
    SHAKY,
    TAKEN,
    WAITING,
    an_attempt,
    broken,
    crash,
    judged,
)


@pytest.mark.parametrize("at_ms", [1_300, 1_830])
def test_a_retry_before_its_time_is_early(at_ms: float) -> None:
    """INV-3: sooner than any lane holds, or than the record of the attempt before had said."""
    assert broken(judged(SHAKY, FAILED, an_attempt("flaky", at_ms, number=2, ok=True))) == {"early"}


@pytest.mark.parametrize(("promises", "wrong"), [(2, set()), (1, {"early"})])
def test_of_a_deferral_that_was_made_twice_the_sooner_promise_counts(promises: int, wrong: set[str]) -> None:
    """INV-3: a crash makes two branches, and each keeps its own; without one, a promise is broken."""
    _, at_first = an_attempt("flaky", 1_010, ok=False)
    deferred = replace(at_first, outcome="deferred", status=None, ended_ms=1_010, next_ms=2_000)
    again = replace(deferred, attempt_id="again", started_ms=1_300, ended_ms=1_300, next_ms=50_000)
    receipt, taken = an_attempt("flaky", 2_100, ok=True)
    verdict = judged(
        receipts=[SHAKY[0], receipt],
        turns=[SHAKY[1], *([deferred] * (promises - 1)), again, replace(taken, deferrals=1)],
    )
    assert broken(verdict) == wrong


@pytest.mark.parametrize(("forked", "wrong"), [(True, set()), (False, {"early"})], ids=["forked", "whole"])
def test_two_branches_of_a_delivery_are_judged_by_their_own_promises(
    *, forked: bool, wrong: set[str]
) -> None:
    """INV-3: long after the crash that forked it, the third attempt of one branch may come right after a first one."""
    first = an_attempt("down", 20_000, ok=False, next_ms=20_900)
    third = an_attempt("down", 20_200, number=3, ok=False, next_ms=21_900)
    _, at_first = an_attempt("down", 1_010, ok=False)
    deferred = replace(at_first, attempt_id="deferred", outcome="deferred", status=None, next_ms=20_000)
    of_the_other = replace(deferred, attempt_id="other", attempt=3, next_ms=20_150)
    verdict = judged(
        rows=[replace(ROW, type="load.x.down")],
        receipts=[first[0], third[0]],
        turns=[deferred, of_the_other, first[1], third[1]],
        waiting=[replace(WAITING, target="endpoint:down")],
        faults=[crash(1_100, committed=5)] if forked else [],
    )
    assert broken(verdict) & {"early"} == wrong


def test_a_request_sent_again_on_a_new_connection_is_the_same_attempt_once() -> None:
    """CASES 23: a stale connection is no failed attempt; a third request in one attempt is a fault."""
    receipt, turn = an_attempt("resetting", 1_010, ok=True)
    stale = replace(receipt, began_ms=1_010, answered_ms=None, ok=False)
    row = replace(ROW, type="load.x.reset")
    assert broken(judged((receipt, turn), rows=[row], receipts=[stale, receipt])) == set()
    assert broken(judged((receipt, turn), rows=[row], receipts=[stale, stale, receipt])) == {"early"}


@pytest.mark.parametrize("after_ms", [5, 40, 200])
def test_a_retry_at_once_is_early_even_where_the_attempt_before_had_no_answer(after_ms: float) -> None:
    """INV-3: a turn of its own is another attempt, however soon it came; a request sent again has none."""
    receipt, turn = an_attempt("resetting", 1_010, ok=False, next_ms=1_900)
    failed = replace(receipt, answered_ms=None), replace(turn, status=None)
    at_once = an_attempt("resetting", 1_012 + after_ms, number=2, ok=True)
    row = replace(ROW, type="load.x.reset")
    assert "early" in broken(judged(failed, at_once, rows=[row]))


def test_a_request_that_a_hanging_receiver_held_back_is_of_the_attempt_that_was_given_up() -> None:
    """It is answered when nobody waits any more; the retry comes by what the attempt promised. Only a fault does so."""
    receipt, turn = FAILED
    late = (
        replace(receipt, began_ms=1_450, answered_ms=1_451, ok=True),
        replace(turn, ended_ms=1_340, status=None),
    )
    retry = an_attempt("flaky", 1_910, number=2, ok=True)
    frozen = replace(crash(1_000, committed=9), kind="receiver frozen", repeats=None)
    assert broken(judged(SHAKY, late, retry, faults=[frozen])) == set()
    assert broken(judged(SHAKY, late, retry)) == {
        "answers without a record",
        "early",
        "repeated without a crash",
    }
    too_soon = an_attempt("flaky", 1_810, number=2, ok=True)
    assert broken(judged(SHAKY, late, too_soon, faults=[frozen])) == {"early"}


@pytest.mark.parametrize(("number", "is_early"), [(1, False), (2, True)])
def test_a_deferral_promises_its_own_attempt_and_not_an_earlier_one(number: int, is_early: bool) -> None:  # noqa: FBT001
    """The second attempt before its time is early; the first, made again by a branch of a crash, is a repetition."""
    _, failed = FAILED
    deferral = replace(
        failed,
        attempt_id="put off",
        attempt=2,
        outcome="deferred",
        started_ms=2_000,
        ended_ms=2_000,
        status=None,
    )
    deferral = replace(deferral, next_ms=9_000)
    receipt, turn = an_attempt("flaky", 6_000, number=number, ok=True)
    verdict = judged(SHAKY, FAILED, (receipt, turn), turns=[SHAKY[1], failed, deferral, turn])
    assert verdict.line("early").holds is not is_early


def test_recovery_lasts_until_the_last_late_thing_has_come() -> None:
    """A first attempt that comes 20 s after its fault makes the recovery 20 s long; without a fault it is late."""
    row = replace(ROW, type="load.x.plain", created_ms=3_000)
    attempts = an_attempt("steady", 23_499, ok=True), an_attempt("ledger", 3_010, ok=True)
    verdict = judged(*attempts, rows=[row], faults=[crash(3_500, committed=9)], flowed_ms=2_900)
    assert broken(verdict) == {"recovered too late"}
    assert [line.recovery_s for line in verdict.faults] == [20.0]
    assert broken(judged(*attempts, rows=[row], flowed_ms=2_900)) == {"late in the calm"}


def test_a_fault_that_leaves_the_system_there_excuses_no_standstill() -> None:
    """However long a scale-out takes, no event waits longer than the limit."""
    row = replace(ROW, type="load.x.plain", created_ms=3_000)
    attempts = an_attempt("steady", 23_499, ok=True), an_attempt("ledger", 3_010, ok=True)
    scaled = replace(crash(3_500, committed=9), repeats=None, lasting=True, healed_ms=30_000)
    assert "recovered too late" in broken(judged(*attempts, rows=[row], faults=[scaled], flowed_ms=2_900))


def test_a_load_that_stood_still_is_told() -> None:
    """A run in which nothing was asked shows nothing."""
    verdict = judged(SHAKY, FAILED, TAKEN, flowed_ms=-9_000)
    assert broken(verdict) == {"load stood still"}
