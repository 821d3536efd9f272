"""A committed row becomes signed POSTs, one to each endpoint that wants it; a rolled back one becomes nothing."""

from __future__ import annotations

from collections import defaultdict

import outbox
from outbox.row import OutboxRow
from tests.support.answers import respond
from tests.support.by_event import attempt_by_attempt
from tests.support.child import Child
from tests.support.mailbox import assert_signed
from tests.support.marks import PAYLOAD_MARK, marked_secret
from tests.support.pipeline import Pipeline, marked_payload
from tests.support.topics import TopicTail

# What a JSON library would give back otherwise than it came. `verbatim` is text, as an application appends it.
VERBATIM = {
    "spaces and line ends": '{ "a" :\t1 ,\r\n "b":[ 1,2 ]\n}',
    "order of keys": '{"z":1,"a":2,"m":3}',
    "duplicate keys": '{"a":1,"a":2}',
    "escapes": r'{"a":"\u00e9\/\"\\\b\u2028","b":"\ud83d\ude00"}',
    "unicode": '{"a":"Größe, 価格, 😀, \u2028, \u200b, e\u0301"}',
    "big and exact numbers": '{"a":123456789012345678901234567890,"b":0.1000,"c":1E400,"d":-0,"e":1.0}',
    "no object": '"text"',
    "line end last": '{"a":1}\n',
    "form of a header": "POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello",
    "large": '{"a":"' + "ä" * 450_000 + '"}',
}


def test_a_committed_row_is_delivered(running: Pipeline) -> None:
    """One POST with the row's id and content type; the attempt stands on record."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    event_id = running.append(f"{mailbox.event_type}.created", payload=marked_payload(total="9.90"))
    mailbox.wait_for_events([event_id])
    [request] = mailbox.of(event_id)
    assert request.method == "POST"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["idempotency-key"] == str(event_id)
    assert request.body == f'{{"mark":"{PAYLOAD_MARK}","total":"9.90"}}'.encode()
    assert_signed(request, mailbox.endpoint.secrets[0])
    [turn] = running.attempts.wait_for(event_id, "succeeded")
    assert (turn["target"], turn["attempt"], turn["status"]) == (f"endpoint:{mailbox.id}", 1, 204)


def test_bytes_signed_are_bytes_sent_are_bytes_appended(running: Pipeline, scheduler: Child) -> None:
    """INV-5, on a first attempt and on a retry alike: whatever the payload, not a byte of it is touched.

    INV-4: both attempts have the row's id.
    """
    assert scheduler.is_running
    mailbox = running.mailbox(attempt_by_attempt(respond(500), respond(204)))
    running.wait_until_known(mailbox)
    ids = {
        name: running.append(f"{mailbox.event_type}.bytes", payload=text) for name, text in VERBATIM.items()
    }
    mailbox.wait_for(2 * len(ids) + 2)
    for name, event_id in ids.items():
        running.attempts.wait_for(event_id, "failed", "succeeded")
        first, second = mailbox.of(event_id)
        assert first.body == second.body == VERBATIM[name].encode(), name
        assert_signed(first, mailbox.endpoint.secrets[0])
        assert_signed(second, mailbox.endpoint.secrets[0])


def test_another_content_type_stays(running: Pipeline) -> None:
    """INV-5 is not about JSON: a CSV text arrives as it is, under its own content type."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    with running.connect() as connection:
        event_id = outbox.append(
            connection,
            type=mailbox.event_type,
            aggregate=("report", "1"),
            payload="a;b\r\n1;2\r\n",
            content_type="text/csv; charset=utf-8",
        )
    mailbox.wait_for_events([event_id])
    [request] = mailbox.of(event_id)
    assert (request.headers["content-type"], request.body) == ("text/csv; charset=utf-8", b"a;b\r\n1;2\r\n")
    assert_signed(request, mailbox.endpoint.secrets[0])


def test_a_rotation_signs_with_each_secret(running: Pipeline) -> None:
    """While an endpoint has two secrets, a receiver that knows either one takes the request."""
    old, new = marked_secret(1001), marked_secret(1002)
    mailbox = running.mailbox(secrets=(new, old))
    running.wait_until_known(mailbox)
    request = mailbox.received[0]
    assert_signed(request, old)
    assert_signed(request, new)


