"""`outbox dev` on a stack that runs, and on none."""

import shlex
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner, Result

from devstack.child import MARK_SEPARATOR, Command, spawn
from devstack.stack import EmbeddedStack
from streams.cli.dev import app
from streams.settings import Settings


def outbox_dev(*arguments: str, state_dir: Path) -> Result:
    return CliRunner().invoke(app, [*arguments, "--state-dir", str(state_dir)])


def exported(output: str) -> dict[str, str]:
    words = [shlex.split(line) for line in output.splitlines()]
    assert {word for word, _ in words} == {"export"}
    return dict(pair.split("=", 1) for _, pair in words)


def test_env_makes_other_programs_use_the_stack(
    stack: EmbeddedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell evaluates it to the stack's addresses, and a worker there may deliver to localhost."""
    monkeypatch.delenv("OUTBOX_ENDPOINT_ALLOWED_NETWORKS", raising=False)
    variables = exported(outbox_dev("env", state_dir=stack.state_dir).stdout)
    assert variables.items() >= stack.settings.as_env().items()
    allowed = Settings.model_validate(
        {name.removeprefix("OUTBOX_").lower(): value for name, value in variables.items()}
    ).endpoint_allowed_networks
    assert {str(network) for network in allowed} == {"127.0.0.0/8", "::1/128"}


def test_env_keeps_the_networks_that_the_shell_allows(
    stack: EmbeddedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who allowed others than localhost goes on with those."""
    monkeypatch.setenv("OUTBOX_ENDPOINT_ALLOWED_NETWORKS", "10.1.0.0/16")
    variables = exported(outbox_dev("env", state_dir=stack.state_dir).stdout)
    assert variables["OUTBOX_ENDPOINT_ALLOWED_NETWORKS"] == "10.1.0.0/16"


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
    """Each says where it looked: `env` fails with the next step, `down` does no harm, and no folder is made."""
    none = tmp_path / "none"
    env = outbox_dev("env", state_dir=none)
    assert (env.exit_code, env.stdout) == (1, "")
    assert f"there is no stack in {none}:" in env.stderr
    assert "--state-dir" in env.stderr
    status = outbox_dev("status", "--json", state_dir=none)
    assert status.exit_code == 1
    assert {service["state"] for service in orjson.loads(status.stdout)} == {"stopped"}
    down = outbox_dev("down", state_dir=none)
    assert down.exit_code == 0
    assert f"there is no stack in {none}." in down.stdout
    assert not none.exists()


def test_down_ends_what_runs_of_a_stack_whose_folder_is_gone(tmp_path: Path) -> None:
    """A deleted folder is no reason to say that nothing runs."""
    gone = tmp_path / "gone"
    forgotten = spawn(
        Command(arguments=["/bin/sleep", "600"], folder=tmp_path, mark=f"kafka{MARK_SEPARATOR}{gone}"),
        log=tmp_path / "log",
    )
    assert forgotten is not None
    down = outbox_dev("down", state_dir=gone)
    assert (down.exit_code, forgotten.is_alive()) == (0, False)
    assert "what still ran is ended: kafka" in down.stdout
