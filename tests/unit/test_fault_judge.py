"""The judge of the fault harness, on evidence made by hand: what it must call lost, early, wrong or repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest

from tests.faults.harness.facts import (
    Commits,
    Evidence,
    Fault,
    Letter,
    Logged,
    Place,
    Receipt,
    Row,
    Turn,
    Waiting,
)
from tests.faults.harness.judge import Verdict, judge
from tests.faults.harness.plan import ATTEMPTS, BEHAVIOURS, SCHEDULE
from tests.support.topics import Committed

EVENTS = ("outbox.events", 0)
TARGETS = {f"endpoint:{behaviour.name}": behaviour for behaviour in BEHAVIOURS}
Attempt = tuple[Receipt, Turn]


def an_attempt(
    target: str, at_ms: float, *, number: int = 1, ok: bool, next_ms: float | None = None
) -> Attempt:
    """What a target and the product say of one attempt of two milliseconds, when both are right."""
    receipt = Receipt(
        event_id="e01",
        target=f"endpoint:{target}",
        began_ms=at_ms + 1,
        answered_ms=at_ms + 1,
        ok=ok,
        sha256="aa",
    )
    turn = Turn(
        attempt_id=f"{target} {at_ms}",
        event_id="e01",
        target=f"endpoint:{target}",
        attempt=number,
        deferrals=0,
        outcome="succeeded" if ok else "failed",
        started_ms=at_ms,
        ended_ms=at_ms + 2,
        next_ms=next_ms,
        recorded_ms=at_ms + 4,
        status=204 if ok else 500,
    )
    return receipt, turn


SHAKY = an_attempt("shaky", 1_010, ok=True)
FAILED = an_attempt("flaky", 1_010, ok=False, next_ms=1_900)
TAKEN = an_attempt("flaky", 2_000, number=2, ok=True)
AGAIN = an_attempt("flaky", 5_000, number=2, ok=True)
ROW = Row(event_id="e01", type="load.x.flaky", sha256="aa", created_ms=1_000)
PLACE = Place(event_id="e01", target=None, partition=EVENTS, offset=5, appended_ms=1_005)
LETTER = Letter(event_id="e01", target="endpoint:flaky", code="ENDPOINT_EXHAUSTED", appended_ms=9_000)
WAITING = Waiting(
    event_id="e01", target="endpoint:flaky", topic="outbox.retry-1s", appended_ms=1_014, due_ms=59_000
)


def crash(at_ms: float, *, committed: int, of: frozenset[tuple[str, int]] | None = None) -> Fault:
    return Fault(
        kind="killed",
        detail="kill -9",
        began_ms=at_ms,
        healed_ms=at_ms,
        ended_ms=at_ms,
        calm_ms=at_ms + 8_000,
        recovery_limit_s=15.0,
        repeats=Commits({"outbox.events"}, {EVENTS: Committed(offset=committed, metadata="")}, of),
        struck_ms=(at_ms, at_ms),
    )


def in_the_log(turns: Iterable[Turn]) -> Logged:
    """The log as it should be, of one event: by attempt, and by target."""
    statuses: dict[tuple[str, str], list[str]] = {}
    for turn in turns:
        taken = turn.outcome == "succeeded" or statuses.get(turn.delivery) == ["succeeded"]
        statuses[turn.delivery] = ["succeeded" if taken else "retrying"]
    return Logged(attempts=Counter(turn.attempt_id for turn in turns), statuses=statuses)


def judged(*attempts: Attempt, **changes: object) -> Verdict:
    evidence = Evidence(
        rows=[ROW],
        receipts=[receipt for receipt, _ in attempts],
        turns=[turn for _, turn in attempts],
        logged=in_the_log([turn for _, turn in attempts]),
        letters=[],
        waiting=[],
        places=[PLACE],
        faults=[],
        flowed_ms=900,
        ended_ms=60_000,
        workers_started=2,
        leaks={},
        deaths=[],
    )
    if "turns" in changes:
        changes = {"logged": in_the_log(changes["turns"]), **changes}  # type: ignore[arg-type]  # by name
    return judge(replace(evidence, **changes), targets=TARGETS)  # type: ignore[arg-type]  # by name


def broken(verdict: Verdict) -> set[str]:
    return {line.rule for line in verdict.lines if not line.holds}


def test_a_retry_that_came_when_it_was_due_is_right() -> None:
    """Failed once, taken once, each target accounted for: everything holds."""
    assert broken(judged(SHAKY, FAILED, TAKEN)) == set()


def test_what_nobody_took_is_lost() -> None:
    """INV-1: committed, and neither delivered nor dead nor waiting, by each target."""
    assert broken(judged(SHAKY, FAILED)) == {"lost", "not at its end"}


def test_a_target_that_was_never_tried_is_lost() -> None:
    """INV-1: each delivery of an event counts, not the event."""
    assert broken(judged(FAILED, TAKEN)) == {"lost", "not at its end"}


def test_what_waits_or_is_dead_is_not_lost_and_not_at_its_end() -> None:
    """INV-1, and more: at the end of a run what its target would take has been taken."""
    assert broken(judged(SHAKY, FAILED, letters=[LETTER])) == {"not at its end", "to the wrong end"}
    assert broken(judged(SHAKY, FAILED, waiting=[WAITING])) == {"not at its end"}


@pytest.mark.parametrize(("outcome", "wrong"), [("deferred", set()), ("failed", {"not at its end"})])
def test_what_will_be_dead_may_wait_for_its_circuit_only(outcome: str, wrong: set[str]) -> None:
    """A deferral costs no attempt, so its end may be far; one that fails on and on must come to its end."""
    receipt, failed = an_attempt("failing", 1_010, ok=False, next_ms=1_900)
    last = replace(failed, attempt_id="last", outcome=outcome, attempt=2, started_ms=2_000, ended_ms=2_000)
    receipts = [receipt] if outcome == "deferred" else [receipt, replace(receipt, began_ms=2_000)]
    verdict = judged(
        rows=[replace(ROW, type="load.x.fail")],
        receipts=receipts,
        turns=[failed, replace(last, next_ms=59_000)],
        waiting=[replace(WAITING, target="endpoint:failing")],
    )
    assert broken(verdict) == wrong


@pytest.mark.parametrize("due_ms", [1_900, 99_000_000])
def test_what_waits_long_after_it_was_due_or_for_ever_is_stuck(due_ms: float) -> None:
    """A lane that nobody moves is no waiting room, and no tier is so long."""
    verdict = judged(SHAKY, FAILED, waiting=[replace(WAITING, due_ms=due_ms)])
    assert "stuck in a topic" in broken(verdict)


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


def test_bytes_and_signatures_are_compared() -> None:
    """INV-5: with what Postgres has, and by a package that is not ours."""
    receipt, turn = TAKEN
    assert broken(judged(SHAKY, FAILED, (replace(receipt, sha256="bb"), turn))) == {"wrong bytes"}
    assert broken(judged(SHAKY, FAILED, (replace(receipt, signed=False), turn))) == {"wrong signatures"}


def test_an_event_that_was_never_committed_is_told() -> None:
    """What Postgres rolled back must not arrive."""
    receipts = [SHAKY[0], FAILED[0], TAKEN[0], replace(TAKEN[0], event_id="e9")]
    assert broken(judged(SHAKY, FAILED, TAKEN, receipts=receipts)) == {"never committed"}


def test_a_target_that_does_not_want_the_event_gets_nothing() -> None:
    """INV-6, CASES 12: neither a request nor a dead letter of somebody else's event."""
    assert broken(judged(SHAKY, FAILED, TAKEN, an_attempt("late", 1_010, ok=True))) == {
        "to who does not want it"
    }
    letter = replace(LETTER, target="endpoint:late")
    assert broken(judged(SHAKY, FAILED, TAKEN, letters=[letter])) == {"to who does not want it"}


