"""The judge of the fault harness, on evidence made by hand: what it must call lost, wrong, or unaccounted for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.faults.harness.plan import ATTEMPTS, SCHEDULE
from tests.support.judged_evidence import (
    FAILED,
    LETTER,
    ROW,
    SHAKY,
    TAKEN,
    WAITING,
    Attempt,
    an_attempt,
    broken,
    crash,
    in_the_log,
    judged,
)


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
