"""Letters of a redrive that ended early: opened again only when its executor can't be sending them any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from connectors.postgres.redrives import GivenLetter
from connectors.postgres.stored_replay import Replay
from streams.records.target import parse_target
from streams.replay.letters_source import LettersSource
from streams.replay.outlet import SentKey
from streams.replay.release import release_letters
from streams.replay.source import Start
from tests.unit.replay.replayed import a_replay

TARGET = "endpoint:ep_1"
LETTERS = [
    GivenLetter(id=UUID(int=10 + n), partition=0, offset=n, event_id=UUID(int=n + 1), target=TARGET)
    for n in range(3)
]


class World:
    """A stopped redrive of three letters, whose executor lost its session and sends the first within a second."""

    def __init__(self, *, began: bool = True) -> None:
        self.replay: Replay = replace(
            a_replay(Start(begins={0: 0}, ends={0: 3}, to_read=3)),
            kind="redrive",
            status="stopped",
            sent_offsets={0: 0} if began else None,
        )
        self.seconds = 0.0
        self.stopping = False
        self.reopened: list[UUID] = []
        self.is_released = False

    def release(self) -> bool:
        return release_letters(
            self,  # type: ignore[arg-type]
            lambda _replay, _claim: LettersSource("r", store=self, reader=self),  # type: ignore[arg-type]
            lambda: self,  # type: ignore[arg-type, return-value]
            self.pause,
        )

    def pause(self, seconds: float) -> bool:
        self.seconds += seconds
        return not self.stopping

    def claim_unreleased(self) -> Claim:
        return Claim(self)

    def sent_since(self, _replay_id: str, _since: Mapping[int, int]) -> frozenset[SentKey]:
        return frozenset([(UUID(int=1), parse_target(TARGET))] if self.seconds > 1.0 else [])

    def ranges(self, _replay_id: str) -> Mapping[int, tuple[int, int, int]]:
        return {0: (0, 3, 3)}

    def given(self, _replay_id: str, *, least: int, **_where: Any) -> Sequence[GivenLetter]:
        return LETTERS[least:]

    def reopen(self, _replay_id: str, letters: Sequence[UUID]) -> None:
        self.reopened += letters

    def close(self) -> None:
        """Nothing."""


class Claim:
    def __init__(self, world: World) -> None:
        self._world = world

    def replay(self) -> Replay:
        return self._world.replay

    def advance(self, **_progress: Any) -> None:
        self._world.is_released = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing."""


def test_who_lost_its_session_alone_has_time_to_find_out() -> None:
    """What it sends in the second until then is found, and not opened for another redrive to send again."""
    world = World()
    assert world.release()
    assert world.reopened == [letter.id for letter in LETTERS[1:]]
    assert world.is_released


def test_one_that_never_began_needs_no_wait() -> None:
    """Nobody can have sent any of it."""
    world = World(began=False)
    assert world.release()
    assert world.seconds == 0
    assert world.reopened == [letter.id for letter in LETTERS]


def test_a_process_that_stops_meanwhile_opens_nothing() -> None:
    """It has not waited, so it can't know; another does it."""
    world = World()
    world.stopping = True
    assert not world.release()
    assert not world.reopened
    assert not world.is_released
