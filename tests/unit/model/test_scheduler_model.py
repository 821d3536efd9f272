"""The scheduler against a log and a group in memory: whatever happens, nothing is early, lost or committed unmoved.

Real scheduler, lanes, ledgers and moves; Kafka is `tests.support.lane_log`. Up to three schedulers share four lanes:
they read, move, commit, stop, crash, freeze for longer than a session, and get the lanes in any shares.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from unittest import mock

import structlog
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from connectors.kafka.record import OutgoingRecord
from streams.commit.ledgers import Partition
from streams.delay import lane as lane_module
from streams.delay import lanes as lanes_module
from streams.delay import scheduler as scheduler_module
from streams.delay.scheduler import Scheduler
from streams.retry.tiers import RetryTiers
from tests.support.lane_log import FakeConsumer, FakeProducer, LaneLog, Source, source_of
from tests.support.manual_surroundings import ManualSurroundings

__all__ = ["SchedulerMachine"]

TIERS = RetryTiers([timedelta(seconds=1), timedelta(seconds=2)], lanes=2)
PARTITIONS: list[Partition] = [(lane.topic, lane.partition) for lane in TIERS.lanes]
SESSION_S = 6.0
BUFFER, BATCH, OUTSTANDING = 3, 4, 5
#: What may become of a commit.
_FATES = st.sampled_from(["arrives", "arrives", "late", "lost", "unanswered", "in part"])
_LAST_FATES = st.sampled_from(["arrives", "arrives", "arrives", "lost", "unanswered", "in part"])
#: So many rounds without progress are a standstill.
PATIENCE = 5
CUT_OFF_ROUNDS = 12


class Member:
    """One scheduler, its client's two halves, and what it has sent since it was assigned its lanes."""

    def __init__(self, log: LaneLog, clock: ManualSurroundings) -> None:
        self.log, self.clock = log, clock
        self.consumer = FakeConsumer(log)
        self.producer = FakeProducer(log, on_send=self.check)
        with (
            mock.patch.object(scheduler_module, "Consumer", return_value=self.consumer),
            mock.patch.object(scheduler_module, "RecordProducer", return_value=self.producer),
        ):
            self.scheduler = Scheduler(
                "nowhere", tiers=TIERS, session_timeout_s=SESSION_S, commit_interval_s=0.25, clock=clock
            )
        self.consumer.on_commit = self.scheduler._on_commit
        self.sent: set[Source] = set()
        #: Sources that were handed over gracefully: nobody may move them again.
        self.forbidden: set[Source] = set()
        self.scheduler._begin()

    def check(self, record: OutgoingRecord) -> None:
        source, now_ms = source_of(record), self.clock.clock_ms()
        due_at, not_before = (
            self.log.header(source, name) for name in ("outbox-due-at", "outbox-not-before")
        )
        assert int(due_at or 0) <= now_ms, "moved before it is due (INV-3)"
        if record.topic == "outbox.redelivery":
            assert int(not_before or 0) <= now_ms, "moved before it is due (INV-3)"
        assert not self.consumer.evicted, "a scheduler that lost its lanes moved a record of them"
        assert source not in self.sent, "moved twice in one assignment"
        assert source not in self.consumer.skips, "moved again although it was committed as moved (INV-8)"
        assert source not in self.forbidden, "moved again after a graceful hand-over (INV-8)"
        self.sent.add(source)

    def round(
        self, *, takes: int, first_lane: int = 0, fate: str = "arrives", hears: bool = True
    ) -> set[Source]:
        """One round. Returns what was handed over gracefully in it."""
        consumer = self.consumer
        consumer.takes, consumer.first_lane, consumer.fate, consumer.hears = takes, first_lane, fate, hears
        handed_over = set(self.sent) if consumer.to_revoke and self.will_be_graceful() else set()
        if consumer.to_assign is not None:
            self.sent = set()
        self.scheduler._round()
        return handed_over

    def stop(self, *, fate: str) -> set[Source]:
        """Returns what was handed over gracefully."""
        self.consumer.fate = fate
        handed_over = set(self.sent) if self.will_be_graceful() else set()
        self.scheduler._end()
        return handed_over

    def will_be_graceful(self) -> bool:
        """With lanes to give away, and Kafka there to acknowledge and to commit."""
        has_lanes = any(True for _ in self.scheduler._lanes) and not self.consumer.evicted
        return has_lanes and self.producer.reachable and self.consumer.fate in {"arrives", "late"}


