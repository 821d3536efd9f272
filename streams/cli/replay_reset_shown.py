"""How a reset is shown: per partition, per type, per target; and what it would lose, before anything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import typer
from rich.console import Console

from connectors.counted import counted
from connectors.kafka.group_offsets import GroupMember
from streams import topics
from streams.cli.shown import a_table, print_json, printable
from streams.commit.metadata import Run
from streams.reset.look import Counts, Look
from streams.reset.plan import PartitionPlan, offsets_in

__all__ = ["Shown", "listed_members", "show_reset"]

_MOST_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A reset that was planned, and perhaps executed. `with_handlers`: whether the handlers are known."""

    plans: Sequence[PartitionPlan]
    look: Look
    members: Sequence[GroupMember]
    with_handlers: bool
    executed: bool
    written: bool


def show_reset(shown: Shown, *, as_json: bool) -> None:
    """Print it."""
    if as_json:
        print_json(_fields(shown))
        return
    _show_partitions(shown)
    if _offsets(shown, "skipped"):
        typer.secho(
            f"SKIPPED: {_how_many(shown, 'skipped')} would never be delivered by a worker."
            if not shown.written
            else f"SKIPPED: {_how_many(shown, 'skipped')}, never to be delivered by a worker.",
            err=True,
            bold=True,
        )
        _show_counts(shown, shown.look.skipped)
    typer.echo(f"Read again: {_how_many(shown, 'again')}.")
    if _offsets(shown, "again"):
        _show_counts(shown, shown.look.again)
    if not shown.with_handlers and (_offsets(shown, "again") or _offsets(shown, "skipped")):
        typer.echo("Handlers are not counted: --handlers MODULE, or OUTBOX_HANDLERS, counts them too.")
    typer.echo(_conclusion(shown))


def listed_members(members: Iterable[GroupMember]) -> str:
    """The members, a line each."""
    return "\n".join(
        f"  {printable(member.client_id)} at {printable(member.host)} ({printable(member.member_id)})"
        for member in members
    )


def _show_partitions(shown: Shown) -> None:
    table = a_table("partition", "from", "to", "read again", "skipped", "")
    for plan in shown.plans:
        committed = plan.standing.committed
        table.add_row(
            str(plan.number),
            "nothing" if committed is None else str(committed),
            str(plan.to),
            _count(shown, plan, "again"),
            _count(shown, plan, "skipped"),
            plan.note or ("" if plan.changes else "stays"),
        )
    console = Console(markup=False)
    console.print(f"Group {topics.WORKER_GROUP} on {topics.EVENTS}:", highlight=False)
    console.print(table)


def _show_counts(shown: Shown, counts: Counts) -> None:
    if not shown.look.whole:
        typer.echo(
            f"  Of a sample of {counted(counts.events, 'event')}, spread evenly over them (--look looks at more):"
        )
    for title, counter in (("type", counts.types), ("target", counts.targets)):
        for name, number in counter.most_common(_MOST_SHOWN):
            typer.echo(f"  {title:<6}  {number:>9}  {printable(name)}")
        if len(counter) > _MOST_SHOWN:
            typer.echo(f"  {title:<6}  and {len(counter) - _MOST_SHOWN} more (--json has all)")


def _conclusion(shown: Shown) -> str:
    if shown.written:
        return "The offsets are set. The workers begin there when they start."
    if not any(plan.changes for plan in shown.plans):
        return "Nothing to set: the group stands there."
    said = "Nothing was changed. --execute sets the offsets"
    if _offsets(shown, "skipped"):
        said += ", with --skip"
    if shown.members:
        said += (
            f"; not now, while {counted(len(shown.members), 'member')} of the group may commit, and these numbers "
            f"move:\n{listed_members(shown.members)}"
        )
        return said
    return f"{said}."


def _runs(plan: PartitionPlan, kind: str) -> Sequence[Run]:
    return plan.again if kind == "again" else plan.skipped


def _offsets(shown: Shown, kind: str) -> int:
    return sum(offsets_in(_runs(plan, kind)) for plan in shown.plans)


def _counts(shown: Shown, kind: str) -> Counts:
    return shown.look.again if kind == "again" else shown.look.skipped


def _how_many(shown: Shown, kind: str) -> str:
    if shown.look.whole:
        return counted(_counts(shown, kind).events, "event")
    return f"{counted(_offsets(shown, kind), 'event')} at most"


def _count(shown: Shown, plan: PartitionPlan, kind: str) -> str:
    if shown.look.whole:
        return str(_counts(shown, kind).by_partition[plan.number])
    offsets = offsets_in(_runs(plan, kind))
    return f"≤ {offsets}" if offsets else "0"


def _fields(shown: Shown) -> dict[str, Any]:
    return {
        "group": topics.WORKER_GROUP,
        "topic": topics.EVENTS,
        "executed": shown.executed,
        "written": shown.written,
        "counted": "all" if shown.look.whole else "sample",
        "handlers_counted": shown.with_handlers,
        "members": [
            {"client_id": member.client_id, "host": member.host, "member_id": member.member_id}
            for member in shown.members
        ],
        "partitions": [
            {
                "partition": plan.number,
                "from": plan.standing.committed,
                "to": plan.to,
                "changes": plan.changes,
                **{f"{kind}_at_most": offsets_in(_runs(plan, kind)) for kind in ("again", "skipped")},
                "note": plan.note,
            }
            for plan in shown.plans
        ],
        **{
            kind: {
                "events_at_most": _offsets(shown, kind),
                "events_seen": counts.events,
                "types": _ordered(counts.types),
                "targets": _ordered(counts.targets),
            }
            for kind, counts in (("again", shown.look.again), ("skipped", shown.look.skipped))
        },
    }


def _ordered(counter: Counter[str]) -> dict[str, int]:
    return dict(counter.most_common())
