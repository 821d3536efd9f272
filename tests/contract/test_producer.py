"""The producer's contract: one suite for the real one on Kafka, and for the fake that the dispatcher's tests run on."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol, cast
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # the package has no __all__
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from connectors.kafka import producer as producer_module
from connectors.kafka.errors import ProducerFatal
from connectors.kafka.loop_producer import LoopProducer
from connectors.kafka.producer import producer_config
from connectors.kafka.record import OutgoingRecord
from tests.support.fake_producer import FakeProducer

ANSWER_S = 30.0
PARTITIONS = 3


class Produces(Protocol):
    """What both have in common."""

    @property
    def outstanding(self) -> int: ...
    def produce(self, records: Sequence[OutgoingRecord], on_acked: Callable[[], None]) -> None: ...
    async def flush(self, *, timeout_s: float) -> bool: ...
    def close(self) -> None: ...


class Bench(Protocol):
    """A producer, and what its Kafka has."""

    producer: Produces
    topic: str

    def stored(self) -> list[OutgoingRecord]: ...
    def refuse(self) -> None: ...
    def relent(self) -> None: ...
    def unreachable(self) -> Produces: ...


class FakeBench:
    topic = "records"

    def __init__(self) -> None:
        self.fake = FakeProducer()
        self.producer: Produces = self.fake

    def stored(self) -> list[OutgoingRecord]:
        return self.fake.stored

    def refuse(self) -> None:
        self.fake.refusing = lambda _: True

    def relent(self) -> None:
        self.fake.refusing = lambda _: False

    def unreachable(self) -> Produces:
        return FakeProducer(holding=True)


class KafkaBench:
    """A topic of its own, which takes small records only until it relents."""

    def __init__(self, servers: str) -> None:
        self.topic = f"contract-producer-{uuid4()}"
        self._servers = servers
        self._admin = AdminClient({"bootstrap.servers": servers})
        created = self._admin.create_topics([NewTopic(self.topic, PARTITIONS, 1)])
        created[self.topic].result(ANSWER_S)
        self.relent()
        self.producer: Produces = self._producer(servers)

    def stored(self) -> list[OutgoingRecord]:
        return [record for number in range(PARTITIONS) for record in self._read(number)]

    def refuse(self) -> None:
        self._limit(1_000)

    def relent(self) -> None:
        self._limit(2_097_152)

    def unreachable(self) -> Produces:
        return self._producer("127.0.0.1:1")

    def _producer(self, servers: str) -> LoopProducer:
        def fatal(error: ProducerFatal) -> None:
            raise error

        config = producer_config(servers, client_id="contract")
        return LoopProducer(config, loop=asyncio.get_running_loop(), on_fatal=fatal)

    def _limit(self, max_bytes: int) -> None:
        entry = ConfigEntry("max.message.bytes", str(max_bytes), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, self.topic, incremental_configs=[entry])
        self._admin.incremental_alter_configs([resource])[resource].result(ANSWER_S)

    def _read(self, number: int) -> list[OutgoingRecord]:
        consumer = Consumer({"bootstrap.servers": self._servers, "group.id": "contract"})
        place = TopicPartition(self.topic, number, 0)
        _, end = consumer.get_watermark_offsets(place, timeout=ANSWER_S)
        consumer.assign([place])
        read: list[OutgoingRecord] = []
        while len(read) < end:
            message = consumer.poll(ANSWER_S)
            assert message is not None
            assert message.error() is None
            read.append(
                OutgoingRecord(
                    topic=self.topic,
                    key=message.key(),
                    value=message.value(),
                    headers=cast("list[tuple[str, bytes]]", message.headers() or []),
                    partition=number,
                )
            )
        consumer.close()
        return read


@pytest.fixture(params=["fake", "kafka"])
async def bench(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    monkeypatch.setattr(producer_module, "_REPRODUCE_AFTER_S", 0.05)
    if request.param == "fake":
        made: Bench = FakeBench()
    else:
        made = KafkaBench(request.getfixturevalue("kafka_bootstrap_servers"))
    yield made
    made.producer.close()


def a_record(bench: Bench, value: bytes | None = b"{}", **changes: object) -> OutgoingRecord:
    fields: dict[str, object] = {"topic": bench.topic, "key": b"42", "value": value, "headers": []}
    return OutgoingRecord(**(fields | changes))  # type: ignore[arg-type]


async def test_a_group_is_acknowledged_once_when_all_of_it_is_stored(bench: Bench) -> None:
    """INV-2: the callback says that Kafka has every record of the group, and it says so once."""
    counts: list[int] = []
    bench.producer.produce(
        [a_record(bench, b"%d" % number) for number in range(3)], lambda: counts.append(len(bench.stored()))
    )
    assert bench.producer.outstanding == 3
    assert await bench.producer.flush(timeout_s=ANSWER_S)
    assert counts == [3]


async def test_no_acknowledgement_comes_before_produce_returns(bench: Bench) -> None:
    """Whoever produces has put away what the callback will need."""
    acked: list[str] = []
    bench.producer.produce([a_record(bench)], lambda: acked.append("acked"))
    assert acked == []
    assert await bench.producer.flush(timeout_s=ANSWER_S)
    assert acked == ["acked"]


async def test_acknowledgements_come_on_the_loops_own_thread(bench: Bench) -> None:
    """The dispatcher's books have no lock."""
    threads: list[threading.Thread] = []
    bench.producer.produce([a_record(bench)], lambda: threads.append(threading.current_thread()))
    assert await bench.producer.flush(timeout_s=ANSWER_S)
    assert threads == [threading.current_thread()]


