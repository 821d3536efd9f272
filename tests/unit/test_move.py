"""Where a due record goes: back to its worker, on another lap, or, unreadable, to the dead letters."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.kafka.record import OutgoingRecord
from streams.delay.lane import Waiting
from streams.delay.move import due_at_ms, move
from streams.dispatch.hops import records_after
from streams.records.attempt import Attempt
from streams.records.delivery import Delivery, Origin
from streams.records.next_hop import Retry
from streams.records.outcome import Failed
from streams.records.wire import decode_delivery, header_map
from streams.retry.wait import Wait, wait_at_least
from tests.support.chance import seeded
from tests.support.deliveries import NOW_MS, a_delivery, any_delivery, default_tiers
from tests.support.manual_surroundings import ManualSurroundings

TIERS = default_tiers()
PLACE = Origin("outbox.retry-1s", 2, 77)


def parked(delivery: Delivery, wait: Wait) -> Waiting:
    """The record that a worker parks, as the scheduler reads it."""
    retry = Retry(
        delivery=delivery,
        topic=wait.lane.topic,
        partition=wait.lane.partition,
        due_at_ms=wait.due_at_ms,
        not_before_ms=wait.not_before_ms,
        error="503",
    )
    attempt = Attempt(
        attempt_id=ManualSurroundings().new_id(),
        delivery=delivery,
        outcome=Failed(error="503"),
        next_hop=retry,
        started_at_ms=NOW_MS,
        duration_ms=1.0,
    )
    return read(records_after(attempt)[1])


def read(record: OutgoingRecord, offset: int = 77) -> Waiting:
    headers = header_map(record.headers)
    return Waiting(
        offset=offset, due_at_ms=due_at_ms(headers), key=record.key, value=record.value, headers=headers
    )


def moved(waiting: Waiting, *, now_ms: int | None = None, random: Random | None = None) -> OutgoingRecord:
    return move(
        waiting,
        parked_at=PLACE,
        now_ms=waiting.due_at_ms if now_ms is None else now_ms,
        tiers=TIERS,
        random=(random or seeded(0)).random,
    )


def a_wait(wait_ms: int = 1_000) -> Wait:
    return wait_at_least(wait_ms, now_ms=NOW_MS, tiers=TIERS, random=seeded(0).random)


@given(delivery=any_delivery)
def test_a_due_record_goes_back_to_the_partition_of_its_origin(delivery: Delivery) -> None:
    """Same key, same partition number: the worker that owns a key's first attempts owns its retries."""
    record = moved(parked(delivery, a_wait()))
    assert record.topic == "outbox.redelivery"
    assert record.partition == delivery.origin.partition
    assert record.key == delivery.event.aggregate_id.encode()
    assert record.value == delivery.event.payload
    assert decode_delivery(header_map(record.headers), key=record.key, value=record.value) == delivery


@given(delivery=any_delivery, wait_ms=st.integers(0, 3 * 86_400_000), seed=st.integers(0, 2**32))
def test_laps_end_no_earlier_than_asked_and_change_nothing_but_the_wait(
    delivery: Delivery, wait_ms: int, seed: int
) -> None:
    """INV-3, CASES 8, CASES 34: lap after lap the record keeps its bytes and size, and comes back no moment early."""
    random = seeded(seed)
    waiting = parked(delivery, wait_at_least(wait_ms, now_ms=NOW_MS, tiers=TIERS, random=random.random))
    laps = 0
    while True:
        now_ms = waiting.due_at_ms + random.randint(0, 200)
        record = moved(waiting, now_ms=now_ms, random=random)
        if record.topic == "outbox.redelivery":
            break
        assert record.topic.startswith("outbox.retry-")
        assert len(record.headers) <= len(waiting.headers)
        assert read(record).due_at_ms > now_ms
        waiting, laps = read(record), laps + 1
    assert now_ms >= NOW_MS + wait_ms
    assert laps <= wait_ms // 450_000 + 1
    assert "outbox-not-before" not in header_map(record.headers)
    assert decode_delivery(header_map(record.headers), key=record.key, value=record.value) == delivery


def test_the_last_lap_is_in_the_shortest_lane_that_is_long_enough() -> None:
    """With 3 s left of a wait of hours, it is not held for another quarter of one."""
    waiting = parked(a_delivery(), a_wait(7_200_000))
    record = moved(waiting, now_ms=NOW_MS + 7_200_000 - 3_000)
    assert (record.topic, record.partition) == ("outbox.retry-4s", 2)
    assert "outbox-not-before" not in header_map(record.headers)
    assert read(record).due_at_ms == NOW_MS + 7_200_000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("outbox-due-at", None),
        ("outbox-due-at", b"soon"),
        ("outbox-due-at", b"9" * 30),
        ("outbox-not-before", b"-1"),
        ("outbox-origin", None),
        ("outbox-origin", b"outbox.events"),
        ("outbox-origin", b"outbox.events/-1/7"),
        ("outbox-origin", b"outbox.events/%d/7" % 2**31),
        ("outbox-origin", b"outbox.events/" + b"9" * 5_000 + b"/7"),
    ],
)
def test_an_unreadable_record_is_buried_with_its_bytes_and_holds_nobody(
    name: str, value: bytes | None
) -> None:
    """INV-1, CASES 41: it is due at once, and goes to the dead letters as it was; the lane moves on."""
    good = parked(a_delivery(), a_wait())
    headers = {key: raw for key, raw in {**good.headers, name: value}.items() if raw is not None}
    record = moved(
        Waiting(offset=77, due_at_ms=due_at_ms(headers), key=b"k", value=b"\xff", headers=headers),
        now_ms=NOW_MS + 2_000,
    )
    assert (record.topic, record.key, record.value) == ("outbox.dead-letter", b"k", b"\xff")
    written = header_map(record.headers)
    assert written["outbox-error-code"] == b"EVENT_MALFORMED"
    assert written["outbox-origin"] == headers.get("outbox-origin", b"outbox.retry-1s/2/77")
    assert name.encode() in written["outbox-error"]


def test_thousands_of_garbled_records_are_moved_or_buried_and_never_raise() -> None:
    """CASES 41: one record that made the scheduler raise would stop every retry, again and again at each restart."""
    random, good = seeded(41), parked(a_delivery(), a_wait(7_200_000)).headers
    topics: set[str] = set()
    for _ in range(5_000):
        headers: dict[str, Any] = dict(good)
        for name in random.sample(sorted(headers), k=random.randint(1, 4)):
            headers[name] = random.choice(
                [b"", b"0", b"-1", b"9" * 18, b"9" * 19, b"a/1/2", b"a/9/x", random.randbytes(5)]
            )
        headers.pop(random.choice(sorted(headers)))
        due = due_at_ms(headers)
        assert due >= 0
        waiting = Waiting(offset=1, due_at_ms=due, key=None, value=None, headers=headers)
        topics.add(moved(waiting, now_ms=NOW_MS).topic)
    assert {"outbox.redelivery", "outbox.dead-letter", "outbox.retry-15m"} <= topics
