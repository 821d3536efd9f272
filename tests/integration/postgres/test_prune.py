"""Old rows of the outbox: deleted once the slot has confirmed their inserts, and never before."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, LiteralString

import psycopg
import pytest
import sqlparse

from connectors.postgres import outbox_rows
from connectors.postgres.capture_gaps import gap_ended_at, note_gap
from connectors.postgres.connection import connect
from connectors.postgres.errors import StatementFailedError
from streams.errors import PruneRefused
from tests.support.doc_examples import examples
from tests.support.old_rows import HOUR, SlotByHand, a_slot, append_rows, kept_keys

OLD = 2 * HOUR
Database = psycopg.Connection[Any]


@pytest.fixture
def database(outbox_database_url: str) -> Iterator[Database]:
    with connect(outbox_database_url) as connection:
        connection.autocommit = True
        yield connection
        connection.execute("truncate outbox.outbox, outbox.capture_gaps")


@pytest.fixture
def slot(database: Database) -> Iterator[SlotByHand]:
    with a_slot(database) as made:
        yield made


@pytest.fixture
def other(outbox_database_url: str) -> Iterator[Database]:
    """A session of somebody else."""
    with connect(outbox_database_url) as connection:
        yield connection


def test_rows_go_once_they_are_old_and_confirmed(database: Database, slot: SlotByHand) -> None:
    """The age counts from `created_at`: a row from the future stays until it is past, a forged old one goes at once."""
    append_rows(database, 3, key="old", age=OLD)
    append_rows(database, 2, key="young", age=HOUR / 2)
    append_rows(database, 1, key="future", age=-OLD)
    append_rows(database, 1, key="long past", age=timedelta(days=7_000))

    would = slot.prune(dry_run=True)
    assert kept_keys(database) == {"old": 3, "young": 2, "future": 1, "long past": 1}
    did = slot.prune()

    assert (would.deleted, did.deleted) == (4, 4)
    assert (did.kept_unconfirmed, did.kept_held, did.held_up) == (0, 0, False)
    assert kept_keys(database) == {"young": 2, "future": 1}
    assert slot.prune().deleted == 0


def test_what_the_slot_has_not_confirmed_stays(database: Database, slot: SlotByHand) -> None:
    """It gives up after its time, deletes nothing, and says how many rows wait and how far the slot is behind."""
    append_rows(database, 3, key="old", age=OLD)
    found = slot.prune(meanwhile=lambda: None)
    assert (found.deleted, found.kept_unconfirmed, found.confirmed, found.held_up) == (0, 3, False, True)
    assert found.unconfirmed_bytes > 0
    assert not found.slot_active
    assert kept_keys(database) == {"old": 3}


def test_an_unconfirmed_slot_without_old_rows_is_no_trouble(database: Database, slot: SlotByHand) -> None:
    """A CronJob doesn't fail for what nobody misses."""
    append_rows(database, 3, key="young", age=HOUR / 2)
    found = slot.prune(meanwhile=lambda: None)
    assert (found.confirmed, found.held_up) == (False, False)


def test_a_row_that_is_committed_after_the_mark_stays(
    database: Database, slot: SlotByHand, other: Database
) -> None:
    """However old it says it is: its insert lies behind what was confirmed. So do those of an open transaction."""
    append_rows(database, 1, key="before", age=OLD)
    append_rows(other, 1, key="was open", age=OLD)

    def late_commits() -> None:
        slot.confirm()
        other.commit()
        append_rows(database, 1, key="after", age=OLD)

    found = slot.prune(meanwhile=late_commits)

    assert (found.deleted, found.kept_unconfirmed, found.held_up) == (1, 2, False)
    assert kept_keys(database) == {"was open": 1, "after": 1}
    assert slot.prune().deleted == 2


@pytest.mark.parametrize(
    ("row", "horizon", "now", "late"),
    [
        (99, 100, 105, False),
        (100, 100, 105, True),
        (104, 100, 105, True),
        (90, 2**32 + 100, 2**32 + 105, False),
        (100, 2**32 + 100, 2**32 + 105, True),
        (2**32 - 1, 2**32 + 1, 2**32 + 5, False),  # the numbers went round between the row and the mark
        (2**32 - 1, 2**32 - 2, 2**32 + 5, True),  # … between the mark and now
        (3, 2**32 - 2, 2**32 + 5, True),
        (2_500_000_000, 100, 105, False),  # frozen, from before they went round: no row is from the future
        (2, 100, 105, False),
    ],
)
def test_transaction_numbers_are_compared_across_their_end(
    database: Database, row: int, horizon: int, now: int, *, late: bool
) -> None:
    """They have 32 bits in a row, and stay there when the row is frozen."""
    expression = outbox_rows._LATE.replace("xmin::text::bigint", f"{row}::bigint").replace(
        "pg_snapshot_xmax(pg_current_snapshot())::text::bigint", f"{now}::bigint"
    )
    found = database.execute(f"select {expression}".encode(), {"horizon": horizon}).fetchone()
    assert found == (late,)


def test_two_at_once_share_the_work(database: Database, slot: SlotByHand, outbox_database_url: str) -> None:
    """Neither waits for the other, neither fails, and each row is deleted by one of them."""
    append_rows(database, 20_000, key="old", age=OLD)
    append_rows(database, 10, key="young", age=HOUR / 2)

    def one() -> int:
        with connect(outbox_database_url) as connection:
            connection.autocommit = True
            return slot.prune(connection=connection).deleted

    with ThreadPoolExecutor() as pool:
        both = [pool.submit(one) for _ in range(2)]
        deleted = [future.result() for future in both]
    assert sum(deleted) + slot.prune().deleted == 20_000
    assert kept_keys(database) == {"young": 10}


