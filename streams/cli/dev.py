"""`outbox dev`: the embedded stack by hand. `up` leaves it running; `env` lets any other program use it.

With `up --all` worker, scheduler, recorder and API run on it, too.

Imports devstack only when a command runs: who installed the processor without the `devstack` extra still has `outbox`.
"""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import orjson
import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from devstack.stack import EmbeddedStack, ServiceStatus
    from streams.cli.dev_processes import ProcessStatus

__all__ = ["app"]

app = typer.Typer(
    name="dev",
    help="The embedded local stack: Postgres, Kafka and Kafka Connect, on loopback only.",
    no_args_is_help=True,
    add_completion=False,
)

StateDir = Annotated[
    Path,
    typer.Option(
        "--state-dir", help="The folder that keeps it.", envvar="OUTBOX_DEV_STATE_DIR", metavar="DIR"
    ),
]
_DEFAULT = Path(".outbox")
_INTERRUPTED = 130
_SERVICES = ("postgres", "kafka", "connect")


@app.command()
def up(
    state_dir: StateDir = _DEFAULT,
    everything: Annotated[
        bool, typer.Option("--all", help="Set it up, too, and run worker, scheduler, recorder and API on it.")
    ] = False,
) -> None:
    """Start the stack and leave it running. Starts again what died; does no harm when all of it runs."""
    with _stack(state_dir) as stack, _interrupt_explained(stack):
        from streams.cli.dev_everything import (  # noqa: PLC0415 - needs the devstack extra
            run_everything,
            say_what_next,
        )
        from streams.cli.stack_progress import shown_on  # noqa: PLC0415 - needs the devstack extra

        console = Console()
        if all(service.state == "running" for service in stack.status()):
            console.print("The stack is already up.")
        else:
            with shown_on(console) as listener:
                stack.start(listener)
        if everything:
            run_everything(stack, console)
        _draw(console, _statuses(stack))
        if everything:
            say_what_next(stack, console)
        else:
            console.print(
                'Use it: eval "$(outbox dev env)"    Stop it: outbox dev down', markup=False, highlight=False
            )


@app.command()
def down(
    state_dir: StateDir = _DEFAULT,
    remove: Annotated[bool, typer.Option("--remove", help="Delete all that it stored, too.")] = False,
) -> None:
    """Stop the stack, and what of ours runs on it. What it stored stays, unless --remove is given."""
    with _stack(state_dir) as stack:
        from streams.cli.dev_processes import DevProcesses  # noqa: PLC0415 - needs the devstack extra

        existed = stack.exists
        leftovers = () if existed else stack.end_leftovers()
        if existed:
            DevProcesses(stack.state_dir).stop()
        if remove:
            stack.remove()
        elif existed:
            stack.stop()
        if leftovers:
            said = f"The stack's state in {stack.state_dir} is gone; what still ran is ended: {', '.join(leftovers)}."
        elif not existed:
            said = f"Nothing to stop: there is no stack in {stack.state_dir}. --state-dir DIR names another folder."
        else:
            said = "The stack is down, and what it stored is deleted." if remove else "The stack is down."
        Console().print(said, markup=False, highlight=False, soft_wrap=True)


@app.command()
def status(
    state_dir: StateDir = _DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Say how each service is. Exit code 1 unless all of them run."""
    with _stack(state_dir) as stack:
        services = _statuses(stack)
        if as_json:
            typer.echo(orjson.dumps([_as_dict(service) for service in services], option=orjson.OPT_INDENT_2))
        else:
            _draw(Console(), services)
        if any(service.state != "running" for service in services):
            raise typer.Exit(1)


@app.command()
def env(state_dir: StateDir = _DEFAULT) -> None:
    """Print the shell exports that make other programs use this stack. The database URL holds its password.

    OUTBOX_ENDPOINT_ALLOWED_NETWORKS is among them: without it a worker refuses to deliver to receivers on localhost.
    """
    with _stack(state_dir) as stack:
        from streams.cli.dev_processes import development_environment  # noqa: PLC0415 - needs the devstack extra

        for name, value in development_environment(stack.settings, around=os.environ).items():
            typer.echo(f"export {name}={shlex.quote(value)}")


@contextmanager
def _stack(state_dir: Path) -> Iterator["EmbeddedStack"]:
    try:
        from devstack.errors import DevstackError  # noqa: PLC0415 - needs the devstack extra
        from devstack.stack import EmbeddedStack, Lifetime  # noqa: PLC0415 - needs the devstack extra
    except ModuleNotFoundError as error:
        _fail(f"the embedded stack needs {error.name}: install outbox-streams with the extra `devstack`")
    try:
        yield EmbeddedStack(state_dir, lifetime=Lifetime.DETACHED)
    except DevstackError as error:
        _fail(str(error))


@contextmanager
def _interrupt_explained(stack: "EmbeddedStack") -> Iterator[None]:
    """Say what an interrupted command leaves running, and end."""
    try:
        yield
    except KeyboardInterrupt:
        from devstack.interrupts import ignore_interrupts  # noqa: PLC0415 - needs the devstack extra

        ignore_interrupts()
        running = [service.name for service in _statuses(stack) if service.state == "running"]
        if running:
            said = f"left running: {', '.join(running)}. `outbox dev down` stops them, the same command again goes on."
        else:
            said = "all that was started is stopped again."
        Console(stderr=True).print(f"Interrupted; {said}", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(_INTERRUPTED) from None


def _fail(message: str) -> NoReturn:
    Console(stderr=True).print(f"outbox: {message}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(1)


def _statuses(stack: "EmbeddedStack") -> "tuple[ServiceStatus | ProcessStatus, ...]":
    """The services, and the processes that were started on them."""
    from streams.cli.dev_processes import DevProcesses  # noqa: PLC0415 - needs the devstack extra

    processes = DevProcesses(stack.state_dir).status()
    return (*stack.status(), *(process for process in processes if process.state != "stopped"))


def _draw(console: Console, services: "tuple[ServiceStatus | ProcessStatus, ...]") -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in ("service", "state", "address", "pid", "log"):
        table.add_column(column, overflow="fold")
    styles = {"running": "green", "dead": "bold red", "stopped": "dim"}
    for service in services:
        style = styles[service.state]
        address = f"127.0.0.1:{service.port}" if service.port else ""
        state = f"[{style}]{service.state}[/{style}]"
        table.add_row(service.name, state, address, str(service.pid or ""), _seen_from_here(service.log))
    console.print(table)
    for service in services:
        if service.state == "dead":
            log = _seen_from_here(service.log)
            again = "outbox dev up" if service.name in _SERVICES else "outbox dev up --all"
            line = f"{service.name} died. Its log says why: {log}. `{again}` starts it again."
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _seen_from_here(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _as_dict(service: "ServiceStatus | ProcessStatus") -> dict[str, object]:
    return {
        "service": service.name,
        "state": service.state,
        "pid": service.pid,
        "host": "127.0.0.1" if service.port else None,
        "port": service.port or None,
        "log": str(service.log),
    }
