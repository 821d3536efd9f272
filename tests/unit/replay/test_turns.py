"""Replays that can't get on leave the others their turn."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from connectors.postgres.stored_replay import ReplayKind
from streams.replay.process import SHORT, ReplayThreads
from streams.settings import Settings


class Waiting:
    """What is claimed of these replays, as Postgres does it, and executed: the first never gets on."""

    def __init__(self, *ids: str) -> None:
        self.left = list(ids)
        self.tried: list[str] = []
        self.replay_id = ""

    def claim(
        self, _kinds: Collection[ReplayKind], *, put_off: Sequence[str] = (), came_back: Sequence[str] = ()
    ) -> Waiting | None:
        found = [one for one in (*self.left, *came_back) if one in self.left and one not in put_off]
        found.sort(key=lambda one: one in came_back)
        if not found:
            return None
        self.replay_id = found[0]
        return self

    def execute(self, claim: Waiting) -> str:
        self.tried.append(claim.replay_id)
        if claim.replay_id == "a":
            return "again"
        self.left.remove(claim.replay_id)
        return "ended"


def test_one_that_never_gets_on_starves_nobody() -> None:
    """The others come after its first attempt, and it is not tried again at once."""
    world = Waiting("a", "b", "c")
    threads = ReplayThreads(Settings())
    came = [threads._next(world, SHORT, world) for _ in range(4)]  # type: ignore[arg-type]
    assert came == ["again", "ended", "ended", None]
    assert world.tried == ["a", "b", "c"]
