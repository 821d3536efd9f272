"""Section "recorder": how fast the delivery log is written, and what that does to events on their way to Kafka."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.attempts import preload_attempts
from benchmarks.distribution import Distribution
from benchmarks.errors import BenchmarkError
from benchmarks.latency import commit_to_kafka, poisson_load
from benchmarks.load import Load, run_load
from benchmarks.rate import rate_per_s
from benchmarks.results import Results
from benchmarks.scale import Scale
from benchmarks.site import Site
from benchmarks.table import Table
from benchmarks.usage import cpu_seconds, cpu_used, memory_mb
from connectors.kafka.groups import ConsumerGroups
from streams.topics import ATTEMPTS, EVENTS, RECORDER_GROUP

__all__ = ["measure_recorder"]

_PATIENCE_S = 60.0
_LOOK_AGAIN_S = 0.05


def measure_recorder(site: Site, scale: Scale) -> Results:
    """Measure full speed from a backlog, and the way to Kafka beside it."""
    return Results(
        heading="Recorder",
        method=(
            "Attempt records as workers write them stand in `outbox.attempts` before one recorder starts. What counts"
            " as recorded is committed, so it is in Postgres. One delivery in ten was retried."
        ),
        tables=(_full_speed(site, scale), _beside(site, scale)),
    )


def _full_speed(site: Site, scale: Scale) -> Table:
    site.clear_way()
    preload_attempts(site.addresses.kafka_bootstrap_servers, scale.recorded_attempts)
    with site.recorder() as recorder:
        pids = {"recorder": recorder.pid, **site.servers()}
        moments_s = [*_recorded(site, scale.recorded_attempts // 10, total=scale.recorded_attempts)]
        warm_up, before = len(moments_s), cpu_seconds(pids)
        moments_s += _recorded(site, scale.recorded_attempts, total=scale.recorded_attempts, known=warm_up)
        counted = len(moments_s) - warm_up
        used = cpu_used(before, cpu_seconds(pids)).per_thousand(max(counted, 1))
        memory = memory_mb(recorder.pid)
    rate = rate_per_s(moments_s, skip=warm_up)
    return Table(
        title="Full speed: a backlog of attempts",
        columns=(
            "attempts",
            "attempts/s",
            *(f"CPU s per 1,000: {name}" for name in used),
            "recorder's memory, MB",
        ),
        rows=(
            (
                f"{len(moments_s):,}",
                "–" if rate is None else f"{rate:,.0f}",
                *(f"{used[name]:.3f}" for name in used),
                f"{memory:,.0f}",
            ),
        ),
        notes=("The first tenth is warm-up. No worker runs.",),
    )


def _beside(site: Site, scale: Scale) -> Table:
    alone = _to_kafka(site, scale)
    site.clear_way()
    preload_attempts(site.addresses.kafka_bootstrap_servers, scale.recorded_beside)
    with site.recorder():
        for _ in _recorded(site, 1, total=scale.recorded_beside):
            pass
        beside = _to_kafka(site, scale)
        left = _behind(site)
    return Table(
        title=f"Commit → Kafka at {scale.latency_rate_per_s:g} events/s, in ms",
        columns=("", "p50", "p90", "p99", "max"),
        rows=(("alone", *alone.cells()), ("beside a recorder that catches up", *beside.cells())),
        notes=(
            (
                f"{scale.recording_s:g} s each; {left:,} of {scale.recorded_beside:,} attempts were left to record at"
                " the end."
            ),
        ),
    )


def _to_kafka(site: Site, scale: Scale) -> Distribution:
    arrivals = poisson_load(
        rate_per_s=scale.latency_rate_per_s, duration_s=scale.recording_s, types=("order.created",), seed=12
    )
    before = site.topics.ends(EVENTS)
    commits = run_load(Load(database_url=site.addresses.database_url, arrivals=arrivals))
    with _patience("Debezium doesn't carry the events to Kafka") as waiting:
        while site.topics.written_since(before) < len(commits):
            next(waiting)
    return commit_to_kafka(site, commits, before)


def _recorded(site: Site, count: int, *, total: int, known: int = 0) -> Iterator[float]:
    """The moment of each record, from the `known`-th to the `count`-th, as it is seen to be committed."""
    with _patience("the recorder records nothing; see its log") as waiting:
        while known < count:
            now_known = total - _behind(site, unknown=total)
            for _ in range(known, now_known):
                yield time.monotonic()
            known = max(known, now_known)
            next(waiting)


def _behind(site: Site, *, unknown: int = 0) -> int:
    behind = ConsumerGroups(site.addresses.kafka_bootstrap_servers).behind(RECORDER_GROUP, ATTEMPTS)
    return unknown if behind is None else behind


@contextmanager
def _patience(complaint: str) -> Iterator[Iterator[None]]:
    deadline_s = time.monotonic() + _PATIENCE_S

    def pauses() -> Iterator[None]:
        while True:
            if time.monotonic() > deadline_s:
                raise BenchmarkError(complaint)
            time.sleep(_LOOK_AGAIN_S)
            yield

    yield pauses()
