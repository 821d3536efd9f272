"""What Kafka has deleted is sent from the outbox table, where its rows are kept; what neither has is said."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from connectors.kafka.key_partition import key_partition
from connectors.kafka.read_record import RecordReader
from connectors.postgres.kept_rows import KeptRows, RowPosition
from streams import topics
from streams.replay.row_range import record_of_row
from tests.integration.replay.test_range import MOMENT, span, target, two_of_a_type
from tests.integration.replay.test_resend import delete_events
from tests.support.api_process import ApiProcess
from tests.support.eventually import eventually
from tests.support.pipeline import Pipeline
from tests.support.replaying import created_at
from tests.support.topics import TopicTail, topic_ends

_ODD = (
    ("plain", '{"total": 7}', "{}", "k", ""),
    ("a whole second", "[1, 2]", '{"b":"2","a":"1"}', "k2", "2026-03-04 05:06:07+00"),
    ("a tenth", "  null\n", '{"traceparent": "00-a-b-01"}', 'k\N{EURO SIGN} "q"', "2026-03-04 05:06:07.1+02"),
    ("microseconds", '"\N{GRINNING FACE}"', "{}", "a/b", "2026-03-04 05:06:07.000001+00"),
)


def test_a_row_is_the_record_that_debezium_made_of_it(running: Pipeline) -> None:
    """Key, payload, and headers in their order, byte for byte, and the partition: no receiver can tell."""
    tail = TopicTail(running.kafka, topics.EVENTS)
    ids = [insert(running, *odd) for odd in _ODD]
    places = {record.event_id: record for record in tail.wait_for_events(ids)}  # they come as partitions do
    with running.connect() as connection, RecordReader(running.kafka, client_id="tests") as reader:
        connection.autocommit = True
        for event_id in ids:
            place = places[str(event_id)]
            row = next(
                row
                for row in rows_of(KeptRows(connection), created_at(running, event_id))
                if row.id == event_id
            )
            made = record_of_row(row, partition=place.partition)
            assert (
                key_partition(made.key or b"", len(topic_ends(running.kafka, topics.EVENTS)))
                == place.partition
            )
            real = reader.read(place.topic, place.partition, place.offset)
            assert real is not None
            assert (made.key, made.value, made.headers) == (real.key, real.value, real.headers)


def rows_of(rows: KeptRows, moment: object) -> list:  # type: ignore[type-arg]
    return [*rows.page(RowPosition.before(moment), end=moment + MOMENT)]  # type: ignore[arg-type, operator]


def insert(running: Pipeline, what: str, payload: str, headers: str, key: str, at: str) -> UUID:
    with running.connect() as connection:
        found = connection.execute(
            """
            insert into outbox.outbox (type, aggregate_type, aggregate_id, payload, headers, created_at)
            values ('odd.row', %s, %s, %s, %s, coalesce(nullif(%s, '')::timestamptz, clock_timestamp()))
            returning id
            """,
            (what, key, payload, headers, at),
        ).fetchone()
    assert found is not None
    event_id: UUID = found[0]
    return event_id


@pytest.mark.cuts_history
def test_what_kafka_has_deleted_is_sent_from_the_table(running: Pipeline, api: ApiProcess) -> None:
    """The range on Kafka says that it is cut, and names the way; from the table, all of it is sent, as before."""
    mailbox, _ = two_of_a_type(running)
    history = running.append_many(
        f"{mailbox.event_type}.old", 20, key=lambda index: f"{mailbox.id}-{index % 5}"
    )
    mailbox.wait_for_events(history)
    first = {one.headers["webhook-id"]: one for one in mailbox.received}
    delete_events(running)
    kept = running.append_many(f"{mailbox.event_type}.kept", 5)
    mailbox.wait_for_events(kept)
    begin, end = span(running, [history[0], kept[-1]])
    cut = api.wait_for(api.send_range(begin, end, target(mailbox))["id"])
    assert cut["sent"] == 5
    assert "OUTBOX_RETENTION_HOURS" in cut["warning"]
    assert "--source postgres" in cut["warning"]
    whole = api.wait_for(api.send_range(begin, end, target(mailbox), source="postgres")["id"])
    assert (whole["sent"], whole["warning"]) == (25, None)
    assert whole["events_read"] == whole["events_to_read"]
    eventually(lambda: all(len(mailbox.of(one)) == 2 for one in history), what="what Kafka had deleted")
    for event_id in history:
        again = mailbox.of(event_id)[-1]
        assert again.headers["webhook-replay"] == whole["id"]
        assert again.body == first[str(event_id)].body
    # One key's events come in their order: each of them is a delivery of the same partition.
    for number in range(5):
        wanted = [str(event_id) for event_id in history[number::5]]
        replayed = [one for one in mailbox.received if one.headers.get("webhook-replay") == whole["id"]]
        assert [
            one.headers["webhook-id"] for one in replayed if one.headers["webhook-id"] in wanted
        ] == wanted
    resend = api.delivery(history[0], endpoint_id=mailbox.id)
    said = api.ask("POST", f"/v1/deliveries/{resend['id']}/resend", key="from-the-table")
    assert (said.status, said.kind) == (409, "event-gone")


@pytest.mark.cuts_history
def test_a_range_that_touches_pruned_rows_says_so(running: Pipeline, api: ApiProcess) -> None:
    """Rows that are gone can't be sent: the warning says from when on there are any. The rest is sent."""
    mailbox, _ = two_of_a_type(running)
    pruned = running.append_many(f"{mailbox.event_type}.pruned", 5)
    kept = running.append_many(f"{mailbox.event_type}.kept", 5)
    mailbox.wait_for_events([*pruned, *kept])
    begin, end = span(running, [pruned[0], kept[-1]])
    oldest = created_at(running, kept[0])
    with running.connect() as connection:
        connection.execute("delete from outbox.outbox where created_at < %s", [oldest])
    done = api.wait_for(api.send_range(begin, end, target(mailbox), source="postgres")["id"])
    assert done["sent"] == 5
    assert f"{oldest:%Y-%m-%dT%H:%M}" in done["warning"]
    assert "pruned" in done["warning"]
    earlier = (oldest - timedelta(days=1)).isoformat()
    nothing = api.wait_for(api.send_range(earlier, begin, target(mailbox), source="postgres")["id"])
    assert nothing["sent"] == 0
    assert "pruned" in nothing["warning"]
