"""The circuit: when an endpoint is worth trying, and how often one that is down is tried (CASES 7)."""

from hypothesis import given
from hypothesis import strategies as st

from streams.dispatch.circuit import Circuit


def a_circuit(told: list[float] | None = None) -> Circuit:
    return Circuit(on_change=(told if told is not None else []).append)


def attempts(circuit: Circuit, how: str, *, now_s: float = 0.0, took_s: float = 0.0) -> None:
    """One after the other: x fails, o is taken."""
    for each in how:
        circuit.ended(circuit.began(now_s=now_s - took_s), failed=each == "x", now_s=now_s)


def opened(circuit: Circuit) -> None:
    attempts(circuit, "x" * 10, took_s=5.0)
    assert not circuit.closed


def test_ten_failures_in_a_row_open_it_and_nine_do_not() -> None:
    """A success between them begins the row anew; attempts that hang count from their begin."""
    circuit = a_circuit()
    attempts(circuit, "x" * 9 + "o", took_s=15.0)
    attempts(circuit, "x" * 9, now_s=100.0, took_s=15.0)
    assert circuit.hold_s(now_s=100.0) == 0.0
    attempts(circuit, "x", now_s=100.0, took_s=15.0)
    assert circuit.hold_s(now_s=100.0) == 5.0


def test_a_burst_of_first_attempts_that_fail_opens_nothing() -> None:
    """Only time tells: an endpoint that takes the retries a second or two later is not down."""
    circuit = a_circuit()
    attempts(circuit, "x" * 50)
    attempts(circuit, "x" * 49, now_s=4.9)
    assert circuit.closed
    attempts(circuit, "x", now_s=5.0)
    assert not circuit.closed


def test_a_hundred_failures_in_a_row_are_enough_at_any_pace() -> None:
    """A worker that has just started, with all that waits for an endpoint that is down, must not try all of it."""
    circuit = a_circuit()
    attempts(circuit, "x" * 99)
    assert circuit.closed
    attempts(circuit, "x")
    assert not circuit.closed


def test_a_busy_endpoint_that_takes_every_other_request_stays_closed() -> None:
    """Its rows of failures are chance; only nearly all of the last attempts say that it is down."""
    circuit = a_circuit()
    for second in range(1_000):
        attempts(circuit, "x" * 10 + "o" * 5, now_s=float(second))
        assert circuit.closed
    for tenth in range(200):
        if circuit.closed:
            attempts(circuit, "o" + "x" * 9, now_s=1_000.0 + tenth / 10)
    assert not circuit.closed


def test_one_probe_at_a_time_and_longer_pauses_after_each_that_fails() -> None:
    """Half-open lets one attempt through; a minute is the longest pause."""
    told: list[float] = []
    circuit = a_circuit(told)
    opened(circuit)
    now_s = 0.0
    for pause_s in (5.0, 10.0, 20.0, 40.0, 60.0, 60.0):
        assert told[-1] == pause_s
        assert circuit.hold_s(now_s=now_s + pause_s - 0.5) == 0.5
        now_s += pause_s
        assert circuit.hold_s(now_s=now_s) == 0.0
        for _ in range(5):
            assert circuit.hold_s(now_s=now_s) == 0.0
            probe = circuit.began(now_s=now_s)
            assert circuit.hold_s(now_s=now_s) > 0
            circuit.ended(probe, failed=True, now_s=now_s)


def test_who_comes_while_a_probe_runs_waits_for_it_unless_it_takes_long() -> None:
    """A probe that has just begun may close the circuit at once: whoever went away for the next pause would be late."""
    circuit = a_circuit()
    opened(circuit)
    probe = circuit.began(now_s=5.0)
    assert 0 < circuit.hold_s(now_s=5.0) < 0.1
    assert circuit.hold_s(now_s=8.0) == 3.0
    assert circuit.away_s(now_s=8.0) == 10.0
    circuit.ended(probe, failed=True, now_s=9.0)
    assert circuit.hold_s(now_s=9.0) == circuit.away_s(now_s=9.0) == 0.0


def test_a_probe_that_is_taken_closes_it_and_forgets_how_long_it_was_open() -> None:
    told: list[float] = []
    circuit = a_circuit(told)
    opened(circuit)
    attempts(circuit, "xxxxx", now_s=5.0)
    attempts(circuit, "xxo", now_s=15.0)
    assert circuit.closed
    assert circuit.hold_s(now_s=15.0) == 0.0
    attempts(circuit, "x" * 10, now_s=30.0, took_s=5.0)
    assert told == [5.0, 10.0, 0.0, 5.0]


def test_a_probe_that_was_cut_off_leaves_its_place_to_the_next() -> None:
    """A worker that stops says nothing of the endpoint."""
    circuit = a_circuit()
    opened(circuit)
    circuit.ended(circuit.began(now_s=5.0), failed=None, now_s=6.0)
    assert circuit.hold_s(now_s=6.0) == 0.0
    assert not circuit.closed


def test_what_began_before_it_opened_says_nothing_of_the_time_after() -> None:
    """Sixteen attempts that hang end one after the other: those behind the tenth must not count as failed probes."""
    circuit = a_circuit()
    hanging = [circuit.began(now_s=0.0) for _ in range(16)]
    for begun in hanging:
        circuit.ended(begun, failed=True, now_s=15.0)
    assert circuit.hold_s(now_s=15.0) == 5.0
    probe = circuit.began(now_s=20.0)
    circuit.ended(hanging[0], failed=True, now_s=20.0)
    circuit.ended(probe, failed=False, now_s=21.0)
    assert circuit.closed


@given(rate_per_s=st.floats(0.1, 1_000), took_s=st.floats(0.001, 20))
def test_an_endpoint_that_is_down_is_tried_a_bounded_number_of_times(
    rate_per_s: float, took_s: float
) -> None:
    """However many deliveries come for it: what opens the circuit, and then at most one a minute in the long run."""
    circuit = a_circuit()
    tries, now_s = 0, 0.0
    while now_s < 3_600:
        hold_s = circuit.hold_s(now_s=now_s)
        if hold_s:
            now_s += max(hold_s, 1 / rate_per_s)
            continue
        begun = circuit.began(now_s=now_s)
        tries += 1
        now_s += took_s
        circuit.ended(begun, failed=True, now_s=now_s)
        now_s += 1 / rate_per_s
    assert tries <= max(10, min(rate_per_s * 5 + 1, 100)) + 5 * (4 + 60)


def test_what_began_at_another_circuit_says_nothing() -> None:
    """An endpoint with a new URL begins anew, whatever comes of the attempts that are under way at the old one."""
    old, new = Circuit(on_change=lambda _: None), Circuit(on_change=lambda _: None)
    begun = [old.began(now_s=0.0) for _ in range(200)]
    for one in begun:
        new.ended(one, failed=True, now_s=10.0)
    assert new.hold_s(now_s=10.0) == 0
