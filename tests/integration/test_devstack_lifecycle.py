"""A stack of its own, killed, robbed of its ports and left behind: the next start always works.

Each test may find the stack up or down and leaves it as it likes: `start` is what they are about.
"""

import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random, SystemRandom

import psycopg
import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it has no __all__

from devstack.bring_up import start_and_wait
from devstack.child import Command, kill_family, marked_processes, spawn
from devstack.errors import StackNotRunningError, StartError
from devstack.port import LOOPBACK
from devstack.postgres import Postgres
from devstack.postgres_home import find_home
from devstack.process_identity import ProcessIdentity
from devstack.progress import silent
from devstack.stack import EmbeddedStack, Lifetime
from devstack.state import StackState, StateFile
from devstack.stray import end_strays


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    # A folder name that a properties file, a class path or a shell could trip over.
    stack = EmbeddedStack(tmp_path_factory.mktemp("a stack, née Ω"), lifetime=Lifetime.DETACHED)
    yield stack
    stack.remove()


class RobbedPostgres(Postgres):
    """A Postgres whose first port is taken just before it listens there."""

    def __init__(self, *, state: StateFile, rng: Random) -> None:
        super().__init__(state=state, rng=rng)
        self.thieves = ExitStack()
        self.stolen = 0

    def command(self) -> Command:
        command = super().command()
        if not self.stolen:
            self.stolen = self.port
            self.thieves.enter_context(socket.create_server((LOOPBACK, self.stolen)))
        return command


def states(stack: EmbeddedStack) -> dict[str, str]:
    return {service.name: service.state for service in stack.status()}


def pids(stack: EmbeddedStack) -> dict[str, int | None]:
    return {service.name: service.pid for service in stack.status()}


def processes_of(stack: EmbeddedStack) -> list[ProcessIdentity]:
    return [identity for mark, identity in marked_processes() if mark.endswith(f"@{stack.state_dir}")]


def topics_of(stack: EmbeddedStack) -> set[str]:
    client = AdminClient({"bootstrap.servers": stack.settings.kafka_bootstrap_servers})
    return set(client.list_topics(timeout=10).topics)


def test_a_stack_that_was_never_started_says_so(tmp_path: Path) -> None:
    """Asking for addresses or stopping does no harm, and makes no folder."""
    stack = EmbeddedStack(tmp_path / "none")
    assert set(states(stack).values()) == {"stopped"}
    with pytest.raises(StackNotRunningError, match="`outbox dev up` starts the stack"):
        _ = stack.settings
    stack.stop()
    stack.remove()
    assert not (tmp_path / "none").exists()


def test_a_start_that_fails_ends_what_it_had_started(tmp_path: Path) -> None:
    """The error names the service, its log and the log's last lines, and nothing is left running."""
    stack = EmbeddedStack(tmp_path / "failing", lifetime=Lifetime.DETACHED, java_options=["-Xmx1k"])
    with pytest.raises(
        StartError, match=r"kafka could not format .*logs/kafka\.log, and ends with:\n(.*\n)*.*heap"
    ):
        stack.start()
    assert processes_of(stack) == []
    assert set(states(stack).values()) == {"stopped"}
    stack.remove()


def test_a_port_that_is_taken_at_the_last_moment_costs_a_second_try(tmp_path: Path) -> None:
    """Between choosing a port and listening on it, someone else may be quicker."""
    robbed = RobbedPostgres(state=StateFile(tmp_path / "stack.json"), rng=SystemRandom())
    try:
        start_and_wait(robbed, silent)
        assert robbed.stolen not in {0, robbed.port}
        assert robbed.is_ready()
    finally:
        robbed.terminate()
        shutil.rmtree(find_home(robbed.state).folder)
        robbed.thieves.close()


def test_a_dead_child_is_named_and_started_again(own: EmbeddedStack) -> None:
    """`status` tells which one died; `start` brings that one back and leaves the others alone."""
    own.start()
    before = pids(own)
    own.service("connect").kill()
    assert states(own) == {"postgres": "running", "kafka": "running", "connect": "dead"}
    own.start()
    after = pids(own)
    assert after["connect"] not in {None, before["connect"]}
    assert (after["postgres"], after["kafka"]) == (before["postgres"], before["kafka"])


