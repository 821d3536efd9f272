"""The judge of the fault harness, on evidence made by hand: what it must call lost, early, wrong or repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.faults.harness.facts import Commits, Evidence, Fault, Letter, Place, Receipt, Row, Turn, Waiting
from tests.faults.harness.judge import Verdict, judge
from tests.faults.harness.plan import BEHAVIOURS
from tests.support.topics import Committed

EVENTS = ("outbox.events", 0)
TARGETS = {f"endpoint:{behaviour.name}": behaviour for behaviour in BEHAVIOURS}
ROW = Row(event_id="e1", type="load.x.flaky", sha256="aa", created_ms=1_000)
FAILED = Receipt(
    event_id="e1", target="endpoint:flaky", began_ms=1_010, answered_ms=1_011, ok=False, sha256="aa"
)
TAKEN = replace(FAILED, began_ms=2_000, answered_ms=2_001, ok=True)
TURN = Turn(
    event_id="e1",
    target="endpoint:flaky",
    attempt=1,
    deferrals=0,
    outcome="failed",
    started_ms=1_010,
    ended_ms=1_012,
    next_ms=1_900,
    recorded_ms=1_014,
)
DONE = replace(
    TURN, attempt=2, outcome="succeeded", started_ms=2_000, ended_ms=2_002, next_ms=None, recorded_ms=2_004
)
SHAKY = (
    replace(FAILED, target="endpoint:shaky", ok=True),
    replace(DONE, target="endpoint:shaky", attempt=1, started_ms=1_010, ended_ms=1_011),
)
PLACE = Place(event_id="e1", target=None, partition=EVENTS, offset=5, appended_ms=1_005)


def crash(at_ms: float, *, committed: int) -> Fault:
    return Fault(
        kind="killed",
        detail="kill -9",
        began_ms=at_ms,
        healed_ms=at_ms,
        ended_ms=at_ms,
        recovery_limit_s=15.0,
        repeats=Commits({"outbox.events"}, {EVENTS: Committed(offset=committed, metadata="")}),
        struck_ms=(at_ms, at_ms),
    )


def judged(*receipts: Receipt, **changes: object) -> Verdict:
    evidence = Evidence(
        rows=[ROW],
        receipts=[*receipts, SHAKY[0]],
        turns=[TURN, DONE, SHAKY[1]],
        letters=[],
        waiting=[],
        places=[PLACE],
        faults=[],
        ended_ms=60_000,
        leaks={},
        deaths=[],
    )
    return judge(replace(evidence, **changes), targets=TARGETS)  # type: ignore[arg-type]  # by name


def broken(verdict: Verdict) -> set[str]:
    return {line.rule for line in verdict.lines if not line.holds}


def test_a_retry_that_came_when_it_was_due_is_right() -> None:
    """Failed once, taken once, each target accounted for: everything holds."""
    assert broken(judged(FAILED, TAKEN)) == set()


def test_what_nobody_took_is_lost() -> None:
    """INV-1: committed, and neither delivered nor dead nor waiting, by each target."""
    assert broken(judged(FAILED)) == {"lost"}


def test_a_target_that_was_never_tried_is_lost() -> None:
    """INV-1: each delivery of an event counts, not the event."""
    verdict = judged(FAILED, TAKEN, receipts=[FAILED, TAKEN], turns=[TURN, DONE])
    assert verdict.line("lost").count == 1


def test_a_dead_letter_or_a_place_in_a_topic_is_no_loss() -> None:
    """INV-1: parked and dead are accounted for; that this delivery is dead is another fault."""
    letter = Letter(event_id="e1", target="endpoint:flaky", code="ENDPOINT_EXHAUSTED")
    waits = Waiting(
        event_id="e1", target="endpoint:flaky", topic="outbox.retry-1s", appended_ms=1_014, due_ms=59_000
    )
    assert broken(judged(FAILED, letters=[letter])) == {"to the wrong end"}
    assert broken(judged(FAILED, waiting=[waits])) == set()


def test_what_waits_long_after_it_was_due_is_stuck() -> None:
    """A lane that nobody moves is no waiting room."""
    waits = Waiting(
        event_id="e1", target="endpoint:flaky", topic="outbox.retry-1s", appended_ms=1_014, due_ms=1_900
    )
    assert broken(judged(FAILED, waiting=[waits])) == {"stuck in a topic"}


@pytest.mark.parametrize("began_ms", [1_300, 1_890])
def test_a_retry_before_its_time_is_early(began_ms: float) -> None:
    """INV-3: sooner than any lane holds, or than the record of the attempt before had said."""
    again = replace(TAKEN, began_ms=began_ms, answered_ms=began_ms)
    assert broken(judged(FAILED, again)) == {"early"}


def test_bytes_and_signatures_are_compared() -> None:
    """INV-5: with what Postgres has, and by a package that is not ours."""
    assert broken(judged(FAILED, replace(TAKEN, sha256="bb"))) == {"wrong bytes"}
    assert broken(judged(FAILED, replace(TAKEN, signed=False))) == {"wrong signatures"}


def test_an_event_that_was_never_committed_is_told() -> None:
    """What Postgres rolled back must not arrive."""
    assert broken(judged(FAILED, TAKEN, replace(TAKEN, event_id="e9"))) == {"never committed"}


def test_taken_twice_without_a_crash_is_repeated() -> None:
    """INV-8: nothing but a crash repeats."""
    again = replace(TAKEN, began_ms=5_000, answered_ms=5_001)
    assert broken(judged(FAILED, TAKEN, again)) == {"repeated without a crash"}


def test_a_crash_excuses_one_repetition_of_what_no_commit_covered() -> None:
    """INV-8: what was in flight or settled since the last commit, once; the second repetition is a fault."""
    again = replace(TAKEN, began_ms=5_000, answered_ms=5_001)
    verdict = judged(FAILED, TAKEN, again, faults=[crash(2_010, committed=5)])
    assert broken(verdict) == set()
    assert [(line.repeated, line.repeatable) for line in verdict.faults] == [(1, 2)]
    third = replace(TAKEN, began_ms=7_000, answered_ms=7_001)
    assert "repeated without a crash" in broken(
        judged(FAILED, TAKEN, again, third, faults=[crash(2_010, committed=5)])
    )


@pytest.mark.parametrize(
    "fault",
    [crash(2_010, committed=6), crash(1_001, committed=5), crash(6_000, committed=5)],
    ids=["it was committed", "it had not begun", "it came after"],
)
def test_a_crash_that_did_not_hit_it_excuses_nothing(fault: Fault) -> None:
    """INV-8: a crash elsewhere, earlier or later is no excuse."""
    again = replace(TAKEN, began_ms=5_000, answered_ms=5_001)
    assert "repeated without a crash" in broken(judged(FAILED, TAKEN, again, faults=[fault]))


def test_repeated_though_its_settling_was_long_ago_is_told() -> None:
    """INV-8: a commit is never so late that something settled seconds before a crash comes again."""
    again = replace(TAKEN, began_ms=9_000, answered_ms=9_001)
    assert broken(judged(FAILED, TAKEN, again, faults=[crash(8_000, committed=5)])) == {
        "repeated though long settled"
    }


def test_an_answer_that_the_worker_never_heard_makes_its_retry_no_repetition() -> None:
    """The target took it, the attempt failed by its record: to try again is right."""
    taken = replace(FAILED, ok=True)
    assert broken(judged(taken, TAKEN)) == set()


def test_recovery_lasts_until_the_last_late_thing_has_come() -> None:
    """A first attempt that comes 20 s after its commit makes the recovery of the fault before it 20 s long."""
    row = replace(ROW, event_id="e2", type="load.x.plain", created_ms=3_000)
    late = replace(TAKEN, event_id="e2", target="endpoint:steady", began_ms=23_500, answered_ms=23_500)
    other = replace(late, target="endpoint:ledger", began_ms=3_010, answered_ms=3_010)
    fault = crash(3_500, committed=9)
    verdict = judged(FAILED, TAKEN, late, other, rows=[ROW, row], faults=[fault])
    assert broken(verdict) == {"recovered too late"}
    assert [line.recovery_s for line in verdict.faults] == [20.0]
