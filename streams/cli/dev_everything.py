"""`outbox dev up --all`: setup and all of our processes on a stack that is up, and what to try next.

Needs the devstack extra: import it only when a command runs.
"""

import asyncio
import os
import shlex
import shutil
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import psutil
from rich.console import Console

from devstack.stack import EmbeddedStack
from streams.cli.dev_processes import DevProcesses
from streams.cli.errors import said_plainly
from streams.settings import load_settings
from streams.setup import run_setup

__all__ = ["run_everything", "say_what_next"]

_NEXT = """
Try it in another terminal:
  eval "$({outbox} dev env{where})"
  {outbox} endpoints add http://127.0.0.1:8080/ --events 'order.*'
  {outbox} append order.placed --aggregate order/1 --payload '{{"total": 5}}'
Look:  {outbox} deliveries list
       {outbox} dev status{where}
Page:  http://127.0.0.1:{api_port}/
API:   curl http://127.0.0.1:{api_port}/v1/endpoints
Stop:  {outbox} dev down{where}"""


def run_everything(stack: EmbeddedStack, console: Console) -> None:
    """Bring the stack to the wanted state, start what doesn't run, and wait until it is at work.

    Raises:
        DevstackError: a process can't be started, or died.
        typer.Exit: setup failed, and has said why.
    """
    addresses = stack.settings
    os.environ.update(addresses.as_env())  # the stack's addresses win over whatever the shell exports
    with said_plainly():
        settings = load_settings()
        plan = asyncio.run(
            run_setup(settings, dry_run=False, on_step=lambda step: _say(console, f"setup: {step}"))
        )
    if not plan.steps:
        _say(console, "setup: nothing to change")
    processes = DevProcesses(stack.state_dir)
    with console.status("starting worker, scheduler, recorder and API"):
        started = processes.start(addresses)
    for status in processes.status():
        _say(
            console, f"{status.name}: {'started' if status.name in started else _already_running(status.pid)}"
        )


def say_what_next(stack: EmbeddedStack, console: Console) -> None:
    """What to do with all of it, to be copied into a terminal."""
    usual = stack.state_dir == Path(".outbox").resolve()
    where = "" if usual else f" --state-dir {shlex.quote(str(stack.state_dir))}"
    api_port = next(one.port for one in DevProcesses(stack.state_dir).status() if one.name == "api")
    _say(console, _NEXT.format(outbox=_command(), where=where, api_port=api_port))


def _already_running(pid: int | None) -> str:
    since = ""
    with suppress(psutil.Error):
        started = datetime.fromtimestamp(psutil.Process(pid).create_time()).astimezone()
        since = f"started {started:%H:%M}; "
    return f"already running ({since}changed handlers or settings take effect after make down)"


def _command() -> str:
    """How this very command is called from here: by its name if that is on PATH, else by its path."""
    ours = Path(sys.argv[0]).absolute()
    if shutil.which("outbox") == str(ours):
        return "outbox"
    return str(ours.relative_to(Path.cwd())) if ours.is_relative_to(Path.cwd()) else str(ours)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
