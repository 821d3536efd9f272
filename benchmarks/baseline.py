"""Section "baseline": the polling outbox worker on the same Postgres, as it is and tuned.

It is a reimplementation (`polling_worker`). Kafka and Connect stay up meanwhile, idle, as they were for ours.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from benchmarks.children import Child
from benchmarks.database_work import DatabaseWork, settled_counters
from benchmarks.latencies import first_receipts, latencies
from benchmarks.latency import poisson_load
from benchmarks.load import Load, run_load, transactions_of
from benchmarks.orders import orders
from benchmarks.picture import Curve
from benchmarks.polling_table import EMPTY_POLLING_TABLE, fill_polling_table
from benchmarks.polling_worker import Counts, PollingSettings, serve_polling_worker
from benchmarks.rate import rate_per_s
from benchmarks.results import Results
from benchmarks.scale import Scale
from benchmarks.site import Site
from benchmarks.table import Table
from benchmarks.usage import cpu_seconds, cpu_used

__all__ = ["measure_baseline"]

_TYPE = "order.created"
_KEYS = 5_000
_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """How the worker polls."""

    name: str
    batch_rows: int
    interval_s: float

    @property
    def most_per_s(self) -> float:
        """What its polling alone limits it to."""
        return self.batch_rows / self.interval_s


_AS_IS = _Setting(name="polling as it is (20 rows every 2 s)", batch_rows=20, interval_s=2.0)
_TUNED = _Setting(name="polling tuned (500 rows every 100 ms)", batch_rows=500, interval_s=0.1)


def measure_baseline(site: Site, scale: Scale) -> Results:
    """Measure latency and database work at the rate that ours is measured at, and throughput from a backlog."""
    site.clear_way()
    runs = (
        _latency(site, scale, _TUNED, rate_per_s=scale.latency_rate_per_s, duration_s=scale.latency_s),
        _latency(site, scale, _AS_IS, rate_per_s=scale.polled_as_is_rate_per_s, duration_s=scale.latency_s),
        _latency(site, scale, _AS_IS, rate_per_s=scale.latency_rate_per_s, duration_s=scale.polled_as_is_s),
    )
    return Results(
        heading="Baseline: polling",
        method=(
            "The polling outbox worker that this replaces, reimplemented for this benchmark with the same webhook"
            " sender, on the same Postgres: it claims rows with FOR UPDATE SKIP LOCKED under a lock of one minute,"
            " posts up to 32 at once, and marks each row. As it is, it can take 10 events/s, so its latency is"
            f" measured at {scale.polled_as_is_rate_per_s:g} events/s as well."
        ),
        tables=(_throughput(site, scale), _idle(site, scale)),
        curves=tuple(curve for curve, _ in runs),
        database=tuple(work for _, work in runs),
    )


def _latency(
    site: Site, scale: Scale, setting: _Setting, *, rate_per_s: float, duration_s: float
) -> tuple[Curve, DatabaseWork]:
    arrivals = poisson_load(
        rate_per_s=rate_per_s, duration_s=scale.warm_up_s + duration_s, types=(_TYPE,), seed=5
    )
    _empty(site)
    before = settled_counters(site.addresses.database_url)
    with _polling(site, setting) as worker:
        commits = run_load(Load(database_url=site.addresses.database_url, arrivals=arrivals, table="polling"))
        if rate_per_s <= setting.most_per_s:
            site.receiver.wait_for(len(commits), patience_s=_PATIENCE_S)
        ended_at_s = time.time()
        counts: Counts = worker.ask(None)
    receipts = site.receiver.take()
    after = settled_counters(site.addresses.database_url)
    received_s = first_receipts(receipts)
    warm = [commit for commit in commits if commit.arrived_s >= scale.warm_up_s]
    system = f"{setting.name}, {rate_per_s:g} events/s"
    work = DatabaseWork(
        system=system,
        events=max(len(received_s), 1),
        statements=counts.statements,
        transactions=after.transactions - before.transactions - transactions_of(commits),
        rows_changed=after.changed - before.changed,
    )
    return Curve(name=system, latencies=latencies(warm, received_s, ended_at_s=ended_at_s)), work


def _throughput(site: Site, scale: Scale) -> Table:
    as_is_events = max(round(scale.polled_as_is_s * _AS_IS.most_per_s), 2 * _AS_IS.batch_rows)
    rows = (
        _drained(site, _AS_IS, events=as_is_events, skip=_AS_IS.batch_rows),
        _drained(site, _TUNED, events=scale.polled_events, skip=max(scale.polled_events // 10, 1)),
    )
    return Table(
        title="Webhooks per second, one polling worker, from a backlog",
        columns=("setting", "events", "webhooks/s", "CPU s per 1,000", "of it worker", "of it Postgres"),
        rows=rows,
    )


def _drained(site: Site, setting: _Setting, *, events: int, skip: int) -> tuple[str, ...]:
    _empty(site)
    rng = random.Random(6)  # noqa: S311 - a load, the same one each time
    with psycopg.connect(site.addresses.database_url, autocommit=True) as connection:
        fill_polling_table(connection, list(orders(events, types=(_TYPE,), keys=_KEYS, rng=rng)))
    with _polling(site, setting) as worker:
        pids = {"worker": worker.pid, "Postgres": site.servers()["Postgres"]}
        begun = site.receiver.wait_for(skip, patience_s=_PATIENCE_S)
        before = cpu_seconds(pids)
        done = site.receiver.wait_for(events, patience_s=_PATIENCE_S)
        used = cpu_used(before, cpu_seconds(pids)).per_thousand(max(done - begun, 1))
    rate = rate_per_s([receipt.at_s for receipt in site.receiver.take()], skip=skip)
    cpu = (sum(used.values()), used["worker"], used["Postgres"])
    shown = "–" if rate is None else f"{rate:,.0f}"
    return (setting.name, f"{done:,}", shown, *(f"{seconds:.3f}" for seconds in cpu))


def _idle(site: Site, scale: Scale) -> Table:
    _empty(site)
    rows = []
    for setting in (_AS_IS, _TUNED):
        with _polling(site, setting) as worker:
            before: Counts = worker.ask(None)
            time.sleep(scale.idle_s)
            after: Counts = worker.ask(None)
        per_minute = (after.statements - before.statements) * 60 / scale.idle_s
        rows.append((setting.name, f"{per_minute:,.0f}"))
    return Table(
        title="Nothing to do: statements a minute, one worker",
        columns=("setting", "statements/min"),
        rows=tuple(rows),
    )


def _empty(site: Site) -> None:
    with psycopg.connect(site.addresses.database_url, autocommit=True) as connection:
        connection.execute(EMPTY_POLLING_TABLE)
    site.receiver.take()


@contextmanager
def _polling(site: Site, setting: _Setting) -> Iterator[Child]:
    """Run a polling worker that posts to endpoint 0, until the block ends."""
    (endpoint,) = site.endpoints_for(["*"])
    settings = PollingSettings(
        database_url=site.addresses.database_url,
        batch_rows=setting.batch_rows,
        interval_s=setting.interval_s,
        endpoint_json=endpoint.to_json(),
        event_type=_TYPE,
    )
    with Child(serve_polling_worker, settings) as worker:
        worker.ask(None)  # it is up
        yield worker
