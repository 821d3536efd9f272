"""An event that nobody wanted, sent again by a redrive: routed as an event is, with the origin and the replay kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streams import topics
from streams.errors import RecordMalformed
from streams.records.delivery import Origin, Unrouted
from streams.records.wire import decode_unrouted, encode_unrouted, header_map, is_unrouted
from tests.support.deliveries import an_event
from tests.support.dispatch_bench import DispatchBench, Record, settled
from tests.support.scripted_target import ScriptedTarget

pytestmark = pytest.mark.usefixtures("log_lines")

ORIGIN = Origin(topics.EVENTS, 3, 7)


def unrouted(replay_id: str = "r1") -> Unrouted:
    return Unrouted(event=an_event(), origin=ORIGIN, replay_id=replay_id)


def record(offset: int, sent: Unrouted) -> Record:
    return Record(
        offset=offset,
        key=sent.event.aggregate_id.encode(),
        value=sent.event.payload,
        headers=encode_unrouted(sent),
        topic="outbox.redelivery",
    )


async def test_it_goes_to_every_target_that_wants_it_now() -> None:
    """One delivery each, attempt 1, with the first reading's origin, and the replay on its records."""
    bench = DispatchBench([ScriptedTarget("ep_1"), ScriptedTarget("ep_2")], holding=False)
    bench.take(record(0, unrouted()))
    await settled()
    begun = [delivery for target in bench.targets for delivery in target.begun]
    assert {delivery.target.name for delivery in begun} == {"ep_1", "ep_2"}
    assert {(one.attempt, one.deferrals, one.origin, one.replay_id) for one in begun} == {
        (1, 0, ORIGIN, "r1")
    }
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def test_it_is_taken_once_a_redrive() -> None:
    """Read again, it is settled without an attempt; another redrive of it is another matter."""
    bench = DispatchBench(holding=False)
    for offset, replay_id in enumerate(("r1", "r1", "r2")):
        bench.take(record(offset, unrouted(replay_id)))
    await settled()
    assert [delivery.replay_id for delivery in bench.target.begun] == ["r1", "r2"]
    assert bench.unsettled() == []


async def test_it_dies_again_where_still_nobody_wants_it() -> None:
    """A new dead letter, with the origin of the first and the replay in which it died."""
    bench = DispatchBench([])
    bench.take(record(0, unrouted()))
    await settled()
    (dead,) = bench.producer.waiting[0].records
    headers = header_map(dead.headers)
    assert dead.topic == topics.DEAD_LETTER
    assert headers["outbox-error-code"] == b"HANDLER_NOT_REGISTERED"
    assert headers["outbox-origin"] == str(ORIGIN).encode()
    assert headers["outbox-replay-id"] == b"r1"
    assert "outbox-target" not in headers
    bench.producer.ack()
    bench.assert_nothing_leaks()


@pytest.mark.parametrize("missing", ["outbox-replay-id", "outbox-origin", "id"])
async def test_what_only_looks_like_one_is_a_dead_letter(missing: str) -> None:
    """A redelivery without a target is one only if a redrive sent it, and if it can be read."""
    bench = DispatchBench()
    whole = record(0, unrouted())
    kept = [(name, raw) for name, raw in whole.headers or [] if name != missing]
    bench.take(replace(whole, headers=kept))
    await settled()
    (dead,) = bench.producer.waiting[0].records
    assert header_map(dead.headers)["outbox-error-code"] == b"EVENT_MALFORMED"
    assert not bench.target.begun


def test_what_is_read_is_what_was_written() -> None:
    """Headers and back, without a target; a delivery is none."""
    sent = unrouted()
    headers = header_map(encode_unrouted(sent))
    assert is_unrouted(headers)
    assert not is_unrouted({**headers, "outbox-target": b"handler:x"})
    event = sent.event
    assert decode_unrouted(headers, key=event.aggregate_id.encode(), value=event.payload) == sent
    with pytest.raises(RecordMalformed):
        decode_unrouted({**headers, "outbox-replay-id": b""}, key=b"42", value=b"")