def test_each_target_has_its_own_delivery(running: Pipeline, scheduler: Child) -> None:
    """An event for two endpoints and a handler is three deliveries: only the one that failed is tried again.

    (outpost #609: the retries of a fan-out overwrote each other.)
    """
    assert scheduler.is_running
    steady = running.mailbox(event_type="handled.well")
    flaky = running.mailbox(attempt_by_attempt(respond(503), respond(204)), event_type="handled.well")
    running.wait_until_known(steady)
    running.wait_until_known(flaky)
    event_id = running.append("handled.well")
    running.attempts.wait_for(event_id, "failed", "succeeded", target=flaky.id)
    running.attempts.wait_for(event_id, "succeeded", target=steady.id)
    running.attempts.wait_for(event_id, "succeeded", target="handler:in-a-thread")
    assert len(steady.of(event_id)) == 1
    assert len(flaky.of(event_id)) == 2
    assert len(running.attempts.to_the_end().of(event_id)) == 5  # the fifth: the other handler of this type


def test_events_of_one_key_arrive_in_order(running: Pipeline) -> None:
    """What was appended for one aggregate reaches an endpoint that takes it one after another, in that order."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    ids = running.append_many(f"{mailbox.event_type}.changed", 120, key=lambda index: f"order-{index % 4}")
    mailbox.wait_for_events(ids)
    arrived = [event_id for event_id in mailbox.ids if event_id in set(map(str, ids))]
    by_key: dict[int, list[str]] = defaultdict(list)
    for event_id in arrived:
        by_key[[str(known) for known in ids].index(event_id) % 4].append(event_id)
    assert by_key == {key: [str(event_id) for event_id in ids[key::4]] for key in range(4)}


def test_committed_is_delivered_or_dead_lettered(running: Pipeline, scheduler: Child) -> None:
    """INV-1: committed − delivered − parked − dead = 0, over endpoints that take, retry or refuse, and over nobody.

    What was rolled back, whole or to a savepoint, never even reached Kafka; what was deleted again in its own
    transaction did.
    """
    assert scheduler.is_running
    events = TopicTail(running.kafka, "outbox.events")
    healthy = running.mailbox()
    flaky = running.mailbox(attempt_by_attempt(respond(500), respond(429), respond(200)))
    refusing = running.mailbox(respond(404))
    exhausting = running.mailbox(respond(500))
    for mailbox in (healthy, flaky):
        running.wait_until_known(mailbox)
    types = [mailbox.event_type for mailbox in (healthy, flaky, refusing, exhausting)]
    types += ["nobody.wants.this", "handled.well", "handled.third-time"]
    committed: dict[str, list[str]] = defaultdict(list)
    rolled_back: list[str] = []
    for number in range(20):
        rows = [
            OutboxRow.of(type=kind, aggregate=("order", str(number)), payload=marked_payload())
            for kind in types
        ]
        with running.connect() as connection:
            outbox.append_many(connection, rows)
            with connection.transaction(force_rollback=True):
                rolled_back.append(
                    str(outbox.append(connection, type=types[0], aggregate=("order", "0"), payload={"x": 1}))
                )
            if number % 3 == 1:
                connection.execute("delete from outbox.outbox where id = any(%s)", [[row.id for row in rows]])
            if number % 4 == 3:
                connection.rollback()
                rolled_back += [str(row.id) for row in rows]
            else:
                for row in rows:
                    committed[row.type].append(str(row.id))
    everything = {event_id for ids in committed.values() for event_id in ids}
    nobody = set(committed.pop("nobody.wants.this"))
    with_targets = [event_id for ids in committed.values() for event_id in ids]
    running.attempts.wait_until(lambda log: not log.parked(with_targets), what="end of all deliveries")
    letters = running.dead_letters.wait_until(
        lambda letters: (
            nobody | set(committed[refusing.event_type]) | set(committed[exhausting.event_type])
            <= {letter.event_id for letter in letters}
        ),
        what="dead letters of all that can't be delivered",
    )
    dead = {letter.event_id for letter in letters} & everything
    delivered = running.attempts.to_the_end().having(with_targets, "succeeded")
    assert len(everything) - len(delivered) - len(dead) == 0
    assert not delivered & dead
    codes = {letter.event_id: letter.headers["outbox-error-code"] for letter in letters}
    assert {codes[event_id] for event_id in nobody} == {"HANDLER_NOT_REGISTERED"}
    assert {codes[event_id] for event_id in committed[refusing.event_type]} == {"ENDPOINT_REJECTED"}
    assert {codes[event_id] for event_id in committed[exhausting.event_type]} == {"ENDPOINT_EXHAUSTED"}
    assert not set(rolled_back) & {record.event_id for record in events.to_the_end()}
    assert not set(rolled_back) & set(healthy.ids)
    # 3 attempts configured are 3 attempts made (convoy #2696), and a refusal costs one.
    assert all(len(exhausting.of(event_id)) == 3 for event_id in committed[exhausting.event_type])
    assert all(len(refusing.of(event_id)) == 1 for event_id in committed[refusing.event_type])
    events.close()
