"""The example receivers, in three languages: to libraries that are not ours, what we send is genuine, and nothing else.

Each runs as its own process, on a socket, with the library that its lock file pins.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO
from uuid import uuid4

import pytest

from connectors.webhook.answer import Responded
from connectors.webhook.request import Request
from connectors.webhook.secret import Secret
from connectors.webhook.sender import Sender
from tests.integration.webhook.sending import hook

EXAMPLES = Path(__file__).parents[3] / "examples" / "receivers"
_WITHIN_S = 240.0

#: What breaks a receiver that reads JSON and writes it again, or takes bytes for characters.
HARD = '{"b": 12345678901234567890, "a": 1.10, "a": "é\\u00e9 🚀 \\/"}'.encode()


@pytest.fixture(scope="module", params=["python", "javascript", "go"])
def receiver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the receiver of one language, its library installed."""
    language = request.param
    folder = tmp_path_factory.mktemp(language)
    needs = {"python": sys.executable, "javascript": "npm", "go": "go"}[language]
    if shutil.which(needs) is None:
        pytest.skip(f"{needs} is not on this machine, so the {language} receiver can't run")
    return _INSTALL[language](folder)


def _python(_folder: Path) -> list[str]:
    return [sys.executable, str(EXAMPLES / "python" / "receiver.py")]


def _javascript(folder: Path) -> list[str]:
    shutil.copytree(EXAMPLES / "javascript", folder, dirs_exist_ok=True)
    _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
    return ["node", str(folder / "receiver.mjs")]


def _go(folder: Path) -> list[str]:
    _run(["go", "build", "-mod=readonly", "-o", str(folder / "receiver"), "."], EXAMPLES / "go")
    return [str(folder / "receiver")]


_INSTALL: Mapping[str, Callable[[Path], list[str]]] = {
    "python": _python,
    "javascript": _javascript,
    "go": _go,
}


async def test_what_is_sent_is_genuine_to_another_library(receiver: list[str]) -> None:
    """INV-5: body and headers verify byte for byte, and the receiver sees the id and the type (CASES 10, 11)."""
    secret = Secret.generate()
    with running(receiver, secret) as (url, said):
        sent = hook(url, HARD, secrets=(secret,), headers={"webhook-event-type": "order.created"})
        assert await status_of(sent) == 204
        assert said.readline() == f"received order.created {sent.message_id}\n"


async def test_either_secret_of_a_rotation_verifies(receiver: list[str]) -> None:
    """While two secrets overlap, a receiver that knows either of them takes the request."""
    new, old = Secret.generate(), Secret.generate()
    for known in (new, old):
        with running(receiver, known) as (url, _):
            assert await status_of(hook(url, HARD, secrets=(new, old))) == 204


async def test_a_header_line_that_was_pasted_as_secret_is_the_secret(receiver: list[str]) -> None:
    """CASES 22: a secret that is given as `v1,whsec_…` signs as the one that the receiver has."""
    secret = Secret.generate()
    with running(receiver, secret) as (url, _):
        pasted = Secret.parse(f"v1,{secret.reveal()}")
        assert await status_of(hook(url, HARD, secrets=(pasted,))) == 204


async def test_what_is_not_genuine_is_refused(receiver: list[str]) -> None:
    """The examples do verify: another secret, and a request that is an hour old, are answered with 400."""
    secret = Secret.generate()
    with running(receiver, secret) as (url, _):
        assert await status_of(hook(url, HARD, secrets=(Secret.generate(),))) == 400
        assert await status_of(hook(url, HARD, secrets=(secret,)), late=timedelta(hours=1)) == 400
        assert await status_of(hook(url, HARD, secrets=(secret,), message_id=str(uuid4()))) == 204


async def status_of(request: Request, *, late: timedelta = timedelta()) -> int:
    """Send it; as it would have been sent some time ago, if that is asked."""
    async with Sender() as sender:
        answer = await sender.send(replace(request, timestamp=datetime.now(UTC) - late))
    assert isinstance(answer, Responded), answer
    return answer.status


@contextmanager
def running(command: list[str], secret: Secret) -> Iterator[tuple[str, IO[str]]]:
    """The receiver's URL, and what it says."""
    process = subprocess.Popen(  # noqa: S603 - our own examples
        command,
        env={**os.environ, "WEBHOOK_SECRET": secret.reveal(), "PORT": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        began = process.stdout.readline()
        assert began.startswith("listening on "), f"the receiver ended, or said: {began!r}"
        yield f"http://127.0.0.1:{began.split()[-1]}/hooks", process.stdout
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_examples_are_pinned_by_hash_and_name_no_registry() -> None:
    """Each lock file has a checksum for each package, and no address that it was downloaded from."""
    packages = json.loads((EXAMPLES / "javascript" / "package-lock.json").read_text())["packages"]
    assert all("integrity" in package for name, package in packages.items() if name)
    assert not any("resolved" in package for package in packages.values())
    assert "h1:" in (EXAMPLES / "go" / "go.sum").read_text()


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own commands
        command, cwd=folder, capture_output=True, text=True, timeout=_WITHIN_S, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
