"""The network that tests can take away from a process, with a real receiver and a real child in it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.network_namespace import NetworkNamespace, NetworkNamespaceUnavailable, available
from tests.support.receiver import Receiver

ASK = """
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=float(sys.argv[2])).read()
"""
#: Makes a network namespace, tells its name, and is killed in it.
MAKE = """
import os, signal
from tests.support.network_namespace import NetworkNamespace
with NetworkNamespace() as network:
    print(network.name, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
ROOT = Path(__file__).parents[2]


async def ask(network: NetworkNamespace, url: str, *, timeout_s: float = 10.0) -> bool:
    """Whether a child inside gets an answer."""
    child = await asyncio.create_subprocess_exec(
        *network.command(sys.executable, "-c", ASK, url, str(timeout_s)), stderr=subprocess.DEVNULL
    )
    return await child.wait() == 0


def where_it_cannot_be_it_says_so() -> None:
    with pytest.raises(NetworkNamespaceUnavailable), NetworkNamespace():
        pass


async def test_a_parted_network_lets_nothing_pass_and_a_joined_one_does() -> None:
    """A receiver on our end is reached from inside, not while parted, and again after the join."""
    if not available():
        where_it_cannot_be_it_says_so()
        return
    with NetworkNamespace() as network:
        async with Receiver(host=network.host_address) as receiver, Receiver() as elsewhere:
            assert await ask(network, receiver.url("/before"))
            network.part()
            assert not await ask(network, receiver.url("/parted"), timeout_s=0.5)
            network.join()
            assert await ask(network, receiver.url("/after"))
            assert not await ask(network, elsewhere.url("/loopback"), timeout_s=0.5)
            assert [request.path for request in receiver.requests] == ["/before", "/after"]
            assert not elsewhere.requests


def test_nothing_is_left_behind_even_by_who_was_killed() -> None:
    """Its own at the end, and those of dead processes at the next beginning."""
    if not available():
        where_it_cannot_be_it_says_so()
        return
    command = [sys.executable, "-c", MAKE]
    killed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    left = Path("/run/netns") / killed.stdout.strip()
    assert left.exists()
    with NetworkNamespace() as network:
        assert not left.exists()
        assert (Path("/run/netns") / network.name).exists()
    assert not (Path("/run/netns") / network.name).exists()
    assert not list(Path("/sys/class/net").glob(f"ob{os.getpid()}?*"))
