"""From a row to a record, through the real Debezium: the headers' names and bytes, and the payload's bytes (INV-5)."""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from outbox import MAX_PAYLOAD_BYTES
from streams.settings import Settings
from tests.support.topics import Record, TopicTail

Database = psycopg.Connection[Any]
INSERT = """
insert into outbox.outbox (id, channel, type, aggregate_type, aggregate_id, payload, content_type, headers,
created_at) values (%(id)s, %(channel)s, %(type)s, 'order', %(key)s, %(payload)s, %(content_type)s,
%(headers)s, %(created_at)s)
"""
ODD_PAYLOADS = [
    '{"b" : 1, "a":1.0, "a": 2}',
    '{"n":123456789012345678901234567890.10,"m":1E400,"z":-0.0}',
    '"\\u20ac \\ud83d\\ude00 \\/ \N{EURO SIGN} \N{GRINNING FACE}"',
    "  [ ]\r\n\t",
    "\N{ZERO WIDTH NO-BREAK SPACE}x\N{LINE SEPARATOR}\N{NO-BREAK SPACE}",
    "null",
    "not json <&> 'quoted' \\",
    "${routedByValue} %s",
]


def insert(database: Database, payload: str | None, **fields: Any) -> str:
    """Write a row as a program in another language would, and give its id."""
    row = {
        "id": uuid4(),
        "channel": "events",
        "type": "order.created",
        "key": "42",
        "content_type": "application/json",
        "headers": "{}",
        "created_at": datetime(2026, 3, 4, 5, 6, 7, 89_000, tzinfo=UTC),
        **fields,
    }
    database.execute(INSERT, {**row, "payload": payload})
    return str(row["id"])


def arrived(tail: TopicTail, ids: Sequence[str]) -> list[Record]:
    """Wait for the last of these events; give those that came, in the order in which they came."""
    wanted = set(ids)
    records = tail.wait_until(
        lambda records: any(record.event_id == ids[-1] for record in records), what=f"event {ids[-1]}"
    )
    return [record for record in records if record.event_id in wanted]


def test_a_row_becomes_a_record_with_these_headers_and_no_others(
    database: Database, events: TopicTail
) -> None:
    """Names and texts are the contract with every worker; the key is the aggregate's id."""
    event_id = insert(
        database,
        '{"total": 7}',
        key='k\N{EURO SIGN} "q"',
        content_type="application/json; charset=utf-8",
        headers='{"traceparent":"00-a-b-01","x":"{\\"1\\"}"}',
    )
    (record,) = arrived(events, [event_id])
    headers = dict(record.headers)
    assert json.loads(headers.pop("headers")) == {"traceparent": "00-a-b-01", "x": '{"1"}'}
    assert headers == {
        "id": event_id,
        "type": "order.created",
        "aggregate-type": "order",
        "content-type": "application/json; charset=utf-8",
        "created-at": "2026-03-04T05:06:07.089000Z",
    }
    assert record.key == 'k\N{EURO SIGN} "q"'.encode()
    assert record.value == b'{"total": 7}'


def test_payloads_arrive_byte_for_byte(database: Database, events: TopicTail) -> None:
    """Blanks, duplicate keys, long numbers, escapes and their characters: nothing is parsed on the way."""
    ids = [insert(database, payload) for payload in ODD_PAYLOADS]
    assert [record.value for record in arrived(events, ids)] == [payload.encode() for payload in ODD_PAYLOADS]


@examples(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(
            lambda text: bool(text.strip("".join(map(chr, range(33)))))
        ),
        min_size=1,
        max_size=20,
    )
)
def test_any_text_arrives_byte_for_byte(database: Database, events: TopicTail, payloads: list[str]) -> None:
    with database.transaction():
        ids = [insert(database, payload) for payload in payloads]
    assert [record.value for record in arrived(events, ids)] == [payload.encode() for payload in payloads]


