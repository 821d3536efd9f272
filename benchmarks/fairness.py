"""Section "fairness": what one endpoint that hangs does to the others (INV-6)."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from benchmarks.distribution import Distribution
from benchmarks.latencies import first_receipts, latencies
from benchmarks.latency import poisson_load
from benchmarks.load import Arrival, Load, run_load
from benchmarks.orders import order_type
from benchmarks.results import Results
from benchmarks.scale import Scale
from benchmarks.site import Site, endpoint_id
from benchmarks.table import Table
from benchmarks.topics import Ends
from streams.topics import ATTEMPTS

__all__ = ["measure_fairness"]

_HEALTHY = 10
_DEAD = 0
_HANGS_S = 20.0
_LAST_ARRIVE_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phase:
    """The healthy endpoints' latencies, and what went to the dead one."""

    healthy: Distribution
    events_to_dead: int
    requests_to_dead: int
    turns_of_dead: Mapping[str, int]
    seconds: float


def measure_fairness(site: Site, scale: Scale) -> Results:
    """Measure the same healthy traffic alone, and with as much again to an endpoint that hangs."""
    rate = scale.latency_rate_per_s
    healthy = tuple(order_type(number) for number in range(1, _HEALTHY + 1))
    duration_s = scale.warm_up_s + scale.fairness_s
    alone = poisson_load(rate_per_s=rate, duration_s=duration_s, types=healthy, seed=7)
    to_dead = poisson_load(rate_per_s=rate, duration_s=duration_s, types=(order_type(_DEAD),), seed=8)
    without = _phase(site, scale, alone)
    site.receiver.hang(_DEAD, delay_s=_HANGS_S)
    try:
        beside = _phase(site, scale, tuple(sorted((*alone, *to_dead), key=lambda arrival: arrival.at_s)))
    finally:
        site.receiver.hang(_DEAD, delay_s=0)
    turns = beside.turns_of_dead
    return Results(
        heading="Fairness",
        method=(
            f"{_HEALTHY} healthy endpoints get {rate:g} events/s together, first alone, then beside one more"
            f" endpoint that gets as many and answers each only after {_HANGS_S:g} s (the attempt is given up"
            " before). Poisson arrivals through Postgres and Debezium; one worker, one scheduler."
        ),
        tables=(
            Table(
                title="Healthy endpoints: commit → first byte, in ms",
                columns=("", "p50", "p90", "p99", "max", "never arrived"),
                rows=tuple(
                    (name, *phase.healthy.cells(), str(phase.healthy.unended))
                    for name, phase in (("alone", without), ("beside one that hangs", beside))
                ),
                notes=(f"{len(without.healthy):,} events each, after {scale.warm_up_s:g} s of warm-up.",),
            ),
            Table(
                title="The endpoint that hangs",
                columns=("events", "requests/min", *(f"{outcome}/min" for outcome in turns)),
                rows=(
                    (
                        f"{beside.events_to_dead:,}",
                        f"{beside.requests_to_dead * 60 / beside.seconds:,.0f}",
                        *(f"{count * 60 / beside.seconds:,.0f}" for count in turns.values()),
                    ),
                ),
                notes=(
                    (
                        "Requests are what came to it; the others are the outcomes in `outbox.attempts`. A deferral is"
                        " a delivery that was parked without an attempt."
                    ),
                ),
            ),
        ),
    )


def _phase(site: Site, scale: Scale, arrivals: tuple[Arrival, ...]) -> _Phase:
    site.clear_way()
    site.set_endpoints([order_type(number) for number in range(_HEALTHY + 1)])
    attempts_before = site.topics.ends(ATTEMPTS)
    healthy_order = next(arrival.order for arrival in arrivals if arrival.order.type != order_type(_DEAD))
    with site.worker(), site.scheduler():
        site.probe(healthy_order)
        started_s = time.time()
        commits = run_load(Load(database_url=site.addresses.database_url, arrivals=arrivals))
        healthy = [commit for commit in commits if commit.event_type != order_type(_DEAD)]
        time.sleep(
            _LAST_ARRIVE_WITHIN_S
        )  # the dead one's retries never end, so there is no count to wait for
        ended_at_s = time.time()
        receipts = site.receiver.take()
    warm = [commit for commit in healthy if commit.arrived_s >= scale.warm_up_s]
    return _Phase(
        healthy=latencies(warm, first_receipts(receipts), ended_at_s=ended_at_s),
        events_to_dead=len(commits) - len(healthy),
        requests_to_dead=sum(receipt.endpoint == _DEAD for receipt in receipts),
        turns_of_dead=_turns(site, attempts_before, endpoint=_DEAD, until_s=ended_at_s),
        seconds=ended_at_s - started_s,
    )


def _turns(site: Site, before: Ends, *, endpoint: int, until_s: float) -> Mapping[str, int]:
    """Count an endpoint's turns by their outcomes."""
    target = f"endpoint:{endpoint_id(endpoint)}"
    turns: Counter[str] = Counter()
    for message in site.topics.read_since(before):
        attempt = orjson.loads(message.value() or b"{}")
        if attempt["target"] == target and attempt["started_at_ms"] <= until_s * 1000:
            turns[attempt["outcome"]] += 1
    return turns
