"""Evidence made by hand, for the judge of the fault harness: one event, and what is said of it from all sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

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
from tests.faults.harness.plan import BEHAVIOURS
from tests.support.topics import Committed

__all__ = [
    "AGAIN",
    "EVENTS",
    "FAILED",
    "LETTER",
    "PLACE",
    "ROW",
    "SHAKY",
    "TAKEN",
    "TARGETS",
    "WAITING",
    "Attempt",
    "an_attempt",
    "broken",
    "crash",
    "in_the_log",
    "judged",
]

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
