"""The connector watch: it restarts what failed, patiently, and nothing else."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.kafka_connect.errors import ConnectUnreachable
from connectors.kafka_connect.status import ConnectorStatus, State, TaskStatus
from connectors.kafka_connect.watch import ConnectorWatch, RestartPolicy, WatchState, decide

POLICY = RestartPolicy()


def status(task: State, connector: State = State.RUNNING) -> ConnectorStatus:
    return ConnectorStatus(
        name="outbox", state=connector, tasks=(TaskStatus(number=0, state=task, worker="w", reason="why"),)
    )


WELL, FAILED = status(State.RUNNING), status(State.FAILED)


def restarts_at(looks: Sequence[tuple[float, ConnectorStatus | None]]) -> list[float]:
    """At which of the looks (time, what is seen) something is restarted."""
    state, times = WatchState(), []
    for now_s, seen in looks:
        state, restart = decide(state, seen, now_s=now_s, policy=POLICY)
        times += [now_s] if restart else []
    return times


def test_the_first_failure_is_put_right_at_once() -> None:
    assert restarts_at([(100.0, FAILED)]) == [100.0]


def test_pauses_double_up_to_a_bound() -> None:
    """A cause that stays is not hammered: 2 s, 4 s, … and then a minute between restarts."""
    times = restarts_at([(n * 0.5, FAILED) for n in range(1_000)])
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses[:6] == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0]
    assert set(pauses[6:]) == {60.0}


def test_a_short_recovery_doesn_t_reset_the_pause() -> None:
    """A task that runs for a moment after each restart is still failing."""
    looks = [(0.0, FAILED), (1.0, WELL), (2.0, FAILED), (3.0, WELL), (3.5, FAILED), (6.0, FAILED)]
    assert restarts_at(looks) == [0.0, 2.0, 6.0]


def test_a_long_recovery_resets_the_pause() -> None:
    """After two minutes of health the next failure is put right at once, with the least pause behind it."""
    bad = [(n * 1.0, FAILED) for n in range(40)]
    well = [(40.0 + n, WELL) for n in range(130)]
    assert restarts_at([*bad, *well, (170.0, FAILED), (172.0, FAILED)])[-2:] == [170.0, 172.0]


@pytest.mark.parametrize(
    "seen",
    [
        None,
        WELL,
        status(State.PAUSED, State.PAUSED),
        status(State.RESTARTING),
        status(State.UNASSIGNED),
        ConnectorStatus(name="outbox", state=State.STOPPED, tasks=()),
    ],
)
def test_only_what_failed_is_restarted(seen: ConnectorStatus | None) -> None:
    """What somebody paused or stopped, and what is about to start, is left alone."""
    assert restarts_at([(0.0, seen), (100.0, seen)]) == []


@given(st.lists(st.sampled_from([WELL, FAILED, None]), max_size=200))
def test_restarts_are_never_closer_than_the_least_pause(seen: list[ConnectorStatus | None]) -> None:
    times = restarts_at(list(enumerate(seen)))
    assert all(later - earlier >= 2.0 for earlier, later in pairwise(times))


@dataclass
class ScriptedConnect:
    """A Kafka Connect that answers as told; an exception in the script is raised."""

    script: list[ConnectorStatus | Exception | None]
    restarted: int = 0
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def status(self, name: str) -> ConnectorStatus | None:
        assert name == "outbox"
        answer = self.script.pop(0)
        if not self.script:
            self.stop.set()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def restart_failed(self, name: str) -> None:
        assert name == "outbox"
        self.restarted += 1


async def test_the_watch_goes_on_whatever_it_sees() -> None:
    """Connect away, connector missing, then failed: the loop survives, restarts, counts, and ends when told."""
    connect = ScriptedConnect([WELL, ConnectUnreachable("http://c", "refused"), None, FAILED, WELL])
    looks: list[bool] = []
    counted: list[None] = []
    watch = ConnectorWatch(
        connect=connect,
        policy=RestartPolicy(look_every=timedelta(milliseconds=1)),
        on_restart=lambda: counted.append(None),
        on_look=looks.append,
    )
    async with asyncio.timeout(5):
        await watch.run(connect.stop)
    assert looks == [True, False, False, False, True]
    assert connect.restarted == len(counted) == 1
