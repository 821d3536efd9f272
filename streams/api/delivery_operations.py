"""The operations on the delivery log: listing deliveries, and showing one with its attempts.

Place in the data's way: they read what the recorder wrote, over connections of their own (`Operation.reads_log`), so
that reading a big log holds up nobody who changes an endpoint. Must not: write anything.
"""

from typing import Final

from connectors.postgres.logged_delivery import DeliveryQuery
from streams.api.delivery_views import DeliveriesPage, DeliveryDetail, deliveries_page, delivery_detail
from streams.api.log_page import reading_a_page
from streams.api.models import DeliveriesQuery
from streams.api.operation import Answer, Call, Operation
from streams.api.problem import FieldProblem, Problem, ProblemError

__all__ = ["DELIVERY_OPERATIONS", "MOST_ATTEMPTS", "delivery_query"]

MOST_ATTEMPTS: Final = 500
"""How many turns of one delivery are shown. One that is deferred for days has hundreds."""


def delivery_query(query: DeliveriesQuery) -> DeliveryQuery:
    """What the log is asked for.

    Raises:
        ProblemError: two parameters say the same thing, perhaps differently.
    """
    target = query.target
    if query.endpoint_id is not None:
        if target is not None:
            wrong = FieldProblem(
                where="parameter", name="target", detail="give this or `endpoint_id`, not both"
            )
            raise ProblemError(
                Problem(kind="query-invalid", detail="Put right what `errors` lists.", errors=(wrong,))
            )
        target = f"endpoint:{query.endpoint_id}"
    return DeliveryQuery(
        target=target,
        event_id=query.event_id,
        event_type=query.event_type,
        statuses=frozenset(query.status),
        since=query.since,
        until=query.until,
    )


def _list(call: Call) -> Answer:
    query: DeliveriesQuery = call.query
    wanted = delivery_query(query)
    with reading_a_page("The log", helps="an event_id, endpoint_id or target"):
        page = call.log.list(wanted, limit=query.limit, cursor=query.cursor)
    return Answer(body=deliveries_page(page))


def _show(call: Call) -> Answer:
    # One more than is shown says whether there are others.
    delivery, attempts = call.log.get(call.delivery_id, newest=MOST_ATTEMPTS + 1)
    return Answer(body=delivery_detail(delivery, attempts, most=MOST_ATTEMPTS))


DELIVERY_OPERATIONS: Final = (
    Operation(
        name="listDeliveries",
        method="GET",
        path="/v1/deliveries",
        summary="List deliveries, those of the newest events first",
        description="From the delivery log, which is behind the deliveries by a moment. If reading takes too long, the "
        "answer is 503: narrow the time range.",
        scope="read",
        query=DeliveriesQuery,
        answer=DeliveriesPage,
        reads_log=True,
        run=_list,
    ),
    Operation(
        name="showDelivery",
        method="GET",
        path="/v1/deliveries/{delivery_id}",
        summary="Show a delivery with its attempts, oldest first",
        description="Without its payload, which the log doesn't have; an excerpt of a receiver's answer may quote it.",
        scope="read",
        answer=DeliveryDetail,
        problems=("not-found",),
        reads_log=True,
        run=_show,
    ),
)
