"""The stack's Kafka Connect: one distributed worker with Debezium on its class path, its REST side on loopback."""

import http.client
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

from devstack.child import Command
from devstack.java import java_command
from devstack.kafka import fresh_folder, write_configuration
from devstack.port import LOOPBACK
from devstack.service import Service, ServiceName
from devstack.state import StateFile

__all__ = ["Connect"]

_CONFIGURATION = "worker.properties"
_TIMEOUT_S = 5


class Connect(Service):
    """The worker. What it has to do (connectors and their offsets) is kept in Kafka, nothing of it here."""

    name: ClassVar[ServiceName] = "connect"
    listeners: tuple[str, ...] = ("connect",)

    def __init__(
        self,
        *,
        state: StateFile,
        rng: Random,
        jars: Sequence[Path],
        java_options: Sequence[str],
        bootstrap_servers: Callable[[], str],
    ) -> None:
        super().__init__(state=state, rng=rng)
        self._jars = jars
        self._java_options = java_options
        self._bootstrap_servers = bootstrap_servers

    @property
    def url(self) -> str:
        """The root of its REST side."""
        return f"http://{LOOPBACK}:{self.port}"

    def prepare(self) -> None:
        """An empty folder for unpacked native code."""
        fresh_folder(self.folder / "tmp")

    def command(self) -> Command:
        """The worker with the addresses added to the committed configuration."""
        write_configuration(
            self.folder / _CONFIGURATION,
            template="connect-worker.properties",
            added={"bootstrap.servers": self._bootstrap_servers(), "listeners": self.url},
        )
        main_class = "org.apache.kafka.connect.cli.ConnectDistributed"
        command = java_command(main_class, [_CONFIGURATION], jars=self._jars, options=self._java_options)
        return Command(arguments=command, folder=self.folder, mark=self.mark)

    def is_ready(self) -> bool:
        """Whether it lists its connectors: it has joined its group and read its configuration then."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=_TIMEOUT_S)
        try:
            connection.request("GET", "/connectors")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
