"""What the benchmarks show: tables, rates, latencies, the page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.database_work import DatabaseWork
from benchmarks.distribution import Distribution
from benchmarks.document import Run, page
from benchmarks.latencies import duplicates, first_receipts, latencies
from benchmarks.load import Commit
from benchmarks.machine import Machine
from benchmarks.picture import Curve
from benchmarks.rate import rate_per_s
from benchmarks.receiver import Receipt
from benchmarks.results import Results, comparison
from benchmarks.table import Table, markdown

TABLE = Table(title="Some", columns=("system", "p50"), rows=(("a|b", "1.0"), ("c", "2.0")), notes=("Said.",))


def test_a_table_is_written_as_markdown() -> None:
    """Numbers to the right, a bar inside a cell escaped, notes as a list."""
    assert markdown(TABLE).splitlines() == [
        "### Some",
        "",
        "| system | p50 |",
        "| :-- | --: |",
        "| a\\|b | 1.0 |",
        "| c | 2.0 |",
        "",
        "- Said.",
    ]


def test_a_ragged_table_is_refused() -> None:
    """A row with a cell too few would shift its numbers under the wrong names."""
    with pytest.raises(ValueError, match="1 cells in a row of 2"):
        Table(title="T", columns=("a", "b"), rows=(("x",),))


def test_a_rate_leaves_the_warm_up_out() -> None:
    """From the last skipped moment on: a slow start doesn't count, and neither does its first interval."""
    assert rate_per_s([0.0, 10.0, 10.5, 11.0], skip=2) == 2.0


def test_a_rate_of_batches_counts_their_pauses() -> None:
    """Twenty at once every two seconds are ten a second, however many batches were seen."""
    for batches in (2, 5):
        moments = [batch * 2.0 + row * 0.001 for batch in range(batches) for row in range(20)]
        assert rate_per_s(moments, skip=20) == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize(("moments", "skip"), [([], 1), ([1.0], 1), ([1.0, 1.0], 1), ([1.0, 2.0], 0)])
def test_no_rate_without_two_moments(moments: list[float], skip: int) -> None:
    """Nothing is divided by nothing."""
    assert rate_per_s(moments, skip=skip) is None


def commit(event_id: str, at_s: float) -> Commit:
    return Commit(event_id, "order.created", 0.0, at_s, 0.0)


def test_latency_is_from_the_commit_to_the_first_receipt() -> None:
    """A second receipt of the same event counts as a duplicate, not as its latency."""
    receipts = [Receipt(10.3, "a", 0), Receipt(10.1, "a", 0), Receipt(11.0, "b", 0)]
    found = latencies([commit("a", 10.0), commit("b", 10.0)], first_receipts(receipts), ended_at_s=20.0)

    assert found.ended_ms == pytest.approx((100, 1000))
    assert duplicates(receipts) == 1


def test_an_event_that_never_came_has_waited_until_the_end() -> None:
    """It is among the latencies with what it had waited, and known as unended."""
    found = latencies([commit("a", 10.0)], {}, ended_at_s=14.0)

    assert (found.ended_ms, found.ascending_ms) == ((), (4000.0,))


def results() -> Results:
    return Results(
        heading="Latency",
        method="How.",
        tables=(TABLE,),
        curves=(Curve(name="ours", latencies=Distribution.of([1.0, 2.0, 3.0])),),
        database=(
            DatabaseWork(system="ours", events=2_000, statements=0, transactions=3, rows_changed=4_000),
        ),
    )


def test_systems_stand_side_by_side() -> None:
    """Latencies in one table, and the database's work for each 1,000 events in another."""
    latency, database = comparison([results()])

    assert latency.rows == (("ours", "3", "2.0", "3.0", "3.0", "3.0", "0"),)
    assert database.rows == (("ours", "2,000", "0.0", "1.5", "2,000.0"),)
    assert comparison([]) == ()


def test_the_page_says_how_it_came_about() -> None:
    """Command, date, machine and versions stand above the numbers; the picture only if there is one."""
    run = Run(
        command="python -m benchmarks",
        started_at=datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
        took=timedelta(minutes=9),
        machine=Machine(lines=(("CPU", "Some, 2 cores"),)),
        results=[results()],
    )
    text = page(run, picture="benchmarks/latency.svg")

    for expected in (
        "| Command | `python -m benchmarks` |",
        "| Started | 2026-03-01 12:30 UTC, took 9 min |",
        "| CPU | Some, 2 cores |",
        "](benchmarks/latency.svg)",
        "## Side by side",
        "## Latency\n\nHow.\n\n### Some",
    ):
        assert expected in text
    assert "![" not in page(run, picture=None)