def test_a_locked_row_stays_and_holds_up_nothing(
    database: Database, slot: SlotByHand, other: Database
) -> None:
    append_rows(database, 3, key="old", age=OLD)
    append_rows(database, 1, key="locked", age=OLD)
    other.execute("select from outbox.outbox where aggregate_id = 'locked' for update")
    found = slot.prune()
    assert (found.deleted, found.kept_held) == (3, 1)
    other.rollback()
    assert slot.prune().deleted == 1


def test_nothing_goes_without_a_slot_that_can_tell(database: Database, database_url: str) -> None:
    """Missing, or another database's: the table may be the only copy."""
    append_rows(database, 3, key="old", age=OLD)
    with pytest.raises(PruneRefused, match="there is no replication slot nobody"):
        SlotByHand(database, "nobody").prune()
    with (
        psycopg.connect(database_url, autocommit=True) as elsewhere,
        a_slot(elsewhere) as others,
        pytest.raises(PruneRefused, match="is another's"),
    ):
        SlotByHand(database, others.name).prune()
    assert kept_keys(database) == {"old": 3}


def test_a_slot_that_vanishes_meanwhile_is_noticed(database: Database) -> None:
    with a_slot(database) as slot:
        append_rows(database, 1, key="old", age=OLD)
        with pytest.raises(PruneRefused, match="there is no replication slot"):
            slot.prune(meanwhile=lambda: database.execute("select pg_drop_replication_slot(%s)", [slot.name]))
    assert kept_keys(database) == {"old": 1}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("drop table outbox.outbox", "add table outbox.outbox"),
        ("set (publish = 'update')", "set (publish = 'insert')"),
        ("rename to mislaid", "rename to outbox"),
    ],
)
def test_what_the_publication_leaves_out_stays(
    database: Database, slot: SlotByHand, wrong: LiteralString, right: LiteralString
) -> None:
    """The slot confirms it, and nobody gets it: while nobody has put that right, no setup has noted a gap, either."""
    database.execute(f"alter publication outbox {wrong}")
    try:
        append_rows(database, 3, key="old", age=OLD)
        with pytest.raises(PruneRefused, match="the publication outbox leaves the outbox's rows out"):
            slot.prune()
    finally:
        name = "mislaid" if "mislaid" in wrong else "outbox"
        database.execute(f"alter publication {name} {right}")
    assert kept_keys(database) == {"old": 3}
    assert slot.prune().deleted == 3


def test_after_a_gap_everything_stays_for_a_whole_retention(
    database: Database, slot: SlotByHand, outbox_database_url: str
) -> None:
    """A slot that was made anew has confirmed nothing of what was committed while there was none."""
    append_rows(database, 2, key="old", age=OLD)
    note_gap(outbox_database_url, slot=slot.name)
    found = slot.prune()
    assert (found.deleted, found.kept_after_gap, found.held_up) == (0, 2, False)
    assert found.gap_ended_at == gap_ended_at(database, slot=slot.name)

    database.execute("update outbox.capture_gaps set ended_at = ended_at - interval '61 min'")
    assert slot.prune().deleted == 2


def test_a_partitioned_table_is_pruned_in_all_its_parts(database: Database, slot: SlotByHand) -> None:
    database.execute("alter table outbox.outbox rename to outbox_plain")
    database.execute(
        "create table outbox.outbox (like outbox.outbox_plain including defaults including constraints)"
        " partition by list (aggregate_id)"
    )
    database.execute("create table outbox.outbox_a partition of outbox.outbox for values in ('a')")
    database.execute("create table outbox.outbox_rest partition of outbox.outbox default")
    database.execute("alter publication outbox add table outbox.outbox")
    try:
        for key in ("a", "b"):
            append_rows(database, 3, key=key, age=OLD)
            append_rows(database, 1, key=key, age=HOUR / 2)
        assert slot.prune().deleted == 6
        assert kept_keys(database) == {"a": 1, "b": 1}
    finally:
        database.execute("drop table outbox.outbox")
        database.execute("alter table outbox.outbox_plain rename to outbox")


def test_the_rights_in_the_how_to_are_enough_and_needed(
    database: Database, slot: SlotByHand, outbox_database_url: str
) -> None:
    """A role of the CronJob's own, which can't read a payload; without them it is told so."""
    (page_says,) = examples("sql grants")["docs/howto/prune.md"]
    append_rows(database, 1, key="old", age=OLD)
    create, *grants = sqlparse.split(page_says.code)
    database.execute(create)
    try:
        database.execute("alter role outbox_pruner login password 'pruner-secret'")
        url = psycopg.conninfo.make_conninfo(
            outbox_database_url, user="outbox_pruner", password="pruner-secret"
        )
        with connect(url) as connection:
            connection.autocommit = True
            for grant in grants:
                with pytest.raises(StatementFailedError, match="permission denied"):
                    slot.prune(connection=connection)
                database.execute(grant)
            assert slot.prune(connection=connection).deleted == 1
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("select payload from outbox.outbox")
    finally:
        database.execute("drop owned by outbox_pruner")
        database.execute("drop role outbox_pruner")


def test_pages_are_read_by_their_number(database: Database) -> None:
    """A run reads the table once: without a scan by place, each step would read all of it."""
    append_rows(database, 20_000, key="old", age=OLD)
    found = database.execute(
        "explain select from only outbox.outbox where ctid >= '(0,0)'::tid and ctid < '(128,0)'::tid"
    )
    assert "Tid Range Scan" in str(found.fetchall())
