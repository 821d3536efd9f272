"""Section "latency": commit → first byte at the receiver, at a steady Poisson load, through everything."""

import random
import time
from collections.abc import Mapping, Sequence

from benchmarks.arrivals import poisson_arrivals
from benchmarks.database_work import DatabaseWork, settled_counters
from benchmarks.distribution import Distribution
from benchmarks.latencies import duplicates, first_receipts, latencies
from benchmarks.load import Arrival, Commit, Load, arrivals_of, run_load, transactions_of
from benchmarks.orders import orders
from benchmarks.picture import Curve
from benchmarks.results import Results
from benchmarks.scale import Scale
from benchmarks.site import Site, family
from benchmarks.table import Table
from benchmarks.topics import Ends
from benchmarks.usage import cpu_seconds, cpu_used
from streams.records.wire import header_map
from streams.topics import EVENTS

__all__ = ["commit_to_kafka", "measure_latency", "poisson_load"]

_KEYS = 5_000
_PATIENCE_S = 15.0


def poisson_load(
    *, rate_per_s: float, duration_s: float, types: tuple[str, ...], seed: int
) -> tuple[Arrival, ...]:
    """Make the arrivals of a load: the same ones for the same seed."""
    rng = random.Random(seed)  # noqa: S311 - a load, the same one each time
    moments = poisson_arrivals(rate_per_s=rate_per_s, duration_s=duration_s, rng=rng)
    return arrivals_of(moments, tuple(orders(len(moments), types=types, keys=_KEYS, rng=rng)))


def measure_latency(site: Site, scale: Scale) -> Results:
    """Measure one worker and one endpoint."""
    site.clear_way()
    site.set_endpoints(["*"])
    arrivals = poisson_load(
        rate_per_s=scale.latency_rate_per_s,
        duration_s=scale.warm_up_s + scale.latency_s,
        types=("order.created",),
        seed=1,
    )
    with site.worker() as worker, site.scheduler() as scheduler:
        site.probe(arrivals[0].order)
        pids = family(site, {"worker": worker, "scheduler": scheduler})
        events_before, counted_before = (
            site.topics.ends(EVENTS),
            settled_counters(site.addresses.database_url),
        )
        cpu_before, started_s = cpu_seconds(pids), time.time()
        commits = run_load(Load(database_url=site.addresses.database_url, arrivals=arrivals))
        site.receiver.wait_for(len(commits), patience_s=_PATIENCE_S)
        ended_at_s, cpu_after = time.time(), cpu_seconds(pids)
        receipts = site.receiver.take()
        counted_after = settled_counters(site.addresses.database_url)
    appended_s = _appended(site, events_before)
    received_s = first_receipts(receipts)
    warm = [commit for commit in commits if commit.arrived_s >= scale.warm_up_s]
    whole = latencies(warm, received_s, ended_at_s=ended_at_s)
    late = Distribution.of(commit.late_s * 1000 for commit in warm)
    system = f"outbox-streams, {scale.latency_rate_per_s:g} events/s"
    elapsed_s = ended_at_s - started_s
    used = cpu_used(cpu_before, cpu_after).seconds
    return Results(
        heading="Latency",
        method=(
            "Real transactions (an order and `outbox.append`), Debezium, one worker, one scheduler, one endpoint."
            " From the moment the commit returned to the client to the first byte of the request at the receiver."
        ),
        tables=(
            Table(
                title=f"Where the time goes, in ms, at {scale.latency_rate_per_s:g} events/s",
                columns=("", "p50", "p90", "p99", "max"),
                rows=(
                    ("commit → first byte", *whole.cells()),
                    ("of it commit → Kafka (Postgres, Debezium)", *_to_kafka(warm, appended_s).cells()),
                    ("of it Kafka → first byte (worker)", *_from_kafka(warm, appended_s, received_s).cells()),
                ),
                notes=(
                    (
                        f"{len(warm):,} events in {scale.latency_s:g} s after {scale.warm_up_s:g} s of warm-up;"
                        f" {whole.unended} never arrived, {duplicates(receipts)} came twice."
                    ),
                    (
                        "Kafka's time is that of the broker's log (LogAppendTime), cut to whole milliseconds. A commit"
                        " can be in Kafka before the client has heard of it."
                    ),
                    f"The load's transactions began {late.quantile(0.99)} ms behind their schedule or less (p99).",
                ),
            ),
            Table(
                title="CPU meanwhile",
                columns=("process", "% of a core"),
                rows=tuple((name, f"{100 * seconds / elapsed_s:.1f}") for name, seconds in used.items()),
            ),
        ),
        curves=(Curve(name=system, latencies=whole),),
        database=(
            DatabaseWork(
                system=system,
                events=len(commits),
                statements=0,  # the worker and the scheduler have no database address
                transactions=counted_after.transactions
                - counted_before.transactions
                - transactions_of(commits),
                rows_changed=counted_after.changed - counted_before.changed,
            ),
        ),
    )


def commit_to_kafka(site: Site, commits: Sequence[Commit], before: Ends) -> Distribution:
    """From the commit's return to the broker's time of the event, for those that were written since `before`."""
    return _to_kafka(commits, _appended(site, before))


def _appended(site: Site, before: Ends) -> dict[str, float]:
    """When the broker had each event, in epoch seconds."""
    appended_s: dict[str, float] = {}
    for message in site.topics.read_since(before):
        headers = header_map(message.headers())  # type: ignore[arg-type]  # the stub's list is invariant
        appended_s.setdefault(headers["id"].decode(), message.timestamp()[1] / 1000)
    return appended_s


def _to_kafka(commits: Sequence[Commit], appended_s: Mapping[str, float]) -> Distribution:
    known = (commit for commit in commits if commit.event_id in appended_s)
    return Distribution.of((appended_s[commit.event_id] - commit.committed_at_s) * 1000 for commit in known)


def _from_kafka(
    commits: Sequence[Commit], appended_s: Mapping[str, float], received_s: Mapping[str, float]
) -> Distribution:
    ids = [commit.event_id for commit in commits]
    known = [event_id for event_id in ids if event_id in appended_s and event_id in received_s]
    return Distribution.of((received_s[event_id] - appended_s[event_id]) * 1000 for event_id in known)
