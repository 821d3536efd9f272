"""`outbox dev` on a stack that runs, and on none."""

import shlex
from pathlib import Path

import orjson
from typer.testing import CliRunner, Result

from devstack.stack import EmbeddedStack
from streams.cli.dev import app


def outbox_dev(*arguments: str, state_dir: Path) -> Result:
    return CliRunner().invoke(app, [*arguments, "--state-dir", str(state_dir)])


def test_env_makes_other_programs_use_the_stack(stack: EmbeddedStack) -> None:
    """What it prints is what a shell evaluates to the stack's addresses."""
    result = outbox_dev("env", state_dir=stack.state_dir)
    words = [shlex.split(line) for line in result.stdout.splitlines()]
    assert {word for word, _ in words} == {"export"}
    assert dict(pair.split("=", 1) for _, pair in words) == stack.settings.as_env()


def test_status_tells_programs_how_each_service_is(stack: EmbeddedStack) -> None:
    """Exit code 0 and every service running, with the pid and the port that it really has."""
    result = outbox_dev("status", "--json", state_dir=stack.state_dir)
    services = orjson.loads(result.stdout)
    assert result.exit_code == 0
    assert {
        (service["service"], service["state"], service["pid"], service["port"]) for service in services
    } == {(service.name, "running", service.pid, service.port) for service in stack.services}


def test_up_says_that_it_is_up_already(stack: EmbeddedStack) -> None:
    """A second `up` succeeds and changes nothing; no password is printed."""
    before = stack.status()
    result = outbox_dev("up", state_dir=stack.state_dir)
    assert result.exit_code == 0
    assert "already up" in result.stdout
    assert stack.status() == before
    assert stack.settings.database_url not in result.stdout


def test_without_a_stack_one_line_says_what_to_do(tmp_path: Path) -> None:
    """`env` fails with the next step, `status` says stopped, `down` does no harm, and no folder is made."""
    none = tmp_path / "none"
    env = outbox_dev("env", state_dir=none)
    assert (env.exit_code, env.stdout) == (1, "")
    assert env.stderr == "outbox: postgres doesn't run: `outbox dev up` starts the stack\n"
    status = outbox_dev("status", "--json", state_dir=none)
    assert status.exit_code == 1
    assert {service["state"] for service in orjson.loads(status.stdout)} == {"stopped"}
    assert outbox_dev("down", state_dir=none).exit_code == 0
    assert not none.exists()
