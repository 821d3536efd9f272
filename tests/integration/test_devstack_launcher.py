"""Who starts a stack may be killed with -9 at any moment."""

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import psutil

from devstack.child import marked_processes
from devstack.process_identity import ProcessIdentity
from devstack.stack import EmbeddedStack, Lifetime

LAUNCHER = """
import sys, pathlib
from devstack.stack import EmbeddedStack, Lifetime
stack = EmbeddedStack(pathlib.Path(sys.argv[1]), lifetime=Lifetime[sys.argv[2]])
stack.start(lambda news: print(news.step, news.message, flush=True))
sys.stdin.read()
"""


def launch_and_kill(state_dir: Path, *, lifetime: str, at: str) -> None:
    """Start a stack in another process, and kill that process when it says this."""
    command = [sys.executable, "-c", LAUNCHER, str(state_dir), lifetime]
    with subprocess.Popen(  # noqa: S603 - our own code
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as launcher:
        assert launcher.stdout is not None
        assert at in (line.strip() for line in launcher.stdout)
        launcher.send_signal(signal.SIGKILL)


def processes_of(state_dir: Path) -> list[ProcessIdentity]:
    return [identity for mark, identity in marked_processes() if mark.endswith(f"@{state_dir}")]


def guards_of(state_dir: Path) -> list[ProcessIdentity]:
    lines = [(process.pid, process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    found = [
        ProcessIdentity.of(pid) for pid, line in lines if "devstack.guard" in line and str(state_dir) in line
    ]
    return [identity for identity in found if identity is not None]


def test_a_start_that_was_killed_is_started_again(tmp_path: Path) -> None:
    """Whatever was half-done, the next start has one process for each service, and no other."""
    launch_and_kill(tmp_path, lifetime="DETACHED", at="kafka starting")
    stack = EmbeddedStack(tmp_path, lifetime=Lifetime.DETACHED)
    try:
        stack.start()
        assert {identity.pid for identity in processes_of(tmp_path)} == {
            service.pid for service in stack.services
        }
    finally:
        stack.remove()
    assert processes_of(tmp_path) == []


def test_an_up_that_is_interrupted_stops_what_it_started_and_says_so(tmp_path: Path) -> None:
    """Ctrl-C, and again while it stops: one line and a code of its own, no traceback, and no process is left."""
    command = [sys.executable, "-m", "streams.cli", "dev", "up", "--state-dir", str(tmp_path)]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as up:
        assert up.stdout is not None
        assert up.stderr is not None
        assert any(line.startswith("kafka: starting") for line in up.stdout)
        up.send_signal(signal.SIGINT)
        up.send_signal(signal.SIGINT)
        errors = up.stderr.read()
    try:
        assert (up.returncode, errors) == (130, "Interrupted; all that was started is stopped again.\n")
        assert processes_of(tmp_path) == []
    finally:
        EmbeddedStack(tmp_path, lifetime=Lifetime.DETACHED).remove()


def test_a_temporary_stack_goes_with_the_process_that_started_it(tmp_path: Path) -> None:
    """A killed demo or test run leaves no process and no folder."""
    state_dir = tmp_path / "temporary"
    launch_and_kill(state_dir, lifetime="TEMPORARY", at="kafka ready")
    for identity in processes_of(state_dir):
        assert identity.wait_gone(timedelta(seconds=30))
    # The folder goes last: it is gone when the guard is done.
    for identity in guards_of(state_dir):
        assert identity.wait_gone(timedelta(seconds=30))
    assert not state_dir.exists()
