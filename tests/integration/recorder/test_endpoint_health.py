"""The recorder process on real Kafka and Postgres: health is right, and what there is to say is said once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from connectors.kafka.record import OutgoingRecord
from connectors.postgres.connection import connect
from connectors.postgres.endpoint_health import EndpointHealth
from connectors.postgres.endpoint_health_table import EndpointHealthTable
from connectors.postgres.endpoints import EndpointStore
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.secret import Secret
from outbox import EventFilter
from streams import topics
from streams.recorder.endpoint_turns import endpoint_turns
from streams.recorder.entry import read_entry
from tests.support.attempt_records import many_lives, record_of, value_of
from tests.support.eventually import eventually
from tests.support.group import wait_until_empty
from tests.support.pipeline import Pipeline
from tests.support.recorded import wait_until_recorded
from tests.support.topics import produce

DAY = timedelta(days=1)


@pytest.fixture
def endpoint(pipeline: Pipeline, target: str) -> Iterator[str]:
    """An endpoint of this test's own, made before all that is said of it."""
    endpoint_id = target.removeprefix("endpoint:")
    with pipeline.connect() as connection:
        EndpointStore(connection).add(
            Endpoint(
                id=endpoint_id,
                url="https://receiver.example/in",
                event_types=(EventFilter("no.such.type"),),
                secrets=(Secret.generate(),),
                created_at=datetime.now(UTC) - 10 * DAY,
            )
        )
        connection.execute(
            "update outbox.endpoints set updated_at = created_at where id = %s", (endpoint_id,)
        )
    yield endpoint_id
    with pipeline.connect() as connection:
        EndpointStore(connection).remove(endpoint_id)


def an_attempt(target: str, at: datetime, ending: str) -> OutgoingRecord:
    at_ms, event_id = int(at.timestamp() * 1000), str(uuid4())
    return record_of(
        value_of(
            ending,
            target=target,
            event_id=event_id,
            attempt_id=str(uuid4()),
            event_created_at_ms=at_ms,
            started_at_ms=at_ms,
        ),
        key=event_id.encode(),
    )


def held(pipeline: Pipeline, endpoint_id: str) -> EndpointHealth:
    with connect(pipeline.installation.database_url) as connection, connection.transaction():
        found = EndpointHealthTable(connection).held(endpoint_id)
    assert found is not None
    return found.health


def enabled(pipeline: Pipeline, endpoint_id: str) -> bool:
    with pipeline.connect() as connection:
        return EndpointStore(connection).get(endpoint_id).enabled


def said(pipeline: Pipeline, endpoint_id: str) -> list[str]:
    with psycopg.connect(pipeline.installation.database_url) as connection:
        rows = connection.execute(
            "select type from outbox.outbox where aggregate_type = 'endpoint' and aggregate_id = %s",
            (endpoint_id,),
        )
        return [event_type for (event_type,) in rows]


def test_health_is_what_one_reading_gives_however_often_the_recorder_is_killed(
    pipeline: Pipeline, target: str, endpoint: str
) -> None:
    """Kill -9 in the middle of batches, records twice on the topic, two recorders at the end; gone is told once."""
    records = many_lives(6_000, seed=31, target=target)  # of which one in twenty is answered with 410
    random.Random(8).shuffle(again := records[:1_000])
    url = pipeline.installation.database_url
    produce(pipeline.kafka, [*records, *again])
    chance, at = random.Random(6), 0
    for _ in range(3):
        recorder = pipeline.recorder()
        at += chance.randint(200, 1_500)

        def written(least: int = at) -> bool:
            with psycopg.connect(url) as connection:
                row = connection.execute(
                    "select count(*) from outbox.deliveries where target = %s", (target,)
                ).fetchone()
            return row is not None and row[0] >= least

        eventually(written, what=f"{at} deliveries in the log")
        recorder.kill()
        wait_until_empty(pipeline.kafka, topics.RECORDER_GROUP)
    recorders = [pipeline.recorder(), pipeline.recorder()]
    wait_until_recorded(url, target, records)
    eventually(lambda: not enabled(pipeline, endpoint), what="the endpoint disabled")
    assert [recorder.stop() for recorder in recorders] == [0, 0]
    health = held(pipeline, endpoint)
    turns = endpoint_turns([read_entry(record.value) for record in records], now=datetime.now(UTC))
    whole = replace(health, signs=EndpointHealth(endpoint_id="", counted_from=health.counted_from).signs)
    assert health == whole.after(turns)
    assert health.disabled_reason == "gone"
    assert said(pipeline, endpoint) == ["endpoint.disabled"]


def test_days_of_failures_are_warned_of_when_the_endpoint_still_fails(
    pipeline: Pipeline, target: str, endpoint: str
) -> None:
    """What a recorder reads after an outage is old and judges nobody; a failure of now does, by the setting."""
    now = datetime.now(UTC)
    old = [an_attempt(target, now - 6 * DAY + hour * timedelta(hours=1), "retried") for hour in range(140)]
    recorder = pipeline.recorder(endpoint_disable_after_hours=48)
    produce(pipeline.kafka, old)
    wait_until_recorded(pipeline.installation.database_url, target, old)
    fresh = [an_attempt(target, datetime.now(UTC), "retried")]
    assert said(pipeline, endpoint) == []
    produce(pipeline.kafka, fresh)
    eventually(lambda: said(pipeline, endpoint) == ["endpoint.failing"], what="the warning")
    assert enabled(pipeline, endpoint)  # nobody is disabled without notice
    assert recorder.stop() == 0
    assert recorder.of("endpoint_failing")[0]["endpoint"] == endpoint
