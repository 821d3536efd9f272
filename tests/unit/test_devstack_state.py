"""What a stack remembers, and that one command at a time works on it."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from devstack.errors import StackBusyError, StateError
from devstack.postgres_home import abandoned_folders
from devstack.process_identity import ProcessIdentity
from devstack.settings import StackSettings
from devstack.state import StackState, StateFile
from devstack.state_lock import exclusive

KNOWN = StackState(
    postgres_folder="/somewhere",
    ports={"kafka": 21_001},
    processes={"kafka": ProcessIdentity(pid=42, birth="today")},
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """The file holds all of the state, and a change of one thing keeps the others."""
    file = StateFile(tmp_path / "stack.json")
    file.change(lambda _: KNOWN)
    assert StateFile(file.path).read() == KNOWN
    file.change(lambda known: known.with_process("kafka", None).with_ports({"connect": 21_002}))
    assert file.read() == StackState(postgres_folder="/somewhere", ports={"kafka": 21_001, "connect": 21_002})


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"ports": {}}', '{"ports": {"kafka": "x"}}'])
def test_a_damaged_file_counts_as_none(tmp_path: Path, text: str) -> None:
    """Whatever is in it, a stack can be started anew."""
    (tmp_path / "stack.json").write_text(text)
    assert StateFile(tmp_path / "stack.json").read() == StackState()


def test_a_state_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """One line says which file, and why."""
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="can't be"):
        StateFile(tmp_path / "file" / "stack.json").change(lambda known: known)


def test_a_second_command_is_told_who_is_at_work(tmp_path: Path) -> None:
    """Two starts at once: the second one ends with one line, and does nothing."""
    lock = tmp_path / "state" / "stack.lock"
    with exclusive(lock):
        with pytest.raises(
            StackBusyError, match=rf"^process {os.getpid()} is already starting or stopping the stack"
        ):
            exclusive(lock).__enter__()
        with pytest.raises(StackBusyError):
            exclusive(lock, wait=timedelta(milliseconds=100)).__enter__()
    with exclusive(lock):
        pass


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    """A command that was killed with -9 in the middle of its work keeps nobody out."""
    lock = tmp_path / "stack.lock"
    code = (
        "import sys, pathlib; from devstack.state_lock import exclusive\n"
        "with exclusive(pathlib.Path(sys.argv[1])): print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:  # noqa: S603 - our own code
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(StackBusyError, match=f"process {holder.pid} "):
            exclusive(lock).__enter__()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with exclusive(lock):
        pass


def test_a_folder_for_postgres_that_no_state_names_is_abandoned(tmp_path: Path) -> None:
    """What a deleted clone left is found; what a living one uses is not touched."""
    for name, clone in (
        ("outbox-postgres-living", "clone"),
        ("outbox-postgres-older", "clone"),
        ("other", "clone"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "state-folder").write_text(str(tmp_path / clone))
    (tmp_path / "outbox-postgres-orphan").mkdir()
    (tmp_path / "outbox-postgres-orphan" / "state-folder").write_text(str(tmp_path / "deleted"))
    (tmp_path / "outbox-postgres-foreign").mkdir()  # names no state folder: not ours to judge
    living = str(tmp_path / "outbox-postgres-living")
    StateFile(tmp_path / "clone" / "stack.json").change(lambda _: StackState(postgres_folder=living))
    found = {folder.name for folder in abandoned_folders(tmp_path)}
    assert found == {"outbox-postgres-older", "outbox-postgres-orphan"}


def test_the_settings_show_no_password() -> None:
    """INV-9: a printed object gives the database's password away to nobody."""
    settings = StackSettings(
        database_url="postgresql://outbox:geheim@127.0.0.1:1/outbox",
        kafka_bootstrap_servers="k",
        connect_url="c",
    )
    assert "geheim" not in repr(settings)
    assert "geheim" in settings.as_env()["OUTBOX_DATABASE_URL"]
