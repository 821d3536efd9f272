"""`outbox replay reset`: where the workers begin on `outbox.events` when they start again.

It reads the group's offsets and the range between, and shows what a reset would do. `--execute` writes the offsets
while no worker is in the group, beside an entry in the audit table. Every target gets the range again: a replay of
a range (docs/howto/reset-offsets.md) is the way for fewer.
"""

import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Annotated, Any, Final

import psycopg
import typer

import outbox
from connectors.counted import counted
from connectors.kafka.errors import OffsetsUncertain
from connectors.kafka.group_offsets import GroupMember, GroupOffsets
from connectors.kafka.range_reader import RangeReader
from connectors.kafka.topic_offsets import TopicOffsets
from connectors.postgres.audit import AuditLog
from connectors.postgres.connection import connect, statement_errors
from connectors.postgres.errors import PostgresError
from outbox.event_id import new_event_id
from outbox.handlers import Handler
from streams import topics
from streams.cli.endpoint_store import cli_actor
from streams.cli.errors import said_plainly
from streams.cli.handlers_loading import load_handlers
from streams.cli.handlers_option import HandlersOption
from streams.cli.replay_reset_aim import aim_of
from streams.cli.replay_reset_shown import Shown, listed_members, show_reset
from streams.cli.shown import TIME_HELP
from streams.duration import parse_duration
from streams.errors import ResetRefused, StreamsError
from streams.reset.audience import Audience
from streams.reset.endpoints_now import endpoints_now
from streams.reset.look import Look, look_at
from streams.reset.offsets import OffsetReset
from streams.reset.plan import PartitionPlan, offsets_in
from streams.settings import Settings, load_settings

__all__ = ["reset"]

_LOOKED_AT: Final = 100_000


