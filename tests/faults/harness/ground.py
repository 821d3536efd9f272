"""What a run stands on: the stack, and the way from one worker to it that the harness can cut.

The near workers reach Kafka as everybody does. The far one reaches it through a TCP proxy of the harness and, where
root and `ip` are there, from a network namespace of its own. Several runs may stand on one ground, one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from devstack.port import LOOPBACK
from devstack.stack import EmbeddedStack, temporary_stack
from streams import topics
from streams.duration import format_duration
from streams.settings import Settings
from streams.setup import run_setup
from tests.support.network_namespace import NetworkNamespace, available
from tests.support.tcp_proxy import TcpProxy

__all__ = ["TIERS", "Ground", "open_ground"]

#: Short ones: what waits in them is what a run waits for.
TIERS: Final = tuple(timedelta(seconds=seconds) for seconds in (1, 2, 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The stack, and the far worker's way. `host` is an address of this machine that every worker reaches."""

    stack: EmbeddedStack
    proxy: TcpProxy
    namespace: NetworkNamespace | None
    folder: Path
    tiers: Sequence[timedelta]

    @property
    def host(self) -> str:
        return self.namespace.host_address if self.namespace else LOOPBACK

    @property
    def far_bootstrap(self) -> str:
        return self.proxy.netloc

    @property
    def inside(self) -> Callable[..., list[str]]:
        """How a command is run where the far worker is."""
        return self.namespace.command if self.namespace else lambda *argv: list(argv)

    @property
    def retry_topics(self) -> tuple[str, ...]:
        return tuple(map(topics.retry_topic, self.tiers))

    @property
    def tiers_setting(self) -> str:
        return ",".join(map(format_duration, self.tiers))


@contextmanager
def open_ground(
    folder: Path, *, tell: Callable[[str], None], tiers: Sequence[timedelta] = TIERS
) -> Iterator[Ground]:
    """Start and set up a stack of its own; all of it is gone after the block."""
    with ExitStack() as exits:
        namespace = exits.enter_context(NetworkNamespace()) if available() else None
        host = namespace.host_address if namespace else LOOPBACK
        # The broker is told the proxy's address before it starts; the proxy asks for the broker's when it is needed.
        started: list[EmbeddedStack] = []
        proxy = exits.enter_context(
            TcpProxy(host, 0, upstream=lambda: (LOOPBACK, started[0].kafka.proxied_port))
        )
        stack = exits.enter_context(temporary_stack(kafka_via=proxy.address))
        started.append(stack)
        found = stack.settings
        settings = Settings(
            database_url=SecretStr(found.database_url),
            kafka_bootstrap_servers=found.kafka_bootstrap_servers,
            connect_url=found.connect_url,
            tiers=tuple(tiers),
        )
        asyncio.run(run_setup(settings, dry_run=False, on_step=lambda _: None))
        where = "a network namespace and a TCP proxy" if namespace else "a TCP proxy (no root, or no `ip`)"
        tell(f"the stack runs; the far worker reaches it through {where}")
        yield Ground(stack=stack, proxy=proxy, namespace=namespace, folder=folder, tiers=tiers)
