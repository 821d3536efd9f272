"""The verdict on a run: evidence in, lines out. Pure.

`case` indexes the evidence and says what a crash excuses; `accounts`, `attempts`, `delivery_log` and `recovery` are the
rules. Every
rule must find nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.faults.harness.accounts import ACCOUNTS
from tests.faults.harness.attempts import ATTEMPT_RULES, repetitions
from tests.faults.harness.case import Case
from tests.faults.harness.delivery_log import LOG_RULES
from tests.faults.harness.facts import Evidence, Fault
from tests.faults.harness.plan import Behaviour
from tests.faults.harness.recovery import late_in_the_calm, recoveries

__all__ = ["FaultLine", "Line", "Verdict", "judge"]

_EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the verdict: what must be zero, how many there were, and some of their names."""

    rule: str
    count: int
    examples: Sequence[str] = ()

    @property
    def holds(self) -> bool:
        return self.count == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultLine:
    """A fault with what it cost. `repeatable` is how many deliveries it was allowed to repeat."""

    fault: Fault
    repeated: int
    repeatable: int
    recovery_s: float

    @property
    def in_time(self) -> bool:
        limit_s = self.fault.recovery_limit_s
        return limit_s is None or self.recovery_s <= limit_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The whole verdict."""

    lines: Sequence[Line]
    faults: Sequence[FaultLine]
    counts: Mapping[str, int]

    @property
    def holds(self) -> bool:
        return all(line.holds for line in self.lines)

    def line(self, rule: str) -> Line:
        return next(line for line in self.lines if line.rule == rule)


def judge(evidence: Evidence, *, targets: Mapping[str, Behaviour]) -> Verdict:
    """Judge a run.

    Args:
        evidence: all that is known of it.
        targets: the name of each target as on the wire, and how it behaves.
    """
    case = Case(evidence, targets)
    lines = [_line(rule, find(case)) for rule, find in {**ACCOUNTS, **ATTEMPT_RULES, **LOG_RULES}.items()]
    faults = _fault_lines(case)
    slow = [f"{line.fault.kind}: {line.recovery_s:.1f} s" for line in faults if not line.in_time]
    lines.append(_line("recovered too late", slow))
    lines.append(_line("late in the calm", late_in_the_calm(case)))
    return Verdict(lines=lines, faults=faults, counts=_counts(case))


def _fault_lines(case: Case) -> list[FaultLine]:
    repeated, took_s = repetitions(case), recoveries(case)
    return [
        FaultLine(
            fault=fault,
            repeated=sum(1 for _, excuse in repeated if excuse is fault),
            repeatable=sum(1 for delivery in case.expected if case.left_open(delivery, fault)),
            recovery_s=took_s[index],
        )
        for index, fault in enumerate(case.evidence.faults)
    ]


def _counts(case: Case) -> dict[str, int]:
    return {
        "events committed": len(case.rows),
        "deliveries expected": len(case.expected),
        "delivered": sum(case.taken(delivery) for delivery in case.expected),
        "dead letters": len(case.evidence.letters),
        "waiting": len(case.evidence.waiting),
        "attempts seen by targets": len(case.evidence.receipts),
        "turns recorded": len(case.evidence.turns),
    }


def _line(rule: str, found: Sequence[str]) -> Line:
    return Line(rule=rule, count=len(found), examples=tuple(found[:_EXAMPLES]))