def test_what_was_stored_survives_a_crash_and_a_change_of_ports(own: EmbeddedStack) -> None:
    """Postgres and Kafka killed, then robbed of their ports: rows and topics are there at the new addresses.

    Connect, which still ran but knew only Kafka's old address, is started again, too.
    """
    settings = own.start()
    with psycopg.connect(settings.database_url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 42 AS answer")
    client = AdminClient({"bootstrap.servers": settings.kafka_bootstrap_servers})
    client.create_topics([NewTopic("kept", 1, 1)])["kept"].result(timeout=10)
    connect_before, robbed = own.connect.pid, (own.postgres, own.kafka)
    for service in robbed:
        service.kill()
    old_ports = {port for service in robbed for port in service.ports}
    with ExitStack() as thieves:
        for port in old_ports:
            thieves.enter_context(socket.create_server((LOOPBACK, port)))
        moved = own.start()
    assert not old_ports & {port for service in robbed for port in service.ports}
    assert own.connect.pid != connect_before
    assert moved.connect_url == settings.connect_url
    with psycopg.connect(moved.database_url) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
    assert "kept" in topics_of(own)


def test_leftovers_of_a_reboot_stand_in_nobodys_way(own: EmbeddedStack, tmp_path: Path) -> None:
    """Pid files that now name somebody else, recorded processes that are strangers, half-written folders."""
    own.start()
    own.stop()
    home, state = find_home(own.kafka.state), own.kafka.state
    # Postgres refuses to start beside any living process of its user that its pid file names.
    sleep = Command(
        arguments=["/bin/sleep", "600"], folder=Path("/"), mark=f"test@{tmp_path}", account=home.account
    )
    stranger = spawn(sleep, log=tmp_path / "log")
    assert stranger is not None
    (tmp_path / state.path.name).touch()  # its mark names a state folder that is there
    (home.data / "postmaster.pid").write_text(
        f"{stranger.pid}\n{home.data}\n1\n{own.postgres.port}\n\n127.0.0.1\n"
    )
    for draft in (home.folder / "data.draft", own.kafka.folder / "data.draft"):
        draft.mkdir()
        (draft / "half").write_text("written")
    reborn = replace(stranger, birth="before the reboot")
    for service in own.services:
        state.change(partial(StackState.with_process, service=service.name, identity=reborn))
    assert set(states(own).values()) == {"dead"}
    own.start()
    assert set(states(own).values()) == {"running"}
    assert stranger.is_alive()
    kill_family(stranger)


def test_a_child_that_nobody_wrote_down_is_ended(own: EmbeddedStack, tmp_path: Path) -> None:
    """A launcher killed between starting a child and recording it leaves one too many: the next start ends it."""
    forgotten = spawn(
        Command(arguments=["/bin/sleep", "600"], folder=tmp_path, mark=own.kafka.mark), log=tmp_path / "log"
    )
    assert forgotten is not None
    own.start()
    assert not forgotten.is_alive()
    assert {identity.pid for identity in processes_of(own)} == set(pids(own).values())


def test_stop_leaves_no_process_and_keeps_the_data(own: EmbeddedStack) -> None:
    """Stopping twice is as good as once."""
    own.start()
    own.stop()
    own.stop()
    assert processes_of(own) == []
    assert set(states(own).values()) == {"stopped"}
    assert find_home(own.postgres.state).data.exists()


def test_a_deleted_clone_is_cleaned_up_by_the_next_start_of_any_stack(
    own: EmbeddedStack, tmp_path: Path
) -> None:
    """Its processes end and its folder for Postgres goes, although nothing that knew of them is left."""
    own.postgres.start()
    own.postgres.wait_ready()
    home = find_home(own.postgres.state)
    shutil.rmtree(own.state_dir)
    end_strays(StateFile(tmp_path / "stack.json"))
    assert processes_of(own) == []
    assert not home.folder.exists()
