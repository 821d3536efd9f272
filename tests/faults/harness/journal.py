"""A journal: what one process saw, a line of JSON each, written so that a kill loses no finished line.

Read by the harness while it grows, for the pulse of a run, and whole for the verdict.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import orjson

from tests.faults.harness.facts import Receipt

__all__ = ["JournalReader", "JournalWriter"]


class JournalWriter:
    """Appends receipts. Several processes may write the same file: each line is one write."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, receipt: Receipt) -> None:
        os.write(self._file, orjson.dumps(receipt) + b"\n")


class JournalReader:
    """Gives the receipts that were not read yet, each time it is asked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0

    def read(self) -> Iterator[Receipt]:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._position)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._position += len(line)
                yield Receipt(**orjson.loads(line))
