"""A target whose attempts do as the test says, each at the test's own moment."""

import asyncio
from collections.abc import Sequence

from outbox.event import Event
from streams.dispatch.directory import Directory
from streams.dispatch.share import Share
from streams.dispatch.target import Gate, OpenGate, Target
from streams.records.delivery import Delivery
from streams.records.outcome import Outcome, Succeeded
from streams.records.target import TEST_EVENT_TYPE, TargetName
from streams.retry.policy import RetryPolicy
from tests.support.deliveries import HANDLER_POLICY

__all__ = ["ScriptedDirectory", "ScriptedTarget"]


class ScriptedTarget:
    """Answers with `outcome` at once, or, while `holding`, each attempt when it is answered by hand.

    An exception for an outcome is raised. `begun` lists every attempt's delivery, in order; `running` those that are
    under way; `clashes` the keys that had two attempts at once, and must be empty.
    """

    def __init__(
        self,
        name: str,
        *,
        concurrency: int = 4,
        limited: bool = False,
        policy: RetryPolicy = HANDLER_POLICY,
        outcome: Outcome | BaseException | None = None,
        gate: Gate | None = None,
    ) -> None:
        self.name = TargetName("endpoint", name)
        self.concurrency = concurrency
        self.limited = limited
        self.policy = policy
        self.gate = gate or OpenGate()
        self.outcome: Outcome | BaseException = outcome or Succeeded()
        self.holding = False
        self.begun: list[Delivery] = []
        self.running: dict[asyncio.Future[None], Delivery] = {}
        self.clashes: list[tuple[str, str]] = []

    async def attempt(self, delivery: Delivery) -> Outcome:
        self.begun.append(delivery)
        answered = asyncio.get_running_loop().create_future()
        self.running[answered] = delivery
        keys = [(held.event.aggregate_type, held.event.aggregate_id) for held in self.running.values()]
        self.clashes += [key for key in keys if keys.count(key) > 1]
        try:
            if self.holding:
                await answered
        finally:
            del self.running[answered]
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome

    def answer(self, count: int = 1) -> None:
        """Let the longest running attempts end."""
        for answered in list(self.running)[:count]:
            if not answered.done():
                answered.set_result(None)


class ScriptedDirectory(Directory):
    """Every event goes to all of these targets."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self.targets = list(targets)

    def for_test(self, endpoint_id: str) -> tuple[Target, ...]:
        target = self.by_name(TargetName("endpoint", endpoint_id))
        return (target,) if target is not None else ()

    def for_event(self, event: Event) -> tuple[Target, ...]:
        return self.for_test(event.aggregate_id) if event.type == TEST_EVENT_TYPE else tuple(self.targets)

    def routes(self, event: Event) -> bool:
        return event.type != TEST_EVENT_TYPE and bool(self.targets)

    def set_share(self, share: Share) -> None:
        self.share = share

    def by_name(self, name: TargetName) -> Target | None:
        return next((target for target in self.targets if target.name == name), None)
