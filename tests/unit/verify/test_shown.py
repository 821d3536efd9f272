"""How a verification is shown, and how the command ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from streams.cli.verify_shown import exit_code, report_fields, show_report
from streams.verify.judgement import ACCOUNTED, REASONS, Verdict
from streams.verify.report import BrokenEvent, Report
from tests.support.verified_event import BASE

HEALTHY = Report(
    since=BASE,
    until=BASE + timedelta(hours=1),
    source="both",
    rows=4,
    on_kafka=3,
    verdicts=dict.fromkeys(Verdict, 0) | {Verdict.DELIVERED: 2, Verdict.WAITING: 1, Verdict.DEAD: 1},
    deliveries={"succeeded": 2},
    events=(),
    not_judged=None,
    warnings=(),
)
LOST = BrokenEvent(id=UUID(int=7), type="order.\x1b[31mpaid", created_at=BASE, verdict=Verdict.NO_OUTCOME)


def with_verdict(verdict: Verdict, number: int, *, not_judged: str | None = None) -> Report:
    return replace(HEALTHY, verdicts={**HEALTHY.verdicts, verdict: number}, not_judged=not_judged)


@pytest.mark.parametrize("verdict", Verdict)
def test_inv_1_it_ends_with_1_where_an_event_is_lost(verdict: Verdict) -> None:
    """And with 0 only where every one is accounted for."""
    report = with_verdict(verdict, 3)
    assert exit_code(report) == (0 if verdict in ACCOUNTED else 1)
    assert report.unaccounted == (3 if verdict in REASONS else 0)


def test_what_cannot_be_judged_yet_is_no_loss() -> None:
    """Code 2 where the connector is behind; but what is lost besides is an alarm."""
    behind = with_verdict(Verdict.NOT_ON_KAFKA, 5, not_judged="it is behind")
    assert (behind.unaccounted, behind.unjudged, exit_code(behind)) == (0, 5, 2)
    both = replace(behind, verdicts={**behind.verdicts, Verdict.WAIT_LOST: 1})
    assert (both.unaccounted, both.unjudged, exit_code(both)) == (1, 5, 1)
    # Nothing is missing: whether the connector is behind does not matter.
    assert exit_code(with_verdict(Verdict.DEAD, 1, not_judged="it is behind")) == 0


def test_the_sum_stands_in_the_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    """For a log: committed less all else, and what is left."""
    show_report(HEALTHY)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == (
        "verified against outbox.outbox and outbox.events: 4 committed - 2 delivered - 1 waiting - 1 dead - "
        "0 cancelled - 0 unwanted = 0 unaccounted"
    )


def test_what_is_lost_is_listed_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    """By id; how many are left out is said; and no event's type steers the terminal."""
    report = replace(with_verdict(Verdict.NO_OUTCOME, 3), events=(LOST,), warnings=("the log begins\x1b[0m",))
    show_report(report)
    said = capsys.readouterr()
    assert str(LOST.id) in said.out
    assert REASONS[Verdict.NO_OUTCOME] in said.out
    assert "and 2 others: see --limit" in said.out
    assert "= 3 unaccounted" in said.out
    assert "\x1b" not in said.out + said.err
    assert "the log begins" in said.err


def test_for_programs_all_of_it_is_there() -> None:
    """The names that the how-to has; the categories add up to what was committed."""
    fields = report_fields(replace(with_verdict(Verdict.NO_OUTCOME, 1), events=(LOST,)))
    assert fields["events"] == [
        {"id": str(LOST.id), "type": LOST.type, "created_at": BASE, "reason": "no-outcome"}
    ]
    assert fields["exit_code"] == 1
    accounted = sum(fields[verdict.value] for verdict in ACCOUNTED)
    assert fields["committed"] == accounted + fields["unaccounted"] + fields["unjudged"] == 5
    assert sum(fields["reasons"].values()) == 1