async def test_acknowledgements_need_nobody_who_flushes(bench: Bench) -> None:
    """In the worker's life nothing flushes: the loop alone is enough."""
    acked = asyncio.Event()
    bench.producer.produce([a_record(bench)], acked.set)
    await asyncio.wait_for(acked.wait(), timeout=ANSWER_S)
    await asyncio.sleep(0)
    again = asyncio.Event()
    bench.producer.produce([a_record(bench)], again.set)
    await asyncio.wait_for(again.wait(), timeout=ANSWER_S)


async def test_many_groups_are_each_acknowledged_once(bench: Bench) -> None:
    """In whatever order Kafka answers: none is forgotten, none is told twice."""
    counts = [0] * 400

    def counted(number: int) -> Callable[[], None]:
        def acked() -> None:
            counts[number] += 1

        return acked

    for number in range(400):
        records = [a_record(bench, b"%d" % number, key=b"%d" % part) for part in range(1 + number % 3)]
        bench.producer.produce(records, counted(number))
    assert await bench.producer.flush(timeout_s=ANSWER_S)
    assert counts == [1] * 400
    assert bench.producer.outstanding == 0


async def test_a_callback_may_produce(bench: Bench) -> None:
    """What follows an acknowledgement may itself be a record."""
    done = asyncio.Event()
    bench.producer.produce(
        [a_record(bench, b"first")], lambda: bench.producer.produce([a_record(bench, b"second")], done.set)
    )
    await asyncio.wait_for(done.wait(), timeout=ANSWER_S)
    assert sorted(record.value or b"" for record in bench.stored()) == [b"first", b"second"]


async def test_a_callback_that_raises_stops_nobody_elses(bench: Bench) -> None:
    """A defect in one callback must not silence all acknowledgements of the worker."""
    told: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: told.append(context.get("exception")))

    def broken() -> None:
        raise RuntimeError("a defect")

    acked = asyncio.Event()
    bench.producer.produce([a_record(bench)], broken)
    bench.producer.produce([a_record(bench)], acked.set)
    await asyncio.wait_for(acked.wait(), timeout=ANSWER_S)
    assert [type(error) for error in told] == [RuntimeError]
    assert bench.producer.outstanding == 0


