"""The events of the benchmarks: orders of a shop, some 600 bytes of JSON each, from a seed. Pure."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

__all__ = ["Order", "order_type", "orders"]

_NOTE_CHARS = 430
_LETTERS = "abcdefghijklmnopqrstuvwxyz      "


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One event before it is appended: its type, its aggregate's id, its payload."""

    type: str
    number: str
    payload: str


def order_type(endpoint: int) -> str:
    """Name the event type that goes to this endpoint.

    >>> order_type(7)
    'shop07.order.created'
    """
    return f"shop{endpoint:02d}.order.created"


def orders(count: int, *, types: tuple[str, ...], keys: int, rng: random.Random) -> Iterator[Order]:
    """Make events: types in turns, keys drawn evenly from so many."""
    note = "".join(rng.choices(_LETTERS, k=_NOTE_CHARS))
    for index in range(count):
        number = f"order-{rng.randrange(keys)}"
        payload = {
            "order_number": number,
            "sequence": index,
            "customer": f"customer-{rng.randrange(100_000)}",
            "total": f"{rng.randrange(100_000) / 100:.2f}",
            "items": [{"sku": f"sku-{rng.randrange(10_000)}", "quantity": rng.randrange(1, 9)}],
            "note": note,
        }
        yield Order(type=types[index % len(types)], number=number, payload=orjson.dumps(payload).decode())
