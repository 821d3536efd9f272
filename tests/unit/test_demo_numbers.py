"""The demo's numbers and latencies: each counts what its definition says."""

import math
from dataclasses import replace

from demo.expectation import expectations
from demo.latency import latencies_ms, percentile
from demo.numbers import count
from tests.support.told_demo import told_demo


def test_the_numbers_of_a_whole_run() -> None:
    """The counts follow from the story: 120 + 40 + 20 + 10 orders reach the warehouse, and so on."""
    evidence = told_demo()
    numbers = count(expectations(evidence.committed), evidence)
    assert (numbers.committed, numbers.rolled_back) == (200, 20)
    assert numbers.delivered == 190 + 120 + 40
    assert numbers.retried == 2 * 40
    assert numbers.dead_lettered == {
        "ENDPOINT_REJECTED": 20,
        "HANDLER_PERMANENT_FAILURE": 10,
        "HANDLER_NOT_REGISTERED": 10,
    }
    assert (numbers.waiting, numbers.lost, numbers.duplicates) == (0, 0, 0)


def test_a_failed_attempt_waits_until_the_next_is_told() -> None:
    """A delivery whose latest record points to a retry topic is waiting; a later record ends that."""
    evidence = told_demo()
    index = next(i for i, record in enumerate(evidence.attempts) if record.attempt == 3)
    last = evidence.attempts.pop(index)
    assert count((), evidence).waiting == 1
    evidence.attempts.append(last)
    assert count((), evidence).waiting == 0


def test_a_repeated_record_is_one_retry() -> None:
    """At-least-once may write a retry record twice: it is the same retry."""
    evidence = told_demo()
    evidence.parked.append(evidence.parked[0])
    assert count((), evidence).retried == 80


def test_latency_is_to_the_first_receipt() -> None:
    """A second receipt of the same event doesn't count, nor do other endpoints."""
    evidence = told_demo()
    first = next(receipt for receipt in evidence.receipts if receipt.target == "endpoint:ep_warehouse")
    evidence.receipts.append(replace(first, at_ns=first.at_ns + 10**9))
    latencies = latencies_ms(evidence, target="endpoint:ep_warehouse")
    assert latencies == (10.0,) * 190


def test_percentiles_are_nearest_rank() -> None:
    """p99 of 200 values is the 198th, p50 the 100th; of nothing there is none."""
    values = [float(value) for value in range(200, 0, -1)]
    assert (percentile(values, 50), percentile(values, 99), percentile(values, 100)) == (100, 198, 200)
    assert math.isnan(percentile([], 50))
