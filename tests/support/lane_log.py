"""Kafka as the scheduler sees it, in memory: delay topics, a consumer group, a producer's acknowledgements.

Each fake keeps to what the scheduler relies on in the real client: callbacks come from within `consume` and
`close`, a partition's pause survives a rebalance, an evicted member's commits are refused, acknowledgements
are served by `poll` and `flush`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from connectors.kafka.record import OutgoingRecord
from streams.commit.ledger import Commit
from streams.commit.ledgers import Partition
from streams.commit.metadata import decode

__all__ = ["FakeConsumer", "FakeMessage", "FakeProducer", "LaneLog", "Sent", "Source"]

#: A parked record's place: its partition and offset.
Source = tuple[Partition, int]

_SOURCE_HEADER = "x-source"


@dataclass(frozen=True)
class FakeMessage:
    """A record as the client hands it over."""

    source: Source
    sent_headers: tuple[tuple[str, bytes], ...]

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return self.source[0][0]

    def partition(self) -> int:
        return self.source[0][1]

    def offset(self) -> int:
        return self.source[1]

    def key(self) -> bytes:
        return b"key"

    def value(self) -> bytes:
        return b"value"

    def headers(self) -> list[tuple[str, bytes]]:
        topic, number = self.source[0]
        return [*self.sent_headers, (_SOURCE_HEADER, f"{topic} {number} {self.source[1]}".encode())]


@dataclass
class LaneLog:
    """The delay topics, what was moved out of them, and what their group committed."""

    partitions: list[Partition]
    lanes: dict[Partition, dict[int, FakeMessage]] = field(default_factory=dict)
    ends: dict[Partition, int] = field(default_factory=dict)
    moved: list[tuple[Source, OutgoingRecord]] = field(default_factory=list)
    committed: dict[Partition, Commit] = field(default_factory=dict)
    assigned: "dict[FakeConsumer, list[Partition]]" = field(default_factory=dict)
    members: "list[FakeConsumer]" = field(default_factory=list)

    def park(self, partition: Partition, headers: Iterable[tuple[str, bytes]], *, hole: int = 0) -> None:
        offset = self.ends.get(partition, 0) + hole
        lane = self.lanes.setdefault(partition, {})
        lane[offset] = FakeMessage((partition, offset), tuple(headers))
        self.ends[partition] = offset + 1

    def sources(self) -> set[Source]:
        return {message.source for lane in self.lanes.values() for message in lane.values()}

    def moved_sources(self) -> set[Source]:
        return {source for source, _ in self.moved}

    def header(self, source: Source, name: str) -> bytes | None:
        return dict(self.lanes[source[0]][source[1]].sent_headers).get(name)

    def store(self, record: OutgoingRecord) -> None:
        """Kafka has it: a move, and, on a lap, a parked record again."""
        self.moved.append((source_of(record), record))
        if record.topic.startswith("outbox.retry-") and record.partition is not None:
            headers = [(name, raw) for name, raw in record.headers if name != _SOURCE_HEADER]
            self.park((record.topic, record.partition), headers)

    def skipped(self) -> set[Source]:
        """What the next owner of each lane would not read."""
        found = set()
        for partition, commit in self.committed.items():
            runs = [(0, commit.offset), *decode(commit.offset, commit.metadata)]
            found |= {
                (partition, offset)
                for offset in self.lanes.get(partition, {})
                if any(first <= offset < end for first, end in runs)
            }
        return found

    def share_out(self, joined: "list[FakeConsumer]", plan: list[int]) -> None:
        """A rebalance ends: those who joined share the lanes as planned; whoever did not is no member any more."""
        self.members = list(joined)
        self.assigned = {member: [] for member in joined}
        for partition, owner in zip(self.partitions, plan, strict=True):
            if joined:
                self.assigned[joined[owner % len(joined)]].append(partition)
        for member in joined:
            member.to_assign = [TopicPartition(*partition) for partition in self.assigned[member]]

    def shared_out_among(self, consumers: "list[FakeConsumer]") -> bool:
        """Is every lane with one of these, who knows of it or will in the next `consume`?"""
        held = {
            partition
            for consumer in consumers
            if consumer in self.members and not consumer.to_revoke
            for partition in self.assigned[consumer]
            if consumer.to_assign is not None or partition in consumer.owned
        }
        return held == set(self.partitions)


def source_of(record: OutgoingRecord) -> Source:
    topic, number, offset = dict(record.headers)[_SOURCE_HEADER].decode().split()
    return (topic, int(number)), int(offset)


def _answer(partition: Partition, commit: Commit, error: KafkaError | None) -> Any:
    """What the client says of one partition of a commit."""
    return SimpleNamespace(topic=partition[0], partition=partition[1], offset=commit.offset, error=error)


class FakeConsumer:
    """A member of the group. The test says what its next `consume` brings, and what becomes of its commits."""

    def __init__(self, log: LaneLog) -> None:
        self.log = log
        #: How many messages the next `consume` may bring, and which of the lanes comes first.
        self.takes = 0
        self.first_lane = 0
        #: Does an evicted member hear of it in its next `consume`?
        self.hears = True
        #: What becomes of a commit: "arrives", "late", "lost", "unanswered", "in part".
        self.fate = "arrives"
        self.wants_in = False
        self.to_revoke = False
        self.to_assign: list[TopicPartition] | None = None
        self.owned: list[Partition] = []
        self.positions: dict[Partition, int] = {}
        #: What the group knew as moved when the lanes were assigned.
        self.skips: set[Source] = set()
        self.paused: set[Partition] = set()
        self.late: list[dict[Partition, Commit]] = []
        self.answers: list[tuple[KafkaError | None, list[Any]]] = []
        self.on_commit: Callable[[KafkaError | None, list[TopicPartition]], None] = lambda _, __: None
        self.on_assign: Callable[..., None] = lambda *_: None
        self.on_revoke: Callable[..., None] = lambda *_: None
        self.on_lost: Callable[..., None] = lambda *_: None

    @property
    def evicted(self) -> bool:
        return bool(self.owned) and self not in self.log.members

    def subscribe(self, _topics: list[str], **callbacks: Callable[..., None]) -> None:
        self.on_assign, self.on_revoke = callbacks["on_assign"], callbacks["on_revoke"]
        self.on_lost = callbacks["on_lost"]
        self.wants_in = True

    def consume(self, most: int, _timeout_s: float) -> list[FakeMessage]:
        self._late_commits_arrive()
        if self.evicted and self.hears:
            self._let_go(self.on_lost)
        if self.to_revoke:
            self._let_go(self.on_lost if self.evicted else self.on_revoke)
        if self.to_assign is not None:
            given, self.to_assign = self.to_assign, None
            self.on_assign(self, given)
        # Answers to commits may come that late: after a rebalance that has begun since.
        answers, self.answers = self.answers, []
        for answer in answers:
            self.on_commit(*answer)
        return self._fetched(min(most, self.takes))

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.owned = [(tp.topic, tp.partition) for tp in partitions]
        self.skips = self.log.skipped()
        self.positions = {
            partition: self.log.committed[partition].offset if partition in self.log.committed else 0
            for partition in self.owned
        }

    def pause(self, partitions: list[TopicPartition]) -> None:
        self.paused |= {(tp.topic, tp.partition) for tp in partitions}

    def resume(self, partitions: list[TopicPartition]) -> None:
        self.paused -= {(tp.topic, tp.partition) for tp in partitions}

    def committed(self, partitions: list[TopicPartition], timeout: float) -> list[TopicPartition]:  # noqa: ARG002 - the client's
        found = []
        for tp in partitions:
            commit = self.log.committed.get((tp.topic, tp.partition), Commit(-1001, ""))
            found.append(TopicPartition(tp.topic, tp.partition, commit.offset, metadata=commit.metadata))
        return found

    def get_watermark_offsets(self, tp: TopicPartition, timeout: float) -> tuple[int, int]:  # noqa: ARG002 - the client's
        return 0, self.log.ends.get((tp.topic, tp.partition), 0)

    def commit(self, *, offsets: list[TopicPartition], asynchronous: bool) -> list[Any] | None:
        """What it returns, and what `on_commit` gets, says of each partition whether it was refused."""
        commits = {(tp.topic, tp.partition): Commit(tp.offset, tp.metadata or "") for tp in offsets}
        if self.log.assigned.get(self, []) != self.owned or self not in self.log.members:
            self._refuse(commits, KafkaError(KafkaError.ILLEGAL_GENERATION), asynchronous=asynchronous)
            return None
        if self.fate == "late" and asynchronous:
            self.late.append(commits)
            return None
        self._late_commits_arrive()
        if self.fate in {"lost", "unanswered"}:
            self.log.committed |= commits if self.fate == "unanswered" else {}
            self._refuse(commits, KafkaError(KafkaError.REQUEST_TIMED_OUT), asynchronous=asynchronous)
            return None
        refused = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART) if self.fate == "in part" else None
        answer: list[Any] = []
        for number, (partition, commit) in enumerate(commits.items()):
            answer.append(_answer(partition, commit, None if number % 2 else refused))
            if answer[-1].error is None:
                self.log.committed[partition] = commit
        if asynchronous:
            self.answers.append((None, answer))
            return None
        return answer

    def close(self) -> None:
        self._late_commits_arrive()
        if self.owned:
            self._let_go(self.on_lost if self.evicted else self.on_revoke)
        self.wants_in = False
        if self in self.log.members:
            self.log.members.remove(self)

    def _let_go(self, callback: Callable[..., None]) -> None:
        callback(self, [TopicPartition(*partition) for partition in self.owned])
        self.owned, self.to_revoke = [], False

    def _refuse(self, commits: dict[Partition, Commit], error: KafkaError, *, asynchronous: bool) -> None:
        if not asynchronous:
            raise KafkaException(error)
        self.answers.append((error, [_answer(*asked, error) for asked in commits.items()]))

    def _late_commits_arrive(self) -> None:
        late, self.late = self.late, []
        for commits in late:
            if self in self.log.members:
                self.log.committed |= commits
                self.answers.append((None, [_answer(*asked, None) for asked in commits.items()]))
            else:
                error = KafkaError(KafkaError.ILLEGAL_GENERATION)
                self.answers.append((error, [_answer(*asked, error) for asked in commits.items()]))

    def _fetched(self, most: int) -> list[FakeMessage]:
        found: list[FakeMessage] = []
        start = self.first_lane % (len(self.owned) or 1)
        for partition in [*self.owned[start:], *self.owned[:start]]:
            if partition in self.paused:
                continue
            lane = self.log.lanes.get(partition, {})
            ahead = [lane[offset] for offset in lane if offset >= self.positions[partition]]
            taken = ahead[: most - len(found)]
            if taken:
                self.positions[partition] = taken[-1].offset() + 1
            found += taken
        return found


@dataclass(eq=False)
class Sent:
    """A record on its way to Kafka."""

    record: OutgoingRecord
    on_acked: Callable[[], None]
    stored: bool = False
    reported: bool = False


class FakeProducer:
    """Acknowledges what the test says; told of each record by `on_send`."""

    def __init__(self, log: LaneLog, *, on_send: Callable[[OutgoingRecord], None]) -> None:
        self.log = log
        self.on_send = on_send
        self.reachable = True
        self.sent: list[Sent] = []

    @property
    def outstanding(self) -> int:
        return len(self.sent)

    @property
    def outstanding_bytes(self) -> int:
        return sum(sent.record.size_bytes for sent in self.sent)

    def send(self, record: OutgoingRecord, on_acked: Callable[[], None]) -> None:
        self.on_send(record)
        self.sent.append(Sent(record, on_acked))

    def store(self, chosen: Iterable[Sent]) -> None:
        for sent in chosen:
            if not sent.stored:
                sent.stored = True
                self.log.store(sent.record)

    def report(self, chosen: Iterable[Sent]) -> None:
        """What of these is stored will be acknowledged by the next `poll`."""
        for sent in chosen:
            sent.reported = sent.stored

    def poll(self, timeout_s: float = 0.0) -> None:  # noqa: ARG002 - the producer's
        reported = [sent for sent in self.sent if sent.reported]
        self.sent = [sent for sent in self.sent if not sent.reported]
        for sent in reported:
            sent.on_acked()

    def flush(self, timeout_s: float) -> bool:
        if self.reachable:
            self.store(self.sent)
            self.report(self.sent)
        self.poll(timeout_s)
        return not self.sent

    def close(self) -> None:
        self.sent = []

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the scheduler uses {name} of its producer, which this fake doesn't have")
