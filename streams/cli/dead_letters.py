"""`outbox dead-letters`: what died, and why; sent again, or put aside.

Reads and changes Postgres, as fresh as the recorder that writes there; a redrive reads Kafka, and puts the deliveries
on `outbox.redelivery` for the workers. Shows no payload: Postgres has none.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final

import psycopg
import typer

from connectors.counted import counted
from connectors.postgres.connection import connect
from connectors.postgres.dead_letter import LETTER_STATUSES, DeadLetterQuery, LetterStatus
from connectors.postgres.dead_letters import DeadLetters, LetterGroup
from connectors.postgres.errors import NothingToRedriveError
from connectors.postgres.redrives import Poison, RedriveStore
from streams.cli.endpoint_store import cli_actor
from streams.cli.errors import said_plainly
from streams.cli.letter_choice import (
    ClassOption,
    CodeOption,
    EventOption,
    SinceOption,
    TargetOption,
    TypeOption,
    UntilOption,
    as_of_now,
    letter_query,
    letter_statuses,
)
from streams.cli.letter_tables import (
    first_error_fields,
    group_fields,
    letter_fields,
    print_groups,
    print_letter,
    print_letters,
)
from streams.cli.recover import DETACH_HELP
from streams.cli.replay_run import carry_out
from streams.cli.shown import CursorOption, LimitOption, print_json
from streams.log import configure_log
from streams.replay.pace import DEFAULT_RATE_PER_S, LEAST_RATE_PER_S, MOST_RATE_PER_S
from streams.replay.process import release_here
from streams.settings import Settings, load_settings

__all__ = ["app"]

app = typer.Typer(
    name="dead-letters",
    help="What could not be delivered: look, send it again, or put it aside.",
    no_args_is_help=True,
    add_completion=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID…", help="Which, by their ids; or those that the options choose."),
]
All = Annotated[bool, typer.Option("--all", help="All that are open, where neither ids nor options choose.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say how many of which kind it would be; change nothing.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Don't ask before more than one.")]

_OPEN: Final[frozenset[LetterStatus]] = frozenset({"open"})


@app.command("list")
def list_letters(  # noqa: PLR0913 - one option for each filter
    *,
    code: CodeOption = None,
    class_: ClassOption = None,
    target: TargetOption = None,
    event_type: TypeOption = None,
    event: EventOption = None,
    status: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATUS", help=f"{', '.join(LETTER_STATUSES)}. Repeatable, or separated by commas."
        ),
    ] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
    as_json: AsJson = False,
) -> None:
    """List dead letters, newest first."""
    query = letter_query(
        code=code,
        class_=class_,
        target=target,
        event_type=event_type,
        event=event,
        since=since,
        until=until,
        statuses=letter_statuses(status),
    )
    with said_plainly(), _connected(_database()) as connection:
        page = DeadLetters(connection).list(query, limit=limit, cursor=cursor)
    if as_json:
        letters = [letter_fields(letter) for letter in page.letters]
        print_json({"dead_letters": letters, "next_cursor": page.next_cursor})
    else:
        print_letters(page)


@app.command()
def show(
    letter_id: Annotated[str, typer.Argument(metavar="ID", help="The dead letter's id, as in the list.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Show one dead letter: where it is from, its first and its last error, its attempts and times."""
    with said_plainly(), _connected(_database()) as connection:
        letters = DeadLetters(connection)
        letter = letters.get(letter_id)
        first = letters.first_error(letter)
    if as_json:
        print_json(letter_fields(letter) | first_error_fields(first))
    else:
        print_letter(letter, first)


