"""The tables at the demo's end: what each endpoint and handler got, the dead letters by code, and the latency."""

from collections import Counter
from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from demo.evidence import Evidence
from demo.numbers import contacts, delivered_pairs
from demo.story import KINDS, SUBSCRIBERS
from demo.verdict import Verdict

__all__ = ["summarise"]

_HANDLERS: Mapping[str, str] = {
    "handler:confirm": "succeeds",
    "handler:refund": "raises PermanentError",
}

_NUMERIC = frozenset({"events", "calls", "delivered", "dead", "records"})


def summarise(console: Console, evidence: Evidence, verdict: Verdict) -> None:
    """Draw them."""
    console.print()
    console.print(_targets(evidence))
    console.print()
    console.print(_dead_letters(evidence))
    console.print()
    for line in _sentences(evidence, verdict):
        console.print(line, markup=False, soft_wrap=True)
    console.print()


def _targets(evidence: Evidence) -> Table:
    table = _table("target", "what it does", "events", "calls", "delivered", "dead")
    asked, delivered = contacts(evidence), delivered_pairs(evidence)
    behaviours = {f"endpoint:{subscriber.endpoint_id}": subscriber.what for subscriber in SUBSCRIBERS} | dict(
        _HANDLERS
    )
    for name, behaviour in behaviours.items():
        mine = {pair: times for pair, times in asked.items() if pair[1] == name}
        table.add_row(
            name,
            behaviour,
            str(len(mine)),
            str(sum(mine.values())),
            str(sum(pair[1] == name for pair in delivered)),
            str(sum(letter.target == name for letter in evidence.dead_letters)),
        )
    return table


def _dead_letters(evidence: Evidence) -> Table:
    table = _table("dead letters' code", "event type", "target", "records")
    types = {event.event_id: event.type for event in evidence.committed}
    groups = Counter(
        (letter.code, types.get(letter.event_id, "?"), letter.target or "nobody wants it")
        for letter in evidence.dead_letters
    )
    for (code, event_type, target), times in sorted(groups.items()):
        table.add_row(code, event_type, target, str(times))
    return table


def _sentences(evidence: Evidence, verdict: Verdict) -> list[str]:
    numbers, receipts = verdict.numbers, evidence.receipts
    signed = sum(receipt.signed for receipt in receipts)
    kinds = len(KINDS)
    return [
        f"{numbers.committed} events of {kinds} types were committed, each with its order.",
        f"{numbers.rolled_back} transactions were rolled back; none of their events may arrive.",
        f"{signed} of {len(receipts)} requests had a right signature.",
        f"Commit to receipt at the healthy endpoint: p50 {verdict.p50_ms:.1f} ms, p99 {verdict.p99_ms:.1f} ms.",
    ]


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        if column in _NUMERIC:  # in a narrow terminal text goes on in the next line; a number is never cut
            table.add_column(column, justify="right", no_wrap=True, min_width=len(column))
        else:
            table.add_column(column, overflow="fold")
    return table