def test_an_answer_without_a_record_is_told() -> None:
    """The delivery log would not know of it; a crash may take the record, nothing else."""
    receipts = [SHAKY[0], FAILED[0], TAKEN[0]]
    turns = [SHAKY[1], FAILED[1]]
    assert broken(judged(receipts=receipts, turns=turns)) == {"answers without a record"}
    assert broken(judged(receipts=receipts, turns=turns, faults=[crash(2_002, committed=5)])) == set()


def given_up(*, attempts: int) -> list[Attempt]:
    """A delivery that was tried so often, each time as late as the schedule allows."""
    waits_ms = [float(wait.removesuffix("s")) * 1000 for wait in SCHEDULE.split(",")]
    at_ms, found = 1_010.0, []
    for number in range(1, attempts + 1):
        wait_ms = waits_ms[min(number, len(waits_ms)) - 1]
        found.append(an_attempt("failing", at_ms, number=number, ok=False, next_ms=at_ms + wait_ms))
        at_ms += wait_ms + 10
    return found


@pytest.mark.parametrize(
    ("attempts", "rules"),
    [
        (ATTEMPTS - 1, {"fewer attempts than promised"}),
        (ATTEMPTS, set()),
        (ATTEMPTS + 1, {"more attempts than allowed"}),
    ],
)
def test_n_attempts_are_exactly_n(attempts: int, rules: set[str]) -> None:
    """INV-7, CASES 5: no fewer before a delivery is given up, and no more."""
    letter = replace(LETTER, target="endpoint:failing", appended_ms=50_000)
    row = replace(ROW, type="load.x.fail")
    assert broken(judged(*given_up(attempts=attempts), rows=[row], letters=[letter])) == rules


