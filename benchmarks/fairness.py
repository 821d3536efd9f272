"""Section "fairness": what one endpoint that hangs does to the others (INV-6)."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
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
_P99 = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phase:
    """The healthy endpoints' latencies, and what went to the dead one."""

    healthy: Distribution
    events_to_dead: int
    requests_to_dead: int
    turns_of_dead: Mapping[str, int]
    seconds: float


def measure_fairness(site: Site, scale: Scale) -> Results:
    """Measure the same traffic while all endpoints answer, and while the one that gets half of it hangs; in turns."""
    rate = scale.latency_rate_per_s
    healthy = tuple(order_type(number) for number in range(1, _HEALTHY + 1))
    duration_s = scale.warm_up_s + scale.fairness_s
    before, after = [], []
    for number in range(scale.fairness_rounds):
        of_healthy = poisson_load(rate_per_s=rate, duration_s=duration_s, types=healthy, seed=7 + 2 * number)
        of_one = poisson_load(
            rate_per_s=rate, duration_s=duration_s, types=(order_type(_DEAD),), seed=8 + 2 * number
        )
        arrivals = tuple(sorted((*of_healthy, *of_one), key=lambda arrival: arrival.at_s))
        before.append(_phase(site, scale, arrivals))
        site.receiver.hang(_DEAD, delay_s=_HANGS_S)
        try:
            after.append(_phase(site, scale, arrivals))
        finally:
            site.receiver.hang(_DEAD, delay_s=0)
    return Results(
        heading="Fairness",
        method=(
            f"{_HEALTHY} healthy endpoints get {rate:g} events/s together, and one more gets as many. It answers at"
            f" once before; after, it hangs: each answer would take {_HANGS_S:g} s, and the attempt is given up sooner."
            f" Before and after take turns, {scale.fairness_rounds} times each, with a fresh worker whose circuits"
            " are closed. Poisson arrivals through Postgres and Debezium; one worker, one scheduler."
        ),
        tables=(_healthy_table(before, after, scale), _hanging_table(after)),
    )


def _healthy_table(before: Sequence[_Phase], after: Sequence[_Phase], scale: Scale) -> Table:
    rows = []
    for name, phases in (("all answer", before), ("one hangs", after)):
        together = Distribution.together(phase.healthy for phase in phases)
        each = " · ".join(str(phase.healthy.quantile(_P99)) for phase in phases if len(phase.healthy))
        rows.append((name, *together.cells(), str(together.unended), each))
    return Table(
        title="Healthy endpoints: commit → first byte, in ms",
        columns=("", "p50", "p90", "p99", "max", "never arrived", "p99 of each turn"),
        rows=tuple(rows),
        notes=(_change(before, after), f"Each turn after {scale.warm_up_s:g} s of warm-up."),
    )


def _change(before: Sequence[_Phase], after: Sequence[_Phase]) -> str:
    was, became = (Distribution.together(phase.healthy for phase in phases) for phases in (before, after))
    if not (len(was) and len(became)):
        return "Nothing arrived."
    ratio = became.quantile(_P99).value_ms / was.quantile(_P99).value_ms
    return f"{len(was):,} events each. The p99 while one hangs is {ratio:.2f} times the p99 before."


def _hanging_table(phases: Sequence[_Phase]) -> Table:
    minutes = sum(phase.seconds for phase in phases) / 60
    outcomes = sorted({outcome for phase in phases for outcome in phase.turns_of_dead})
    counts = (sum(phase.turns_of_dead.get(outcome, 0) for phase in phases) for outcome in outcomes)
    return Table(
        title="The endpoint that hangs",
        columns=("events/min", "requests/min", *(f"{outcome}/min" for outcome in outcomes)),
        rows=(
            (
                f"{sum(phase.events_to_dead for phase in phases) / minutes:,.0f}",
                f"{sum(phase.requests_to_dead for phase in phases) / minutes:,.0f}",
                *(f"{count / minutes:,.0f}" for count in counts),
            ),
        ),
        notes=(
            (
                "Requests are what came to it; the others are the outcomes in `outbox.attempts`. A deferral is"
                " a delivery that was parked without an attempt."
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
