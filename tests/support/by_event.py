"""Answers that depend on the event: what its n-th attempt is told, or what one event among many is told."""

from collections import Counter
from collections.abc import Container

from tests.support.answers import Answer, Exchange

__all__ = ["attempt_by_attempt", "for_events", "for_one_in_four", "is_one_in_four"]


def attempt_by_attempt(*answers: Answer) -> Answer:
    """Give an event's first attempt the first answer, its second the second, and all later ones the last."""
    seen: Counter[str] = Counter()

    async def answer(exchange: Exchange) -> bool:
        event_id = exchange.request.headers["webhook-id"]
        chosen = answers[min(seen[event_id], len(answers) - 1)]
        seen[event_id] += 1
        return await chosen(exchange)

    return answer


def for_events(event_ids: Container[str], then: Answer, *, otherwise: Answer) -> Answer:
    """Tell these events one thing and all others another. The container may grow while it is used."""

    async def answer(exchange: Exchange) -> bool:
        chosen = then if exchange.request.headers["webhook-id"] in event_ids else otherwise
        return await chosen(exchange)

    return answer


def is_one_in_four(event_id: str) -> bool:
    """Is it one of about a quarter of all events? Its id tells."""
    return event_id[-1] in "048c"


def for_one_in_four(then: Answer, *, otherwise: Answer) -> Answer:
    """Tell about a quarter of all events one thing: so few that failing doesn't open the endpoint's circuit."""

    async def answer(exchange: Exchange) -> bool:
        chosen = then if is_one_in_four(exchange.request.headers["webhook-id"]) else otherwise
        return await chosen(exchange)

    return answer