@app.command()
def redrive(  # noqa: PLR0913 - one option for each filter
    ids: Ids = None,
    *,
    code: CodeOption = None,
    class_: ClassOption = None,
    target: TargetOption = None,
    event_type: TypeOption = None,
    event: EventOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    all_of_them: All = False,
    include_poison: Annotated[
        bool,
        typer.Option(
            "--include-poison",
            help="Those that can't be read, too. They die again, unless the workers can read them by now.",
        ),
    ] = False,
    rate_per_s: Annotated[
        float,
        typer.Option(
            "--rate",
            metavar="N",
            min=LEAST_RATE_PER_S,
            max=MOST_RATE_PER_S,
            help="At most so many a second.",
        ),
    ] = DEFAULT_RATE_PER_S,
    detach: Annotated[bool, typer.Option("--detach", help=DETACH_HELP)] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Send dead letters again, each once: to the target that each names, or to whoever wants it now if it names none.

    With the same webhook-id, and attempts counted from the start. Those that were redriven or discarded before are left
    out, and so is poison that isn't named. What dies again is a new dead letter.
    """
    asked = {
        "code": code,
        "class_": class_,
        "target": target,
        "event_type": event_type,
        "event": event,
        "since": since,
        "until": until,
    }
    query = _chosen(ids, asked, all_of_them=all_of_them)
    with said_plainly():
        settings = load_settings(needs=("database_url", "kafka_bootstrap_servers"))
        if not dry_run:
            configure_log(form=settings.log_format, level="error")  # what matters is said here
            release_here(settings)
        with _connected(settings) as connection:
            connection.autocommit = True
            query = as_of_now(connection, query)
            poison: Poison = "include" if include_poison else "refuse" if ids else "leave"
            groups = _groups(connection, query, poison=poison)
            if not groups:
                raise NothingToRedriveError
            if not _agreed(groups, "redrive", dry_run=dry_run, yes=yes, as_json=as_json):
                return
            replay = (
                RedriveStore(connection)
                .request(
                    query,
                    poison=poison,
                    rate_per_s=rate_per_s,
                    selection={"asked": {**asked, "ids": ids or []}, "include_poison": include_poison},
                    actor=cli_actor(),
                )
                .replay
            )
        carry_out(settings, replay, as_json=as_json, detach=detach)


@app.command()
def discard(  # noqa: PLR0913 - one option for each filter
    ids: Ids = None,
    *,
    code: CodeOption = None,
    class_: ClassOption = None,
    target: TargetOption = None,
    event_type: TypeOption = None,
    event: EventOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    all_of_them: All = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Put dead letters aside: they are never redriven then.

    Their records stay in Kafka until its retention ends them.
    """
    asked = {"code": code, "class_": class_, "target": target, "event_type": event_type, "event": event}
    query = _chosen(ids, {**asked, "since": since, "until": until}, all_of_them=all_of_them)
    with said_plainly(), _connected(_database()) as connection:
        connection.autocommit = True
        query = as_of_now(connection, query)
        groups = _groups(connection, query, poison="include")
        if not _agreed(groups, "discard", dry_run=dry_run, yes=yes, as_json=as_json):
            return
        discarded = DeadLetters(connection, actor=cli_actor()).discard(query)
        if not discarded:
            raise NothingToRedriveError
    if as_json:
        print_json({"discarded": discarded})
    else:
        typer.echo(f"{counted(discarded, 'dead letter')} discarded")


def _chosen(ids: Sequence[str] | None, asked: dict[str, Any], *, all_of_them: bool) -> DeadLetterQuery:
    """The open letters that are chosen: never all of them by an oversight."""
    if not ids and not all_of_them and all(value is None for value in asked.values()):
        raise typer.BadParameter("say which: ids, options that choose, or --all", param_hint="ID")
    return letter_query(ids=ids, statuses=_OPEN, **asked)


def _groups(
    connection: psycopg.Connection[Any], query: DeadLetterQuery, *, poison: Poison
) -> Sequence[LetterGroup]:
    groups = DeadLetters(connection).groups(query)
    if poison != "leave":
        return groups
    left = sum(group.number for group in groups if group.letter_class == "poison")
    if left:
        typer.echo(f"{counted(left, 'dead letter')} of class poison left out; see --include-poison", err=True)
    return [group for group in groups if group.letter_class != "poison"]


def _agreed(groups: Sequence[LetterGroup], verb: str, *, dry_run: bool, yes: bool, as_json: bool) -> bool:
    """Whether it is to be done: shown first, and asked for where it is about more than one."""
    number = sum(group.number for group in groups)
    if dry_run and as_json:
        print_json({"dry_run": True, "number": number, "groups": [group_fields(group) for group in groups]})
        return False
    if number != 1 or dry_run:
        print_groups(groups)
    if dry_run:
        typer.echo(f"Would {verb} {counted(number, 'dead letter')}. Nothing was changed.")
        return False
    if number > 1 and not yes:
        typer.confirm(f"{verb.capitalize()} {counted(number, 'dead letter')}?", abort=True, err=True)
    return True


def _database() -> Settings:
    return load_settings(needs=("database_url",))


@contextmanager
def _connected(settings: Settings) -> Generator[psycopg.Connection[Any]]:
    with connect(settings.database_url.get_secret_value()) as connection:
        yield connection