def reset(  # noqa: PLR0913 - one option for each way
    *,
    to_time: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"To the first event that Kafka got then or later: {TIME_HELP}."),
    ] = None,
    to_offset: Annotated[
        list[str] | None,
        typer.Option(metavar="P:N", help="Partition P to offset N; others are left alone. Repeatable."),
    ] = None,
    to_earliest: Annotated[
        bool, typer.Option("--to-earliest", help="To the first event that Kafka keeps.")
    ] = False,
    shift_by: Annotated[
        int | None, typer.Option(metavar="N", help="By N offsets in each partition; back, if it is negative.")
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Do it. Else it is only shown, and nothing changes.")
    ] = False,
    skip: Annotated[
        bool, typer.Option("--skip", help="Let events be skipped: no worker ever reads those.")
    ] = False,
    wait: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="Wait until no worker is in the group, so long at most, such as 2m."
        ),
    ] = None,
    handlers: HandlersOption = "",
    look: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Look at N events at most, for types and targets; of more, a sample."
        ),
    ] = _LOOKED_AT,
    without_audit: Annotated[
        bool,
        typer.Option("--without-audit", help="Write no entry into the audit table: Postgres is not needed."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Set where the workers begin on `outbox.events` when they start again. Every target gets what is read again.

    For some targets, types or aggregates, or while the workers run, use a replay instead. Shown is per partition from
    where to where, and how many events, of which types, for whom. To be executed, it needs all workers stopped. Retry
    topics and `outbox.redelivery` are not touched.
    """
    aim = aim_of(to_time=to_time, to_offset=to_offset or (), to_earliest=to_earliest, shift_by=shift_by)
    limit = _limit(wait, execute=execute)
    with said_plainly():
        audited = execute and not without_audit
        settings = load_settings(
            needs=("kafka_bootstrap_servers", "database_url") if audited else ("kafka_bootstrap_servers",)
        )
        resetting = OffsetReset(
            group=GroupOffsets(settings.kafka_bootstrap_servers),
            topic=TopicOffsets(settings.kafka_bootstrap_servers),
        )
        with _audit(settings) if audited else _no_audit() as connection:
            members = resetting.wait_until_empty(limit, monotonic_s=time.monotonic, pause=time.sleep)
            if execute and members:
                raise _occupied(members)
            plans = resetting.plan(aim)
            _check_skip(plans, execute=execute, skip=skip)
            used = _handlers(handlers or settings.handlers)
            found = _look(settings, plans, most=look, handlers=used or ())
            written = execute and any(plan.changes for plan in plans)
            if written:
                _write(resetting, plans, found, connection)
    show_reset(
        Shown(
            plans=plans,
            look=found,
            members=members,
            with_handlers=used is not None,
            executed=execute,
            written=written,
        ),
        as_json=as_json,
    )


def _limit(wait: str | None, *, execute: bool) -> timedelta:
    if wait is None:
        return timedelta()
    if not execute:
        raise typer.BadParameter("there is nothing to wait for without --execute", param_hint="--wait")
    try:
        return parse_duration(wait)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--wait") from None


def _occupied(members: Sequence[GroupMember]) -> ResetRefused:
    return ResetRefused(
        f"group {topics.WORKER_GROUP} has {counted(len(members), 'member')}, and offsets are set for an empty group "
        f"only:\n{listed_members(members)}\nStop the workers, and try again; --wait 2m waits for their end. One that "
        "was killed is a member until its session times out (OUTBOX_SESSION_TIMEOUT_S)"
    )


def _check_skip(plans: Iterable[PartitionPlan], *, execute: bool, skip: bool) -> None:
    skipped = sum(offsets_in(plan.skipped) for plan in plans)
    if execute and skipped and not skip:
        raise ResetRefused(
            f"this would skip {counted(skipped, 'event')} at most, which are then never delivered: "
            "without --execute it says which. If they are to be lost, add --skip"
        )


def _handlers(module: str) -> tuple[Handler, ...] | None:
    """The application's handlers; None where nobody says where they are."""
    if not module:
        return None
    load_handlers(module)
    return tuple(outbox.handlers)


def _look(
    settings: Settings, plans: Sequence[PartitionPlan], *, most: int, handlers: Iterable[Handler]
) -> Look:
    servers = settings.kafka_bootstrap_servers
    audience = Audience(endpoints_now(servers), handlers)
    return look_at(
        plans,
        most=most,
        wanted_by=audience.of,
        read_range=lambda begins, ends: RangeReader(
            servers, topic=topics.EVENTS, begins=begins, ends=ends, client_id="outbox-reset"
        ),
    )


def _write(
    resetting: OffsetReset,
    plans: Sequence[PartitionPlan],
    look: Look,
    connection: psycopg.Connection[Any] | None,
) -> None:
    """Write the offsets, and an audit entry that is there before Kafka is asked, and kept if Kafka did it."""
    reset_id = str(new_event_id())
    if connection is None:
        resetting.write(plans, reset_id=reset_id)
        return
    log, fields, is_set = AuditLog(connection), _audited(plans, look, reset_id), False
    try:
        with statement_errors(), connection.transaction():
            log.add(cli_actor(), "offsets.reset", endpoint_id=None, fields=fields)
            resetting.write(plans, reset_id=reset_id)
            is_set = True
    except OffsetsUncertain as uncertain:
        try:
            log.add(cli_actor(), "offsets.reset_uncertain", endpoint_id=None, fields=fields)
        except PostgresError as error:
            raise StreamsError(f"{uncertain}; and the audit table has no entry of it: {error}") from error
        raise
    except PostgresError as error:
        if not is_set:
            raise
        raise StreamsError(f"the offsets are set, but the audit table has no entry of it: {error}") from error


def _audited(plans: Sequence[PartitionPlan], look: Look, reset_id: str) -> tuple[str, ...]:
    """What an entry says, in texts. Offsets and counts: nothing of it is a secret."""
    exact = look.whole
    again = look.again.events if exact else sum(offsets_in(plan.again) for plan in plans)
    skipped = look.skipped.events if exact else sum(offsets_in(plan.skipped) for plan in plans)
    return (
        f"reset {reset_id}",
        f"read again: {'' if exact else 'up to '}{again}",
        f"skipped: {'' if exact else 'up to '}{skipped}",
        *(
            f"{topics.EVENTS}/{plan.number}: {plan.standing.committed} to {plan.to}"
            for plan in plans
            if plan.changes
        ),
    )


@contextmanager
def _audit(settings: Settings) -> Generator[psycopg.Connection[Any]]:
    with connect(settings.database_url.get_secret_value()) as connection:
        connection.autocommit = True
        yield connection


@contextmanager
def _no_audit() -> Generator[None]:
    yield None
