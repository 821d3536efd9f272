"""Section "verify": how long `outbox verify` takes over many events, and how much memory it has meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from benchmarks.errors import BenchmarkError
from benchmarks.parked_events import park_events
from benchmarks.results import Results
from benchmarks.scale import Scale
from benchmarks.site import Site, endpoint_id
from benchmarks.table import Table
from benchmarks.usage import cpu_seconds, cpu_used
from connectors.postgres.log_partitions import DEAD_LETTER_TABLES, TABLES, make_days
from streams.topics import DEAD_LETTER, EVENTS, LETTERS_GROUP

__all__ = ["measure_verify"]

_CHUNK = 20_000
_CARRIED_WITHIN_S = 900.0
_LOOK_AGAIN_S = 0.5
#: One of so many waits in a tier, and one is a dead letter.
_SHARE = 100

_APPEND = """
insert into outbox.outbox (type, aggregate_type, aggregate_id, payload)
select 'order.created', 'order', 'order-' || number, '{"order": "' || repeat('x', 200) || '"}'
from generate_series(1, %s) number
"""
_RECORD = """
insert into outbox.deliveries
select date_trunc('milliseconds', created_at), gen_random_uuid(), id, type, %(target)s, 'outbox.events/0/0',
       case number %% %(share)s when 0 then 'retrying' when 1 then 'failed' else 'succeeded' end,
       1, null, null, 204, null, '', case number %% %(share)s when 0 then 0 when 1 then 1 else 2 end, 1, 0, created_at,
       gen_random_uuid()
from (select *, row_number() over () as number from outbox.outbox where created_at >= %(since)s) event
"""
_BURY = """
insert into outbox.dead_letters (died_at, id, place_partition, place_offset, class, code, event_id, event_type, target,
    attempts, origin, created_at)
select last_attempt_at, gen_random_uuid(), 0, 0, 'undelivered', 'ENDPOINT_REJECTED', event_id, event_type, target, 1,
    origin, created_at
from outbox.deliveries where created_at >= %(since)s and status = 'failed'
"""
_WAITING = "select event_id from outbox.deliveries where created_at >= %(since)s and status = 'retrying'"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One run of the command: what it took, the memory at most, and its last line."""

    took_s: float
    cpu_s: float
    memory_mb: float
    last_line: str


def measure_verify(site: Site, scale: Scale) -> Results:
    """Measure one verification of events that went all the way through Debezium."""
    since = _filled(site, scale.verified_events)
    before = cpu_seconds(site.servers())
    run = _verified(site, since)
    servers = cpu_used(before, cpu_seconds(site.servers())).seconds
    used = {"verify": run.cpu_s, "Postgres": servers["Postgres"], "Kafka": servers["Kafka"]}
    return Results(
        heading="Verify",
        method=(
            f"{scale.verified_events:,} rows went through Debezium to `outbox.events`. The log has one delivery of"
            f" each: of {_SHARE}, one waits in a retry tier, and one is a dead letter. `outbox verify` reads all of it."
        ),
        tables=(
            Table(
                title="One verification",
                columns=("events", "s", "memory at most, MB", *(f"CPU s: {name}" for name in used)),
                rows=(
                    (
                        f"{scale.verified_events:,}",
                        f"{run.took_s:.1f}",
                        f"{run.memory_mb:,.0f}",
                        *(f"{seconds:.1f}" for seconds in used.values()),
                    ),
                ),
                notes=(f"It said: {run.last_line}",),
            ),
        ),
    )


def _filled(site: Site, count: int) -> datetime:
    """Have so many events, all of them accounted for; return the time before the first."""
    site.clear_way()
    site.set_endpoints(["*"])
    values = {"target": f"endpoint:{endpoint_id(0)}", "share": _SHARE}
    before = site.topics.ends(EVENTS)
    with psycopg.connect(site.addresses.database_url, autocommit=True) as connection:
        make_days(connection, {datetime.now(UTC).date()}, tables=(*TABLES, *DEAD_LETTER_TABLES))
        # As if nobody had changed it for long: then each event must have a delivery to it.
        connection.execute("update outbox.endpoints set updated_at = updated_at - interval '1 day'")
        since = _now(connection)
        for done in range(0, count, _CHUNK):
            connection.execute(_APPEND, (min(_CHUNK, count - done),))
        connection.execute("analyze outbox.outbox")
        for statement in (_RECORD, _BURY):
            connection.execute(statement, values | {"since": since})
        connection.execute("analyze outbox.deliveries")
        waiting = [event_id for (event_id,) in connection.execute(_WAITING, {"since": since})]
    deadline_s = time.monotonic() + _CARRIED_WITHIN_S
    while site.topics.written_since(before) < count:
        if time.monotonic() > deadline_s:
            raise BenchmarkError("Debezium doesn't carry the events to Kafka; see the log of Connect")
        time.sleep(_LOOK_AGAIN_S)
    site.clear_way()
    site.topics.skip_to_end(LETTERS_GROUP, (DEAD_LETTER,))
    park_events(
        site.addresses.kafka_bootstrap_servers, waiting, tiers=site.tiers, target=str(values["target"])
    )
    return since


def _verified(site: Site, since: datetime) -> _Run:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("OUTBOX_")}
    environment = clean | {
        "OUTBOX_DATABASE_URL": site.addresses.database_url,
        "OUTBOX_KAFKA_BOOTSTRAP_SERVERS": site.addresses.kafka_bootstrap_servers,
    }
    output = Path(site.stack.state_dir) / "logs" / "verify.log"
    command = [sys.executable, "-m", "streams.cli", "verify", "--since", since.isoformat(), "--until", "0s"]
    started_s = time.monotonic()
    with output.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603 - our own argument list, no shell
            command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
    took_s = time.monotonic() - started_s
    process.returncode = os.waitstatus_to_exitcode(status)  # it has been waited for
    said = output.read_text(encoding="utf-8", errors="replace").splitlines()
    if process.returncode:
        raise BenchmarkError("outbox verify ended with " + "\n".join([str(process.returncode), *said[-20:]]))
    return _Run(
        took_s=took_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        memory_mb=usage.ru_maxrss / 1024,
        last_line=said[-1],
    )


def _now(connection: psycopg.Connection[tuple[object, ...]]) -> datetime:
    row = connection.execute("select clock_timestamp()").fetchone()
    assert row is not None
    assert isinstance(row[0], datetime)
    return row[0]