def test_the_largest_payload_passes(database: Database, events: TopicTail) -> None:
    """What Postgres takes, Kafka takes: a row that Connect's producer refused would stop all that come after it."""
    headers = json.dumps({f"x-{number}": "v" * 900 for number in range(4)})
    event_id = insert(database, "x" * MAX_PAYLOAD_BYTES, headers=headers, key="k" * 512)
    (record,) = arrived(events, [event_id])
    assert record.value == b"x" * MAX_PAYLOAD_BYTES


class UndoneError(Exception):
    """How a transaction is left that shall be rolled back."""


def test_only_what_was_committed_arrives(database: Database, events: TopicTail) -> None:
    """A rolled back row never does, nor one behind a rolled back savepoint; one deleted in its transaction does."""
    with suppress(UndoneError), database.transaction():
        rolled_back = insert(database, "1")
        raise UndoneError
    with database.transaction():
        kept = insert(database, "2")
        with suppress(UndoneError), database.transaction():
            undone = insert(database, "3")
            raise UndoneError
        deleted = insert(database, "4")
        database.execute("delete from outbox.outbox where id = %s", [deleted])
    last = insert(database, "5")
    records = arrived(events, [rolled_back, kept, undone, deleted, last])
    assert [record.event_id for record in records] == [kept, deleted, last]


def test_rows_of_one_statement_and_of_copy_arrive_in_order(database: Database, events: TopicTail) -> None:
    first = [
        str(row[0])
        for row in database.execute(
            "insert into outbox.outbox (type, aggregate_type, aggregate_id, payload)"
            " select 'many', 'order', '42', n::text from generate_series(1, 500) n returning id"
        ).fetchall()
    ]
    copied = [str(uuid4()) for _ in range(500)]
    copy_rows(database, copied)
    records = arrived(events, [*first, *copied])
    assert [record.event_id for record in records] == [*first, *copied]


def copy_rows(database: Database, ids: Sequence[str]) -> None:
    """Write rows with COPY, every column given: only then would Postgres put many into one WAL record."""
    columns = "id, channel, type, aggregate_type, aggregate_id, payload, content_type, headers, created_at"
    with database.cursor().copy(f"copy outbox.outbox ({columns}) from stdin") as copy:
        for event_id in ids:
            copy.write_row(
                (event_id, "events", "copied", "order", "42", "{}", "text/plain", "{}", datetime.now(UTC))
            )


def test_every_copied_row_has_a_position_of_its_own(database: Database) -> None:
    """Debezium resumes after a position in the WAL: rows that shared one would be lost behind a kill (case 37)."""
    database.execute("select pg_create_logical_replication_slot('looking', 'pgoutput', true)")
    copy_rows(database, [str(uuid4()) for _ in range(300)])
    rows = database.execute(
        "select lsn, data from pg_logical_slot_get_binary_changes("
        "'looking', null, null, 'proto_version', '1', 'publication_names', 'outbox')"
    ).fetchall()
    positions = [lsn for lsn, data in rows if data.startswith(b"I")]
    assert len(positions) == len(set(positions)) == 300


def test_other_channels_go_to_their_topic_and_null_is_a_tombstone(
    ready: Settings, database: Database
) -> None:
    """The configuration of endpoints travels through the outbox; a deleted one ends as a tombstone under its key."""
    tail = TopicTail(ready.kafka_bootstrap_servers, "outbox.endpoints")
    written = insert(database, '{"url" : "x"}', channel="endpoints", key="ep_1")
    removed = insert(database, None, channel="endpoints", key="ep_1")
    records = arrived(tail, [written, removed])
    tail.close()
    assert [(record.key, record.value) for record in records] == [
        (b"ep_1", b'{"url" : "x"}'),
        (b"ep_1", None),
    ]


def test_ids_are_uuids_as_text(database: Database, events: TopicTail) -> None:
    """The id that deduplicates is the row's, in its usual form (INV-4)."""
    event_id = insert(database, "1")
    (record,) = arrived(events, [event_id])
    assert str(UUID(record.headers["id"])) == event_id
