"""Parked records, as the scheduler reads them: moved on or buried, at a place that exists, and never raising."""

from hypothesis import example, given
from hypothesis import strategies as st

from connectors.kafka.record import OutgoingRecord
from streams import topics
from streams.delay.lane import Waiting
from streams.delay.move import due_at_ms, move
from streams.records.delivery import Origin
from streams.records.wire import encode_delivery, header_map, read_int
from tests.fuzz.mutation import mutated
from tests.fuzz.profile import FUZZ
from tests.support.deliveries import NOW_MS, a_delivery, default_tiers

TIERS = default_tiers()
LANES = {(lane.topic, lane.partition): lane.hold_ms for lane in TIERS.lanes}
GOOD = {
    **header_map(encode_delivery(a_delivery(first_failed_at_ms=NOW_MS))),
    "outbox-due-at": b"%d" % NOW_MS,
    "outbox-not-before": b"%d" % (NOW_MS + 7_200_000),
    "outbox-error": b"503",
}
READ_HERE = ("outbox-due-at", "outbox-not-before", "outbox-origin")


@st.composite
def parked_headers(draw: st.DrawFn) -> dict[str, bytes]:
    """A parked record's headers, of which those that the scheduler reads are garbled or missing."""
    headers = dict(GOOD)
    for name in draw(st.lists(st.sampled_from([*READ_HERE, "outbox-attempt"]), max_size=3)):
        if draw(st.integers(0, 4)):
            headers[name] = draw(mutated([GOOD[name], *(GOOD[other] for other in READ_HERE)]))
        else:
            headers.pop(name, None)
    return headers


def moved(headers: dict[str, bytes], *, now_ms: int, chance: float) -> OutgoingRecord:
    waiting = Waiting(offset=7, due_at_ms=due_at_ms(headers), key=b"42", value=b"\xff", headers=headers)
    return move(
        waiting,
        parked_at=Origin("outbox.retry-1s", 2, 7),
        now_ms=now_ms,
        tiers=TIERS,
        random=lambda: chance,
    )


@FUZZ
@given(
    headers=parked_headers(),
    now_ms=st.sampled_from([0, 1, NOW_MS, NOW_MS + 7_200_000, 10**17, 10**18]),
    chance=st.floats(0, 1, exclude_max=True),
)
@example(headers={**GOOD, "outbox-not-before": b"9" * 18}, now_ms=NOW_MS, chance=0.0)
@example(headers={**GOOD, "outbox-due-at": b"0" * 18, "outbox-not-before": b"0"}, now_ms=0, chance=0.0)
def test_a_parked_record_goes_to_a_place_that_exists_with_its_bytes(
    headers: dict[str, bytes], now_ms: int, chance: float
) -> None:
    """INV-1, INV-3: to its worker no earlier than asked, on a lap that its lane holds, or to the dead letters."""
    assert 0 <= due_at_ms(headers) < 10**18
    record = moved(headers, now_ms=now_ms, chance=chance)
    assert (record.key, record.value) == (b"42", b"\xff")
    written = header_map(record.headers)
    assert len(written) == len(record.headers)
    if record.topic == topics.DEAD_LETTER:
        assert written["outbox-error-code"] == b"EVENT_MALFORMED"
        assert len(written["outbox-error"]) <= 400
        return
    untouched = headers.keys() - {"outbox-due-at", "outbox-not-before"}
    assert all(written[name] == headers[name] for name in untouched)
    not_before_ms = read_int(headers, "outbox-not-before") or 0
    if record.topic == topics.REDELIVERY:
        assert not_before_ms <= now_ms
        assert record.partition is not None
        assert 0 <= record.partition < 2**31
        return
    assert record.partition is not None
    assert due_at_ms(written) == now_ms + LANES[record.topic, record.partition]
    assert read_int(written, "outbox-not-before") in {None, not_before_ms}
    assert "outbox-not-before" in written or due_at_ms(written) >= not_before_ms
