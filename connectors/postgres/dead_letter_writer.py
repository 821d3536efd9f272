"""Writing the dead letters: rows by COPY, each place once.

Place in the data's way: after the recorder has read a batch of `outbox.dead-letter`, before the table that
`DeadLetters` reads. Invariants: a batch is one transaction, and writing one again changes nothing, not even what
somebody has done with a letter meanwhile. Rows are written in one order by everybody. Must not: decide what is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from connectors.postgres.day_writer import DayWriter, copy_rows
from connectors.postgres.dead_letter import DeadLetterRow
from connectors.postgres.log_partitions import DEAD_LETTER_TABLES

__all__ = ["DeadLetterWriter"]

_SESSION: Final = (
    "create temporary table stage_dead_letters (like outbox.dead_letters including defaults) on commit delete rows",
)
_NAMES: Final = tuple("class" if name == "letter_class" else name for name in DeadLetterRow._fields)
_COLUMNS: Final = ", ".join(_NAMES)
_KEEP: Final = f"""
insert into outbox.dead_letters ({_COLUMNS}) select {_COLUMNS} from stage_dead_letters order by died_at, id
on conflict (died_at, id) do nothing
"""  # noqa: S608 - column names of ours


class DeadLetterWriter(DayWriter):
    """The dead letters in one database, over a connection of its own. One thread's."""

    def __init__(self, url: str) -> None:
        super().__init__(url, tables=DEAD_LETTER_TABLES, session=_SESSION)

    def write(self, entries: Sequence[DeadLetterRow]) -> None:
        """Write a batch: all of it or nothing. Those that are there already stay as they are.

        Raises:
            RowRefusedError: Postgres can't store one of them.
        """
        self.make_days({row.died_at.date() for row in entries})
        with self.connected() as connection, connection.transaction():
            copy_rows(connection, "stage_dead_letters", _NAMES, entries)
            connection.execute(_KEEP)
