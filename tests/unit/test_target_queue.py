"""The queue of one target: order per key, the concurrency limit, and who is parked when it is slow."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from streams.commit.ledger import PartitionLedger
from streams.dispatch.target_queue import TargetQueue
from streams.dispatch.turn import Flight, Turn
from tests.support.deliveries import a_delivery, an_event
from tests.support.scripted_target import ScriptedTarget

BOUND_S = 1.0


def a_queue(*, concurrency: int = 2) -> TargetQueue:
    return TargetQueue(ScriptedTarget("ep_1", concurrency=concurrency))


def a_turn(key: str) -> Turn:
    delivery = a_delivery(event=an_event(aggregate_id=key))
    return Turn(delivery, ScriptedTarget("ep_1"), Flight(PartitionLedger(), 0))


def filled(queue: TargetQueue, *keys: str, now_s: float = 0.0) -> list[Turn]:
    turns = [a_turn(key) for key in keys]
    for turn in turns:
        queue.admit(turn, now_s=now_s)
    return turns


def test_a_turn_runs_at_once_while_there_are_slots() -> None:
    """Many keys at once, up to the target's limit; the next one waits."""
    queue = a_queue(concurrency=2)
    assert [queue.admit(a_turn(key), now_s=0.0) for key in "abc"] == [True, True, False]
    assert queue.waiting == 1


def test_one_at_a_time_per_key() -> None:
    """A key's turns run one after the other, in order, also when slots are free."""
    queue = a_queue(concurrency=4)
    first, second, third = filled(queue, "a", "a", "a")
    assert queue.running_turns() == [first]
    assert queue.finished(first, now_s=1.0) == [second]
    assert queue.finished(second, now_s=2.0) == [third]
    assert queue.finished(third, now_s=3.0) == []
    assert queue.idle


def test_a_busy_key_holds_nobody_else() -> None:
    """INV-6: turns of other keys go past those that wait for their key."""
    queue = a_queue(concurrency=2)
    first, *_ = filled(queue, "a", "a", "a", "a")
    other = a_turn("b")
    assert queue.admit(other, now_s=0.0)
    assert queue.running_turns() == [first, other]


def test_a_fast_target_is_never_overloaded_however_long_its_queue() -> None:
    """INV-6: a healthy target under a backlog is not parked; there, back-pressure is right."""
    queue = a_queue(concurrency=2)
    turns = filled(queue, *map(str, range(10_000)))
    now_s = 0.0
    for turn in turns[:500]:
        now_s += 0.05
        queue.finished(turn, now_s=now_s)
        assert not queue.overloaded(now_s=now_s, bound_s=BOUND_S)


def test_one_hanging_attempt_does_not_make_a_fast_target_slow() -> None:
    """INV-6: the other slots serve the queue in no time, so nothing of it is parked on the one's account."""
    queue = a_queue(concurrency=16)
    hanging, *turns = filled(queue, *map(str, range(2_000)))
    now_s = 0.0
    for turn in turns[:1_900]:
        now_s += 0.02
        queue.finished(turn, now_s=now_s)
        assert not queue.overloaded(now_s=now_s, bound_s=BOUND_S)
    assert hanging in queue.running_turns()


def test_a_timeout_now_and_then_does_not_make_a_fast_target_slow() -> None:
    """INV-6: an attempt in a hundred that runs into its timeout says nothing of the other ninety-nine."""
    queue = a_queue(concurrency=16)
    filled(queue, *map(str, range(4_000)))
    now_s = 0.0
    slow_since: dict[Turn, float] = {}
    for number in range(3_500):
        now_s += 0.01
        timed_out = [turn for turn, since_s in slow_since.items() if now_s - since_s >= 2.0]
        turn = timed_out[0] if timed_out else next(t for t in queue.running_turns() if t not in slow_since)
        slow_since.pop(turn, None)
        (started,) = queue.finished(turn, now_s=now_s)
        if number % 100 == 0:
            slow_since[started] = now_s
        assert not queue.overloaded(now_s=now_s, bound_s=BOUND_S)


