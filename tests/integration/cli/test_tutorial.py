"""The tutorial, followed to the letter."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.dev_command import DevCommand
from tests.support.doc_examples import examples

_PAGE = "docs/tutorial/first-event.md"
_PORT_OF_THE_PAGE = "8085"
_LIMIT_S = 120.0
_BASH = ("/usr/bin/env", "bash")


def _commands(info: str, *, port: int) -> str:
    return "set -eu\n" + "\n".join(
        block.code.strip().replace(_PORT_OF_THE_PAGE, str(port)) for block in examples(info)[_PAGE]
    )


@contextmanager
def _second_terminal(commands: str) -> Iterator[subprocess.Popen[str]]:
    """Its program is ended after the block, or when it takes too long: then what is waited for didn't come."""
    with subprocess.Popen(  # noqa: S603 - our own page
        [*_BASH, "-c", commands],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        text=True,
        start_new_session=True,
    ) as terminal:
        limit = threading.Timer(_LIMIT_S, os.killpg, (terminal.pid, signal.SIGKILL))
        limit.start()
        try:
            yield terminal
        finally:
            limit.cancel()
            with suppress(ProcessLookupError):
                os.killpg(terminal.pid, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_its_commands_do_what_the_page_says(dev: DevCommand, tmp_path: Path) -> None:
    """After `make up` and nothing else, both events arrive at the page's receiver as they were appended."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / ".outbox").symlink_to(dev.state_dir)
    port = _free_port()
    with _second_terminal(_commands("sh receiver", port=port)) as terminal:
        followed = subprocess.run(  # noqa: S603 - our own page
            [*_BASH, "-c", _commands("sh tutorial", port=port)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert followed.returncode == 0, followed.stderr
        assert terminal.stdout is not None
        lines = (line.rstrip("\n") for line in terminal.stdout)
        for body in ('{"total":  9.90}', '{"total":"12.50"}'):
            assert body in lines, "it did not arrive"
