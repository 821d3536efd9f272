"""Section "scheduler": how late retries are moved on at a steady rate, and how fast at full speed."""

import random
import time
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.distribution import Distribution
from benchmarks.errors import BenchmarkError
from benchmarks.latencies import first_receipts
from benchmarks.orders import orders
from benchmarks.preload import park_at_rate, park_long_due
from benchmarks.rate import rate_per_s
from benchmarks.results import Results
from benchmarks.scale import Scale
from benchmarks.site import Site, endpoint_id
from benchmarks.table import Table
from benchmarks.topics import Ends
from benchmarks.usage import cpu_seconds, cpu_used
from streams.records.wire import header_map, read_int
from streams.topics import REDELIVERY

__all__ = ["measure_scheduler"]

_PATIENCE_S = 30.0
_KEYS = 5_000
_WARM_UP_S = 2.0
_LOOK_AGAIN_S = 0.05


class _Move(NamedTuple):
    """One retry that was moved on: when it was due, and when the broker had it on `outbox.redelivery`."""

    event_id: str
    due_at_ms: int
    moved_at_ms: int


def measure_scheduler(site: Site, scale: Scale) -> Results:
    """Measure the steady rate with a worker behind it, and full speed without."""
    return Results(
        heading="Scheduler",
        method=(
            "Retries stand in the lanes of the delay tiers as a worker writes them. A move is late by the broker's"
            " time on `outbox.redelivery` (whole milliseconds, of the same clock) less the due time in the record."
        ),
        tables=(_at_rate(site, scale), _at_full_speed(site, scale)),
    )


def _at_rate(site: Site, scale: Scale) -> Table:
    site.clear_way()
    (endpoint,) = site.set_endpoints(["*"])
    rng = random.Random(3)  # noqa: S311 - a load, the same one each time
    count = round(scale.retries_rate_per_s * (scale.retries_s + _WARM_UP_S))
    events = tuple(orders(count, types=("order.created",), keys=_KEYS, rng=rng))
    with site.scheduler(), site.worker():
        site.probe(events[0])
        before = site.topics.ends(REDELIVERY)
        park_at_rate(
            site.addresses.kafka_bootstrap_servers,
            events,
            tiers=site.tiers,
            endpoint=endpoint.id,
            rate_per_s=scale.retries_rate_per_s,
        )
        site.receiver.wait_for(count, patience_s=_PATIENCE_S)
        received_s = first_receipts(site.receiver.take())
    moves = list(_moves(site, before))
    if not moves:
        raise BenchmarkError("the scheduler moved nothing; see its log")
    first_due_ms = min(move.due_at_ms for move in moves) + _WARM_UP_S * 1000
    counted = [move for move in moves if move.due_at_ms >= first_due_ms]
    lateness = Distribution.of(float(move.moved_at_ms - move.due_at_ms) for move in counted)
    delivered = Distribution.of(
        received_s[move.event_id] * 1000 - move.due_at_ms for move in counted if move.event_id in received_s
    )
    early = sum(move.moved_at_ms < move.due_at_ms for move in moves)
    return Table(
        title=f"{scale.retries_rate_per_s:,} retries a second: late by, in ms",
        columns=("", "p50", "p90", "p99", "max", "early", "lost"),
        rows=(
            ("due → moved on", *lateness.cells(), str(early), str(count - len(moves))),
            ("due → first byte at the receiver", *delivered.cells(), "–", str(count - len(received_s))),
        ),
        notes=(
            (
                f"{len(counted):,} retries with waits of about 1, 2 and 4 s, over {scale.retries_s:g} s; the worker"
                " delivers what is moved on."
            ),
        ),
    )


def _at_full_speed(site: Site, scale: Scale) -> Table:
    site.clear_way()
    rng = random.Random(4)  # noqa: S311 - as above
    count = scale.due_retries
    park_long_due(
        site.addresses.kafka_bootstrap_servers,
        tuple(orders(count, types=("order.created",), keys=_KEYS, rng=rng)),
        tiers=site.tiers,
        endpoint=endpoint_id(0),
    )
    before = site.topics.ends(REDELIVERY)
    with site.scheduler() as scheduler:
        pids = {"scheduler": scheduler.pid, **site.servers()}
        _wait_for_moves(site, before, count // 10)
        cpu_before, moved_before = cpu_seconds(pids), site.topics.written_since(before)
        moved = _wait_for_moves(site, before, count)
        used = cpu_used(cpu_before, cpu_seconds(pids)).per_thousand(max(moved - moved_before, 1))
    moved_at_s = sorted(move.moved_at_ms / 1000 for move in _moves(site, before))
    rate = rate_per_s(moved_at_s, skip=max(count // 10, 1))
    return Table(
        title="Full speed: a backlog of retries that are long due",
        columns=("retries", "moves/s", *(f"CPU s per 1,000: {name}" for name in used)),
        rows=(
            (f"{moved:,}", "–" if rate is None else f"{rate:,.0f}", *(f"{used[name]:.3f}" for name in used)),
        ),
        notes=("Spread over all lanes; the first tenth is warm-up. No worker runs.",),
    )


def _wait_for_moves(site: Site, before: Ends, count: int) -> int:
    moved, since_s = 0, time.monotonic()
    while moved < count and time.monotonic() - since_s < _PATIENCE_S:
        time.sleep(_LOOK_AGAIN_S)
        now = site.topics.written_since(before)
        if now > moved:
            moved, since_s = now, time.monotonic()
    return moved


def _moves(site: Site, before: Ends) -> Iterator[_Move]:
    for message in site.topics.read_since(before):
        headers = header_map(message.headers())  # type: ignore[arg-type]  # the stub's list is invariant
        yield _Move(
            event_id=headers["id"].decode(),
            due_at_ms=read_int(headers, "outbox-due-at") or 0,
            moved_at_ms=message.timestamp()[1],
        )
