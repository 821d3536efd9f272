"""Kafka's own `kafka-consumer-groups`: a second opinion on what a group has committed.

Its jar is not among those that the stack runs on. It is fetched once, with its checksum, into the same cache; all
that it needs is there.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from devstack.jar_lock import JarCoordinate, LockedJar
from devstack.jars import default_jar_cache, ensure_jars, locked_jars
from devstack.java import java_command

__all__ = ["KafkaTool"]

_TOOLS: Final = LockedJar(
    coordinate=JarCoordinate.parse("org.apache.kafka:kafka-tools:4.3.1"),
    sha256="62f3c5dd7aa3442d4c5bc6a95f86e2502178ea09de8e27f74d9563bf955e253c",
)
_MAIN: Final = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
_LIMIT_S: Final = 120


class KafkaTool:
    """The tool against one cluster, run in a folder of its own."""

    def __init__(self, bootstrap_servers: str, folder: Path) -> None:
        self._servers = bootstrap_servers
        self._folder = folder
        (folder / "tmp").mkdir(exist_ok=True)
        self._jars = ensure_jars([*locked_jars(), _TOOLS], cache=default_jar_cache())

    def offsets(self, group: str, topic: str) -> Mapping[int, int]:
        """What the group has committed of a topic, by partition."""
        rows = self._table(group, "--describe", "--offsets")
        return {
            int(row["PARTITION"]): int(row["CURRENT-OFFSET"])
            for row in rows
            if row["TOPIC"] == topic and row["CURRENT-OFFSET"] != "-"
        }

    def member_ids(self, group: str) -> set[str]:
        """Who is in the group."""
        return {row["CONSUMER-ID"] for row in self._table(group, "--describe", "--members")}

    def would_reset(self, group: str, topic: str, *how: str) -> Mapping[int, int]:
        """Where the tool itself would reset the group to."""
        rows = self._table(group, "--topic", topic, "--reset-offsets", *how, "--dry-run")
        return {int(row["PARTITION"]): int(row["NEW-OFFSET"]) for row in rows}

    def _table(self, group: str, *arguments: str) -> Sequence[Mapping[str, str]]:
        command = java_command(
            _MAIN, ["--bootstrap-server", self._servers, "--group", group, *arguments], jars=self._jars
        )
        done = subprocess.run(  # noqa: S603 - our own command
            command, cwd=self._folder, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        # Its log is between the table's lines.
        lines = [line.split() for line in done.stdout.splitlines()]
        heads = [line for line in lines if line[:1] == ["GROUP"]]
        return [dict(zip(heads[0], line, strict=False)) for line in lines if line[:1] == [group]]
