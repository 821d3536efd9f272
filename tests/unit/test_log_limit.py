"""The log stays readable while Kafka is away."""

import logging

import structlog

from streams.log_limit import RepetitionLimit


class _Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def _record(message: object, *args: object, name: str = "aiokafka.conn") -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, __file__, 1, message, args, None)


def test_a_flood_is_one_line_and_a_count() -> None:
    """CASES 32: thousands of failed tries of one kind are one line in 30 s, which says how many there were."""
    clock = _Clock()
    limit = RepetitionLimit(clock_s=clock)
    assert limit.filter(_record("Unable connect to node with id %s: %s", 1, "refused"))
    assert not any(
        limit.filter(_record("Unable connect to node with id %s: %s", n, "refused")) for n in range(500)
    )
    clock.now_s = 31
    late = _record("Unable connect to node with id %s: %s", 2, "refused")
    assert limit.filter(late)
    assert (
        late.getMessage() == "Unable connect to node with id 2: refused [500 more like this were not written]"
    )


def test_addresses_and_times_in_a_text_do_not_make_it_another_message() -> None:
    """What librdkafka formats itself is recognised too."""
    limit = RepetitionLimit(clock_s=_Clock())
    assert limit.filter(_record("FAIL [thrd:127.0.0.1:9092/1]: refused (after 3ms)"))
    assert not limit.filter(_record("FAIL [thrd:127.0.0.1:9092/1]: refused (after 17ms)"))


def test_another_message_or_logger_is_not_held_back() -> None:
    """Only repetitions are."""
    limit = RepetitionLimit(clock_s=_Clock())
    assert limit.filter(_record("one"))
    assert limit.filter(_record("two"))
    assert limit.filter(_record("one", name="faust"))


def test_our_own_lines_are_never_held_back() -> None:
    """One canonical line per attempt, however many there are."""
    limit = RepetitionLimit(clock_s=_Clock())
    line = structlog.stdlib.ProcessorFormatter.wrap_for_formatter(
        logging.getLogger(), "info", {"event": "attempt"}
    )[0][0]
    assert all(limit.filter(_record(line, name="attempt")) for _ in range(3))
