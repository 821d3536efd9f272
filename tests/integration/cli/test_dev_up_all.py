"""`make up` and `make down`: the stack with worker, scheduler and recorder in the background, come what may."""

import json
import urllib.request

import psutil

from devstack.child import marked_processes
from tests.support.dev_command import DevCommand


def test_all_of_it_runs(dev: DevCommand) -> None:
    """The stack and all of our processes run on after the command has ended, and status says where they are."""
    assert dev("status").returncode == 0
    pids = dev.pids()
    assert set(pids) == {"postgres", "kafka", "connect", "worker", "scheduler", "recorder", "api"}
    assert all(psutil.pid_exists(pid) for pid in pids.values())


def test_the_api_answers_where_it_is_said_to_be(dev: DevCommand) -> None:
    """On a port of its own, without a token, for this machine."""
    [port] = [one["port"] for one in json.loads(dev("status", "--json").stdout) if one["service"] == "api"]
    said = dev("up", "--all").stdout
    assert f"curl http://127.0.0.1:{port}/v1/endpoints" in said
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/endpoints") as answer:
        assert "items" in json.load(answer)


def test_a_second_up_says_what_runs_and_changes_nothing(dev: DevCommand) -> None:
    """It may be called at any time: the same processes run on."""
    before = dev.pids()
    again = dev("up", "--all")
    assert again.returncode == 0
    for said in ("already up", "nothing to change", "worker: already running", "recorder: already running"):
        assert said in again.stdout
    assert "changed handlers or settings take effect after make down" in again.stdout
    assert dev.pids() == before


def test_a_dead_child_is_named_with_what_to_do(dev: DevCommand) -> None:
    """Status fails with one line that says which died, where its log is, and what starts it again.

    If that can't work, it says so with the end of the log, although the killed worker is still a member of its group.
    """
    dev.kill("worker")
    status = dev("status")
    assert status.returncode == 1
    assert "worker died" in status.stdout
    assert "outbox dev up --all" in status.stdout
    failed = dev("up", "--all", OUTBOX_HANDLERS="there.is.no.such.module")
    assert failed.returncode == 1
    assert "worker died" in failed.stderr
    assert "there.is.no.such.module" in failed.stderr
    again = dev("up", "--all")
    assert "worker: started" in again.stdout
    assert "scheduler: already running" in again.stdout
    assert dev("status").returncode == 0


def test_down_stops_everything_and_up_starts_it_again(dev: DevCommand) -> None:
    """After down nothing of it runs, down again does no harm, and what was stored is there after the next up."""
    assert dev("down").returncode == 0
    assert [mark for mark, _ in marked_processes() if mark.endswith(f"@{dev.state_dir}")] == []
    assert dev("down").returncode == 0
    again = dev("up", "--all")
    assert again.returncode == 0
    assert "nothing to change" in again.stdout