async def test_records_arrive_as_they_are(bench: Bench) -> None:
    """INV-5, CASES 11: key, value and headers byte for byte, nulls as nulls, in the partition that was asked for."""
    records = [
        a_record(bench, b"\x00\xff", partition=2, headers=[("b", b"\xc3\xa9"), ("a", b""), ("b", b"2")]),
        a_record(bench, None, key=None, partition=0),
        a_record(bench, b"", key=b"", partition=1),
    ]
    acked = asyncio.Event()
    bench.producer.produce(records, acked.set)
    await asyncio.wait_for(acked.wait(), timeout=ANSWER_S)
    assert sorted(bench.stored(), key=lambda record: record.partition or 0) == sorted(
        records, key=lambda record: record.partition or 0
    )


async def test_a_large_record_is_written(bench: Bench) -> None:
    """CASES 18: the largest payload there is, with everything that hops add, still fits."""
    record = a_record(
        bench, b"x" * 1_000_000, partition=0, headers=[(f"h{number}", b"y" * 1_024) for number in range(20)]
    )
    acked = asyncio.Event()
    bench.producer.produce([record], acked.set)
    await asyncio.wait_for(acked.wait(), timeout=ANSWER_S)
    assert bench.stored() == [record]


async def test_a_refused_record_is_produced_until_it_is_taken(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """INV-1, INV-2: a refusal settles nothing and loses nothing; the group waits until Kafka has all of it."""
    bench.refuse()
    acked: list[int] = []
    large, small = a_record(bench, b"x" * 5_000, partition=0), a_record(bench, b"small", partition=1)
    with caplog.at_level(logging.WARNING, logger="connectors.kafka.producer"):
        bench.producer.produce([large, small], lambda: acked.append(1))
        assert not await bench.producer.flush(timeout_s=1.0)
    assert acked == []
    assert bench.producer.outstanding >= 1
    assert "x" * 100 not in caplog.text
    bench.relent()
    assert await bench.producer.flush(timeout_s=ANSWER_S)
    assert acked == [1]
    assert sorted(record.value or b"" for record in bench.stored()) == [b"small", b"x" * 5_000]


async def test_what_is_outstanding_at_close_is_never_acknowledged(bench: Bench) -> None:
    """INV-2: a record that Kafka may not have settles nothing, not even at the very end."""
    producer = bench.unreachable()
    acked: list[int] = []
    producer.produce([a_record(bench)], lambda: acked.append(1))
    assert not await producer.flush(timeout_s=0.05)
    assert producer.outstanding == 1
    producer.close()
    assert not await producer.flush(timeout_s=0.05)
    assert acked == []


async def test_closing_with_nothing_outstanding_is_quiet(bench: Bench) -> None:
    """A stop after everything was acknowledged changes nothing."""
    acked: list[int] = []
    bench.producer.produce([a_record(bench)], lambda: acked.append(1))
    assert await bench.producer.flush(timeout_s=ANSWER_S)
    bench.producer.close()
    assert acked == [1]


async def test_a_record_for_a_partition_that_is_not_there_goes_where_its_key_belongs(
    kafka_bootstrap_servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CASES 26: a target topic with fewer partitions than the origin had holds up nothing, and loses nothing."""
    monkeypatch.setattr(producer_module, "_REPRODUCE_AFTER_S", 0.05)
    bench = KafkaBench(kafka_bootstrap_servers)
    by_key, lost = a_record(bench, b"by key"), a_record(bench, b"lost", partition=PARTITIONS + 4)
    acked: list[int] = []
    bench.producer.produce([by_key], lambda: acked.append(1))
    assert await bench.producer.flush(timeout_s=ANSWER_S)
    bench.producer.produce([lost], lambda: acked.append(2))
    assert await bench.producer.flush(timeout_s=ANSWER_S)
    bench.producer.close()
    first, second = bench.stored()
    assert (first.value, second.value, first.partition) == (b"by key", b"lost", second.partition)
    assert acked == [1, 2]
