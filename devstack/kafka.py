"""The stack's Kafka: one KRaft node, broker and controller in one process, on loopback.

Its data survives a change of ports: addresses are configuration here, not data.

A second listener may be added for clients that come through a proxy. A client connects to what the broker advertises,
not to where it first asked, so the broker has to know the proxy's address. It tells it only to those who come that way.
"""

import secrets
import shutil
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

from devstack.checkout import debezium_file
from devstack.child import Command, run_to_end
from devstack.errors import StartError, StateError
from devstack.java import java_command
from devstack.kafka_probe import has_a_broker
from devstack.port import LOOPBACK
from devstack.service import Service, ServiceName
from devstack.state import StateFile

__all__ = ["Kafka"]

_CONFIGURATION = "server.properties"
_PROXIED = "kafka_proxied"


class Kafka(Service):
    """The broker. `jars` is its class path, `via` the host and port of a proxy in front of its second listener."""

    name: ClassVar[ServiceName] = "kafka"
    listeners: tuple[str, ...] = ("kafka", "kafka_controller")

    def __init__(
        self,
        *,
        state: StateFile,
        rng: Random,
        jars: Sequence[Path],
        java_options: Sequence[str],
        via: tuple[str, int] | None = None,
    ) -> None:
        super().__init__(state=state, rng=rng)
        self._jars = jars
        self._java_options = java_options
        self._via = via
        if via is not None:
            self.listeners = (*self.listeners, _PROXIED)

    @property
    def bootstrap_servers(self) -> str:
        """How clients connect."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def proxied_port(self) -> int:
        """The loopback port that the proxy connects to; 0 before the first start, or where there is no proxy."""
        return self.state.read().ports.get(_PROXIED, 0) if self._via is not None else 0

    def prepare(self) -> None:
        """Format the data folder if there is none, as Kafka's own tool does it.

        Raises:
            DevstackError: no Java, no room, or the tool failed.
        """
        fresh_folder(self.folder / "tmp")
        if not (self.folder / "data").exists():
            self._format()

    def command(self) -> Command:
        """The broker with its addresses added to the committed configuration."""
        self._configure(data="data")
        return self._java("kafka.Kafka", _CONFIGURATION)

    def is_ready(self) -> bool:
        """Whether it names itself as a broker that takes requests."""
        return has_a_broker(LOOPBACK, self.port)

    def _format(self) -> None:
        fresh_folder(self.folder / "data.draft")
        self._configure(data="data.draft")
        cluster_id = urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
        # A leading dash would read as an option.
        arguments = ("format", f"--cluster-id={cluster_id}", f"--config={_CONFIGURATION}")
        if not run_to_end(self._java("kafka.tools.StorageTool", *arguments), log=self.log):
            raise StartError(self._complaint("could not format its data folder"))
        (self.folder / "data.draft").rename(self.folder / "data")

    def _configure(self, *, data: str) -> None:
        ports = self.state.read().ports
        broker = f"PLAINTEXT://{LOOPBACK}:{ports['kafka']}"
        controller = f"{LOOPBACK}:{ports['kafka_controller']}"
        listeners, advertised = [broker, f"CONTROLLER://{controller}"], [broker]
        if self._via is not None:
            listeners.append(f"PROXIED://{LOOPBACK}:{ports[_PROXIED]}")
            advertised.append("PROXIED://{}:{}".format(*self._via))
        write_configuration(
            self.folder / _CONFIGURATION,
            template="kafka.properties",
            added={
                "listeners": ",".join(listeners),
                "advertised.listeners": ",".join(advertised),
                "controller.quorum.voters": f"1@{controller}",
                # Relative to the folder it runs in: a comma in a path would make two of it.
                "log.dirs": data,
            },
        )

    def _java(self, main_class: str, *arguments: str) -> Command:
        command = java_command(main_class, arguments, jars=self._jars, options=self._java_options)
        return Command(arguments=command, folder=self.folder, mark=self.mark)


def fresh_folder(folder: Path) -> None:
    """An empty folder, whatever was there.

    Raises:
        StateError: it can't be made.
    """
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    except OSError as error:
        raise StateError(f"{folder} can't be made ({error.strerror}): make room or rights there") from error


def write_configuration(path: Path, *, template: str, added: dict[str, str]) -> None:
    """Write a committed template with these lines added.

    Raises:
        StateError: it can't be written.
    """
    lines = [
        debezium_file(template).read_text(encoding="utf-8"),
        *(f"{name}={value}" for name, value in added.items()),
    ]
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise StateError(f"{path} can't be written ({error.strerror}): make room or rights there") from error