def test_one_dead_letter_for_one_delivery() -> None:
    """Twice in the dead letters without a crash is a fault."""
    letter = replace(LETTER, target="endpoint:failing", appended_ms=50_000)
    row = replace(ROW, type="load.x.fail")
    verdict = judged(*given_up(attempts=ATTEMPTS), rows=[row], letters=[letter, letter])
    assert broken(verdict) == {"dead letters repeated"}


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


def test_the_delivery_log_has_every_attempt_once_and_each_delivery_as_it_stands() -> None:
    """What the recorder wrote is held against what the workers said."""
    right = in_the_log([SHAKY[1], FAILED[1], TAKEN[1]])
    ids = [SHAKY[1].attempt_id, FAILED[1].attempt_id, TAKEN[1].attempt_id]
    for attempts in (Counter(ids[:2]), Counter([*ids, ids[0]]), Counter([*ids, "another"])):
        verdict = judged(SHAKY, FAILED, TAKEN, logged=replace(right, attempts=attempts))
        assert broken(verdict) == {"attempts not in the log, or too many"}
    for found in ([], ["retrying"], ["succeeded", "succeeded"], ["failed"]):
        verdict = judged(
            SHAKY, FAILED, TAKEN, logged=replace(right, statuses={**right.statuses, TAKEN[1].delivery: found})
        )
        assert broken(verdict) == {"deliveries wrong in the log"}


def test_an_endpoint_that_is_down_is_probed_a_bounded_number_of_times() -> None:
    """CASES 7: two workers and a minute allow some dozens of attempts, and no more."""
    row = replace(ROW, type="load.x.down")
    tries = [an_attempt("down", 2_000 + 10 * index, ok=False)[0] for index in range(400)]
    waiting = [replace(WAITING, target="endpoint:down")]
    verdict = judged(rows=[row], receipts=tries[:280], waiting=waiting)
    assert verdict.line("down, and hammered").holds
    verdict = judged(rows=[row], receipts=tries, waiting=waiting)
    assert not verdict.line("down, and hammered").holds


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