def test_a_target_whose_attempts_are_slow_is_overloaded_by_a_long_queue() -> None:
    """INV-6: when the last in line would wait beyond the bound, what can't be served in time goes, the latest first."""
    queue = a_queue(concurrency=2)
    turns = filled(queue, *map(str, range(20)))
    for number, turn in enumerate(turns[:4]):
        queue.finished(turn, now_s=4.0 * (1 + number // 2))
    assert queue.service_s(now_s=8.0) == 4.0
    assert not queue.overloaded(now_s=8.0, bound_s=28.0)
    assert queue.overloaded(now_s=8.0, bound_s=20.0)
    assert queue.withdraw_overload(now_s=8.0, bound_s=20.0) == turns[16:]
    assert not queue.overloaded(now_s=8.0, bound_s=20.0)


def test_a_target_that_hangs_is_overloaded_without_a_single_answer() -> None:
    """INV-6: no attempt needs to end for it to show; their age is the sign."""
    queue = a_queue(concurrency=2)
    turns = filled(queue, *map(str, range(6)))
    assert not queue.overloaded(now_s=0.9, bound_s=BOUND_S)
    assert queue.overloaded(now_s=5.0, bound_s=BOUND_S)
    assert queue.withdraw_overload(now_s=5.0, bound_s=BOUND_S) == turns[2:]
    assert queue.waiting == 0


def test_what_is_served_within_the_bound_stays() -> None:
    """Only the end of the queue is parked, and it is the turns that came last."""
    queue = a_queue(concurrency=2)
    turns = filled(queue, *map(str, range(10)))
    assert queue.withdraw_overload(now_s=2.0, bound_s=4.0) == turns[6:]
    assert queue.finished(turns[0], now_s=2.0) == [turns[2]]


@given(
    keys=st.lists(st.sampled_from("abcd"), max_size=30),
    concurrency=st.integers(1, 4),
    goes=st.integers(0, 2**30),
)
def test_withdrawal_keeps_the_order_of_the_rest(keys: list[str], concurrency: int, goes: int) -> None:
    """Whoever is taken out, the others of a key still run in the order they came."""
    queue = a_queue(concurrency=concurrency)
    turns = filled(queue, *keys)
    gone = queue.withdraw(lambda index, _turn: bool(goes >> index & 1))
    left = [turn for turn in turns if turn not in gone]
    served: list[Turn] = queue.running_turns()
    running = list(served)
    while running:
        started = queue.finished(running.pop(0), now_s=0.0)
        served += started
        running += started
    assert Counter(map(id, served)) == Counter(map(id, left))
    for key in set(keys):
        mine = [turn for turn in served if turn.key[1] == key]
        assert mine == [turn for turn in left if turn.key[1] == key]


class QueueMachine(RuleBasedStateMachine):
    """The queue against a naive one: a list that is searched from the start for the first turn that may run."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = a_queue(concurrency=3)
        self.waiting: list[Turn] = []
        self.running: list[Turn] = []
        self.now_s = 0.0

    def may_run(self, turn: Turn) -> bool:
        return len(self.running) < 3 and turn.key not in {other.key for other in self.running}

    @rule(key=st.sampled_from("abcde"))
    def admit(self, key: str) -> None:
        turn = a_turn(key)
        earlier = [other for other in self.waiting if other.key == turn.key]
        expected = self.may_run(turn) and not earlier
        assert self.queue.admit(turn, now_s=self.now_s) == expected
        (self.running if expected else self.waiting).append(turn)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), took_s=st.sampled_from([0.01, 0.5, 3.0]))
    def finish(self, data: st.DataObject, took_s: float) -> None:
        turn = data.draw(st.sampled_from(self.running))
        self.now_s += took_s
        self.running.remove(turn)
        for started in self.queue.finished(turn, now_s=self.now_s):
            earlier = self.waiting[: self.waiting.index(started)]
            assert all(other.key != started.key for other in earlier), "overtook its own key"
            assert self.may_run(started)
            self.waiting.remove(started)
            self.running.append(started)

    @rule(bound_s=st.sampled_from([0.1, 1.0, 5.0]))
    def park_overload(self, bound_s: float) -> None:
        if self.queue.overloaded(now_s=self.now_s, bound_s=bound_s):
            self.take_out(self.queue.withdraw_overload(now_s=self.now_s, bound_s=bound_s))

    @rule(goes=st.integers(0, 255))
    def withdraw(self, goes: int) -> None:
        self.take_out(self.queue.withdraw(lambda index, _turn: bool(goes >> index % 8 & 1)))

    def take_out(self, gone: list[Turn]) -> None:
        for turn in gone:
            self.waiting.remove(turn)

    @invariant()
    def nothing_is_lost_doubled_or_left_standing(self) -> None:
        assert self.queue.running_turns() == sorted(self.running, key=self.queue.running_turns().index)
        assert self.queue.waiting == len(self.waiting)
        assert self.queue.idle == (not self.running and not self.waiting)
        assert not any(self.may_run(turn) for turn in self.waiting), "a turn waits though it could run"


TestQueueMachine = QueueMachine.TestCase
