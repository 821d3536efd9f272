"""A leader of the group knows the topics before it shares them out.

One member of the group decides who gets which partitions, by what its own client knows of the topics. A client that has
just connected to a broker that has just started may not know a topic yet; Faust's assignor then leaves it out with a
warning, and nobody reads it until the client looks again, which is minutes later (CASES 32: alive, but not
consuming). So here it looks again first.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import structlog

__all__ = ["METADATA_MAX_AGE_S", "knowing_the_topics"]

_log = structlog.get_logger("streams.commit")

METADATA_MAX_AGE_S: Final = 30
"""How often a client looks at the topics in any case: what was still missing is then found, and shared out anew."""

_LOOK_AGAIN_S: Final = 0.1


def knowing_the_topics(coordinator: Any, *, limit_s: float) -> Callable[[Any], Awaitable[Any]]:
    """Give aiokafka's coordinator's `_perform_assignment`, which waits for topics that are missing.

    Not for ever: a leader that doesn't share out within its session is no member any more.
    """
    perform = coordinator._perform_assignment  # noqa: SLF001 - there is no hook

    async def performing(response: Any) -> Any:
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + limit_s
        while (missing := _missing(coordinator)) and loop.time() < deadline_s:
            with suppress(TimeoutError):
                looking = coordinator._client.force_metadata_update()  # noqa: SLF001 - as above
                await asyncio.wait_for(looking, deadline_s - loop.time())
            await asyncio.sleep(_LOOK_AGAIN_S)
        if missing:
            _log.error("topics_missing", topics=" ".join(missing), do="run `outbox setup`, if it never ran")
        return await perform(response)

    return performing


def _missing(coordinator: Any) -> list[str]:
    cluster, subscription = coordinator._cluster, coordinator._subscription  # noqa: SLF001 - as above
    return [topic for topic in sorted(subscription.topics) if not cluster.partitions_for_topic(topic)]
