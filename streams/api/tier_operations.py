"""The operation on Kafka: what waits in the retry tiers, and before the workers.

Place in the data's way: the one operation that asks Kafka instead of the database, so it may be away while the others
go on, and the other way round.
"""

from typing import Final

from pydantic import Field

from streams.api.backlog import Waiting
from streams.api.operation import Answer, OfBacklog, Operation
from streams.api.views import View

__all__ = ["TIER_OPERATIONS", "TiersView"]


class QueueView(View):
    """A topic that is read by workers."""

    waiting: int = Field(description="Records that no worker has settled yet.")


class TierView(View):
    """A retry tier."""

    topic: str
    delay_s: float = Field(
        description="The longest that it holds a delivery; its shortest lane holds it half."
    )
    waiting: int = Field(description="Deliveries in it.")


class TiersView(View):
    """What waits: in the retry tiers, the shortest first, and before the workers. Up to a second old."""

    items: list[TierView]
    redelivery: QueueView
    events: QueueView


def _show(waiting: Waiting) -> Answer:
    return Answer(
        body=TiersView(
            items=[
                TierView(topic=tier.topic, delay_s=tier.delay.total_seconds(), waiting=tier.waiting)
                for tier in waiting.tiers
            ],
            redelivery=QueueView(waiting=waiting.redelivery),
            events=QueueView(waiting=waiting.events),
        )
    )


TIER_OPERATIONS: Final = (
    Operation(
        name="listTiers",
        method="GET",
        path="/v1/tiers",
        summary="Show what waits in the retry tiers, and before the workers",
        description="From Kafka, which is asked once a second at most. While it gives no answer, and where it is not "
        "set, this is 503, and the other operations go on.",
        scope="read",
        answer=TiersView,
        problems=("kafka-not-set",),
        run=OfBacklog(_show),
    ),
)
