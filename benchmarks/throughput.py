"""Section "throughput": how many webhooks a second one worker sends, and what everything uses for it."""

import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from benchmarks.latencies import duplicates
from benchmarks.load import append_in_bulk
from benchmarks.orders import Order, order_type, orders
from benchmarks.preload import preload_events
from benchmarks.rate import rate_per_s
from benchmarks.receiver import Receipt
from benchmarks.results import Results
from benchmarks.scale import Scale
from benchmarks.site import Site, family
from benchmarks.table import Table
from benchmarks.usage import cpu_seconds, cpu_used, memory_mb
from streams.topics import ATTEMPTS

__all__ = ["measure_throughput"]

_PATIENCE_S = 30.0
_WARM_UP_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variant:
    """One arrangement."""

    name: str
    endpoints: int
    concurrency: int = 32
    through_postgres: bool = False


_VARIANTS = (
    _Variant(name="1 endpoint", endpoints=1),
    _Variant(name="20 endpoints", endpoints=20),
    _Variant(name="1 endpoint, 128 attempts at once", endpoints=1, concurrency=128),
    _Variant(name="20 endpoints, from Postgres through Debezium", endpoints=20, through_postgres=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """What one variant gave."""

    receipts: list[Receipt]
    warm_up: int
    attempts: int
    cpu_s: Mapping[str, float]  # for each 1,000 deliveries
    memory_mb: Mapping[str, float]

    def rate(self) -> str:
        rate = rate_per_s([receipt.at_s for receipt in self.receipts], skip=self.warm_up)
        return "–" if rate is None else f"{rate:,.0f}"

    def everything_s(self) -> float:
        """All but the receiver, which is the customer's."""
        return sum(seconds for name, seconds in self.cpu_s.items() if name != "receiver")


def measure_throughput(site: Site, scale: Scale) -> Results:
    """Measure each variant with a worker of its own."""
    measured = {variant.name: _measure(site, scale, variant) for variant in _VARIANTS}
    processes = tuple(next(iter(measured.values())).cpu_s)
    return Results(
        heading="Throughput",
        method=(
            f"{scale.throughput_events:,} events over {scale.throughput_keys:,} keys stand in `outbox.events` before"
            " one worker starts; each becomes one signed webhook and one record in `outbox.attempts`. The last"
            " variant appends them in bulk to Postgres instead, while the worker runs. The rate is that after the"
            f" first {_WARM_UP_SHARE:.0%}; so is the CPU, which through Postgres is counted from the first insert."
        ),
        tables=(
            Table(
                title="Webhooks per second, one worker",
                columns=(
                    "variant",
                    "webhooks/s",
                    "CPU s per 1,000",
                    "delivered",
                    "twice",
                    "attempts written",
                ),
                rows=tuple(
                    (
                        name,
                        one.rate(),
                        f"{one.everything_s():.3f}",
                        f"{len(one.receipts) - duplicates(one.receipts):,}",
                        str(duplicates(one.receipts)),
                        f"{one.attempts:,}",
                    )
                    for name, one in measured.items()
                ),
                notes=(
                    "CPU of everything but the receiver, which is the customer's; the next table has the parts.",
                ),
            ),
            Table(
                title="CPU seconds per 1,000 deliveries, by process",
                columns=("variant", *processes),
                rows=tuple(
                    (name, *(f"{one.cpu_s[process]:.3f}" for process in processes))
                    for name, one in measured.items()
                ),
                notes=(
                    "Through Postgres, what the application's own inserts cost Postgres is in its figure.",
                ),
            ),
            Table(
                title="Memory at the end, in MB, by process",
                columns=("variant", *processes),
                rows=tuple(
                    (name, *(f"{one.memory_mb[process]:,.0f}" for process in processes))
                    for name, one in measured.items()
                ),
            ),
        ),
    )


def _measure(site: Site, scale: Scale, variant: _Variant) -> _Measured:
    site.clear_way()
    types = tuple(order_type(number) for number in range(variant.endpoints))
    site.set_endpoints(types)
    events = _events(scale, types)
    count, warm_up = len(events), max(int(len(events) * _WARM_UP_SHARE), 1)
    attempts_before = site.topics.ends(ATTEMPTS)
    if not variant.through_postgres:
        preload_events(site.addresses.kafka_bootstrap_servers, events)
    with (
        site.scheduler() as scheduler,
        site.worker(OUTBOX_ENDPOINT_CONCURRENCY=str(variant.concurrency)) as worker,
        ThreadPoolExecutor(1) as aside,
    ):
        pids = {**family(site, {"worker": worker, "scheduler": scheduler}), "receiver": site.receiver.pid}
        if variant.through_postgres:
            site.probe(events[0])
            begun, before = 0, cpu_seconds(pids)
            aside.submit(append_in_bulk, site.addresses.database_url, events)
        else:
            begun = site.receiver.wait_for(warm_up, patience_s=_PATIENCE_S)
            before = cpu_seconds(pids)
        done = site.receiver.wait_for(count, patience_s=_PATIENCE_S)
        used = cpu_used(before, cpu_seconds(pids))
        memory = {name: memory_mb(pid) for name, pid in pids.items()}
    return _Measured(
        receipts=site.receiver.take(),
        warm_up=warm_up,
        attempts=site.topics.written_since(attempts_before),
        cpu_s=used.per_thousand(max(done - begun, 1)),
        memory_mb=memory,
    )


def _events(scale: Scale, types: tuple[str, ...]) -> tuple[Order, ...]:
    rng = random.Random(2)  # noqa: S311 - a load, the same one each time
    return tuple(orders(scale.throughput_events, types=types, keys=scale.throughput_keys, rng=rng))
