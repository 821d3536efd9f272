"""A network of its own for one process under test, joined to ours by one cable that can be pulled.

    with NetworkNamespace() as network:
        ... a server listens on network.host_address ...
        subprocess.Popen(network.command(sys.executable, ...))   # reaches that address and nothing else
        network.part()

Needs root and `ip` (iproute2); `available` says whether they are there and the kernel lets us. Pulled is our end, not
the inner one: the process inside isn't told then (no "network is unreachable"), its packets go nowhere, as behind a
switch that died. Our own processes still reach `host_address` meanwhile.

Nothing is left behind: what a killed run left is named after its process, and is removed by the next.
"""

from __future__ import annotations

import ipaddress
import itertools
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["NetworkNamespace", "NetworkNamespaceUnavailable", "available"]

_RANGE = ipaddress.IPv4Network("10.213.0.0/16")
_NAME = re.compile(r"outbox-(\d+)-\d+")
_CABLE = re.compile(r"ob(\d+)x\d+")
_NAMESPACES = Path("/run/netns")
_LINKS = Path("/sys/class/net")
_numbers = itertools.count()


class NetworkNamespaceUnavailable(Exception):  # noqa: N818 - as the other states of an installation
    """No network namespace can be made here: that takes root, `ip` (iproute2), and a kernel that allows it."""


class NetworkNamespace:
    """A network namespace with loopback and one link to ours; no route to anywhere else, no names resolved."""

    def __init__(self) -> None:
        number = next(_numbers)
        self.name = f"outbox-{os.getpid()}-{number}"
        self._host_end, self._inner_end = (f"ob{os.getpid()}{end}{number}" for end in "xy")
        self.host_address = ""
        """Our end of the link, where servers for the process inside listen."""
        self.inner_address = ""

    def command(self, *arguments: str) -> list[str]:
        """Run a program inside. `ip` becomes that program, so the pid of who was started is the program's."""
        return ["ip", "netns", "exec", self.name, *arguments]

    def part(self) -> None:
        """Let nothing pass, and tell nobody. Connections stay open, and wait."""
        _ip("link", "set", self._host_end, "down")

    def join(self) -> None:
        """Let all pass again. What waits is sent when TCP tries next, which after a long parting may take a while."""
        _ip("link", "set", self._host_end, "up")

    def __enter__(self) -> Self:
        if os.geteuid() != 0 or shutil.which("ip") is None:
            raise NetworkNamespaceUnavailable
        _remove_stale()
        host, inner = _free_pair()
        self.host_address, self.inner_address = str(host), str(inner)
        try:
            self._make()
        except NetworkNamespaceUnavailable:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _make(self) -> None:
        inside = ("-n", self.name)
        _ip("netns", "add", self.name)
        _ip(
            "link", "add", self._host_end, "type", "veth", "peer", "name", self._inner_end, "netns", self.name
        )
        _ip("addr", "add", f"{self.host_address}/30", "dev", self._host_end)
        _ip("link", "set", self._host_end, "up")
        _ip(*inside, "addr", "add", f"{self.inner_address}/30", "dev", self._inner_end)
        _ip(*inside, "link", "set", "lo", "up")
        _ip(*inside, "link", "set", self._inner_end, "up")

    def _remove(self) -> None:
        # The link first: a process that still runs inside would keep the namespace, and the link with it.
        if (_LINKS / self._host_end).exists():
            _ip("link", "del", self._host_end)
        if (_NAMESPACES / self.name).exists():
            _ip("netns", "del", self.name)


def available() -> bool:
    """Whether one can be made here. It tries."""
    try:
        with NetworkNamespace():
            return True
    except NetworkNamespaceUnavailable:
        return False


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)  # noqa: S603, S607 - our own command
    if done.returncode != 0:
        raise NetworkNamespaceUnavailable(f"`ip {' '.join(arguments)}` failed: {done.stderr.strip()}")
    return done.stdout


def _free_pair() -> tuple[ipaddress.IPv4Address, ipaddress.IPv4Address]:
    """Two addresses of a small network that no link here has."""
    taken = {ipaddress.IPv4Interface(text).network for text in re.findall(r"inet (\S+)", _ip("-4", "addr"))}
    networks: list[ipaddress.IPv4Network] = list(_RANGE.subnets(new_prefix=30))
    first = os.getpid() % len(networks)  # elsewhere than who looks at the same moment
    for network in (*networks[first:], *networks[:first]):
        if not any(network.overlaps(other) for other in taken):
            return network[1], network[2]
    raise NetworkNamespaceUnavailable(f"all of {_RANGE} is in use")


def _remove_stale() -> None:
    """What runs left that were killed."""
    for folder, pattern, command in (
        (_LINKS, _CABLE, ("link", "del")),
        (_NAMESPACES, _NAME, ("netns", "del")),
    ):
        for path in sorted(folder.iterdir()) if folder.exists() else ():
            ours = pattern.fullmatch(path.name)
            if ours is not None and not Path(f"/proc/{ours[1]}").exists():
                _ip(*command, path.name)