class SchedulerMachine(RuleBasedStateMachine):
    """What Kafka, time and an orchestrator may do to schedulers."""

    def __init__(self) -> None:
        super().__init__()
        self.log = LaneLog(PARTITIONS)
        self.clock = ManualSurroundings()
        self.members: list[Member] = []
        self.frozen: list[Member] = []
        self.seen_through: set[Source] = set()
        self.around = ExitStack()

    @initialize()
    def begin(self) -> None:
        self.around.enter_context(small_bounds())
        self.around.enter_context(structlog.testing.capture_logs())
        self.start()
        self.rebalance(plan=[0] * len(PARTITIONS), order=0, fate="arrives")

    def teardown(self) -> None:
        self.around.close()

    # What the world does.

    @rule(
        partition=st.sampled_from(PARTITIONS),
        count=st.integers(1, 8),
        wait_ms=st.sampled_from([0, 0, 1_000]),
        laps_ms=st.sampled_from([0, 0, 0, 4_000]),
        hole=st.sampled_from([0, 0, 1]),
        garbled=st.sampled_from([None, None, None, "outbox-due-at", "outbox-origin"]),
    )
    def park(
        self, partition: Partition, count: int, wait_ms: int, laps_ms: int, hole: int, garbled: str | None
    ) -> None:
        headers = [
            ("outbox-due-at", b"%d" % (self.clock.clock_ms() + wait_ms)),
            ("outbox-origin", b"outbox.events/3/7"),
        ]
        if laps_ms:
            headers.append(("outbox-not-before", b"%d" % (self.clock.clock_ms() + wait_ms + laps_ms)))
        for _ in range(count):
            self.log.park(partition, [(name, raw) for name, raw in headers if name != garbled], hole=hole)

    @rule(passed_s=st.sampled_from([0.1, 0.3, 1.0, 2.5]))
    def time_passes(self, passed_s: float) -> None:
        self.clock.pass_s(passed_s)

    @rule(which=st.integers(0, 2), chosen=st.sets(st.integers(0, OUTSTANDING - 1)), reports=st.booleans())
    def kafka_stores(self, which: int, chosen: set[int], *, reports: bool) -> None:
        """In any order; the report may come later, or never."""
        for member in self.pick([*self.members, *self.frozen], which):
            sent = [sent for index, sent in enumerate(member.producer.sent) if index in chosen]
            member.producer.store(sent)
            if reports:
                member.producer.report(sent)

    @rule(which=st.integers(0, 2), reachable=st.booleans())
    def kafka_goes_and_comes(self, which: int, *, reachable: bool) -> None:
        for member in self.pick(self.members, which):
            member.producer.reachable = reachable

    # What schedulers do.

    @rule(
        which=st.integers(0, 2),
        takes=st.integers(0, BATCH),
        first_lane=st.integers(0, 3),
        fate=_FATES,
    )
    def round(self, which: int, takes: int, first_lane: int, fate: str) -> None:
        for member in self.pick(self.members, which):
            self.hand_over(member.round(takes=takes, first_lane=first_lane, fate=fate))

    @rule(
        partition=st.sampled_from(PARTITIONS),
        count=st.integers(0, 4),
        wait_ms=st.sampled_from([0, 0, 700]),
        first=st.integers(0, OUTSTANDING - 1),
        acknowledged=st.integers(0, OUTSTANDING),
        fate=_FATES,
    )
    def go_on(
        self, partition: Partition, count: int, wait_ms: int, first: int, acknowledged: int, fate: str
    ) -> None:
        """Some of everything, so that there is much to lose: a group at work, its lanes with somebody."""
        self.share_out_what_is_free()
        self.park(partition, count, wait_ms=wait_ms, laps_ms=0, hole=0, garbled=None)
        self.everybody_works(0.3, BATCH, first, acknowledged, fate)

    @rule(
        passed_s=st.sampled_from([0.0, 0.3, 1.0, SESSION_S / 2]),
        takes=st.integers(1, BATCH),
        first=st.integers(0, OUTSTANDING - 1),
        acknowledged=st.integers(0, OUTSTANDING),
        fate=_FATES,
    )
    def everybody_works(self, passed_s: float, takes: int, first: int, acknowledged: int, fate: str) -> None:
        """A round of each; Kafka has acknowledged so many moves by the next one, beginning with that one."""
        self.clock.pass_s(passed_s)
        for member in self.members:
            self.hand_over(member.round(takes=takes, first_lane=first, fate=fate))
            sent = member.producer.sent
            some = [*sent[first:], *sent[:first]][:acknowledged]
            member.producer.store(some)
            member.producer.report(some)

    @precondition(lambda self: len(self.members) + len(self.frozen) < 3)
    @rule()
    def start(self) -> None:
        member = Member(self.log, self.clock)
        member.forbidden = self.seen_through
        self.members.append(member)

    @rule(
        plan=st.lists(st.integers(0, 2), min_size=len(PARTITIONS), max_size=len(PARTITIONS)),
        order=st.integers(0, 2),
        fate=_LAST_FATES,
    )
    def rebalance(self, plan: list[int], order: int, fate: str) -> None:
        """All who are awake give their lanes back, commit, and get new shares; in their next round they hear which."""
        awake = [*self.members[order:], *self.members[:order]]
        for member in awake:
            member.consumer.to_revoke = bool(member.consumer.owned)
            self.hand_over(member.round(takes=0, fate=fate))
        joined = [member.consumer for member in self.members if member.consumer.wants_in]
        self.log.share_out(joined, plan)

    @rule(
        which=st.integers(0, 2),
        how=st.sampled_from(["stop", "crash", "freeze"]),
        fate=_LAST_FATES,
        arrived=st.sets(st.integers(0, OUTSTANDING - 1)),
    )
    def leave(self, which: int, how: str, fate: str, arrived: set[int]) -> None:
        """One leaves; if it was the last, another is started in its place."""
        [member] = self.pick(self.members, which)
        self.members.remove(member)
        if how == "stop":
            self.hand_over(member.stop(fate=fate))
        elif how == "crash":
            # What was on its way may have arrived; nobody hears of it.
            member.producer.store(sent for index, sent in enumerate(member.producer.sent) if index in arrived)
        else:
            # Longer than a session: the group goes on without it.
            self.frozen.append(member)
            self.clock.pass_s(SESSION_S)
        if member.consumer in self.log.members:
            self.log.members.remove(member.consumer)
        if not self.members:
            self.start()

    @rule(which=st.integers(0, 2), takes=st.integers(0, BATCH), fate=st.sampled_from(["lost", "late"]))
    def cut_off(self, which: int, takes: int, fate: str) -> None:
        """For a session the group hears nothing of one that is at work; then it is a member no more, and can't know."""
        [member] = self.pick(self.members, which)
        for _ in range(CUT_OFF_ROUNDS):
            self.clock.pass_s(SESSION_S / CUT_OFF_ROUNDS)
            member.round(takes=takes, fate="lost", hears=False)
        if member.consumer in self.log.members:
            self.log.members.remove(member.consumer)
        for _ in range(3):
            member.round(takes=takes, fate=fate, hears=False)
            self.clock.pass_s(0.3)

    @precondition(lambda self: self.frozen)
    @rule(takes=st.integers(0, BATCH), hears=st.booleans())
    def thaw(self, takes: int, *, hears: bool) -> None:
        """It wakes up with the lanes that it had, and perhaps reads on in them before it hears that they are gone."""
        member = self.frozen.pop()
        self.members.append(member)
        member.round(takes=takes, hears=hears)
        if not hears:
            member.round(takes=takes, hears=False)

    # What always holds.

    @invariant()
    def nothing_is_committed_that_was_not_moved(self) -> None:
        """INV-1, INV-2: what the next owner would not read is in Kafka, in another place."""
        assert self.log.skipped() <= self.log.moved_sources()

    @invariant()
    def a_lane_never_holds_more_than_its_buffer_and_a_poll(self) -> None:
        """CASES 42."""
        for member in self.members:
            assert all(len(lane) < BUFFER + BATCH for lane in member.scheduler._lanes)
            assert member.producer.outstanding <= OUTSTANDING

    @rule()
    def everything_is_moved_in_the_end(self) -> None:
        """INV-1: schedulers that are left alone move all there is, whatever was paused before, and commit it."""
        while self.frozen:
            self.thaw(takes=1, hears=True)
        for member in self.members:
            member.producer.reachable = True
        self.share_out_what_is_free()
        left, patience = self.state(), PATIENCE
        while patience:
            self.everybody_works(2.5, BATCH, 0, OUTSTANDING, "arrives")
            patience = PATIENCE if self.state() != left else patience - 1
            left = self.state()
        assert self.log.sources() <= self.log.moved_sources()
        for partition in self.log.lanes:
            assert self.log.committed[partition].offset >= self.log.ends[partition]

    def state(self) -> tuple[int, int]:
        return len(self.log.sources() - self.log.moved_sources()), len(self.log.sources())

    # Hands.

    def share_out_what_is_free(self) -> None:
        if not self.log.shared_out_among([member.consumer for member in self.members]):
            self.rebalance(plan=[0, 1, 2, 0], order=0, fate="arrives")

    def pick(self, members: list[Member], which: int) -> list[Member]:
        return [members[which % len(members)]]

    def hand_over(self, sources: set[Source]) -> None:
        self.seen_through |= sources


@contextmanager
def small_bounds() -> Iterator[None]:
    """Bounds so small that a few records reach them."""
    with (
        mock.patch.object(lane_module, "BUFFER_RECORDS", BUFFER),
        mock.patch.object(lanes_module, "MAX_OUTSTANDING", OUTSTANDING),
        mock.patch.object(scheduler_module, "_BATCH", BATCH),
    ):
        yield


TestSchedulerMachine = SchedulerMachine.TestCase
TestSchedulerMachine.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
