"""What the demo tells: which orders there are, who wants to hear of them, and how each listener behaves.

The truth table below is written by hand, not derived from the processor's rules: it is what the processor is judged by.
Pure; chance comes in.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "BILLING",
    "KINDS",
    "LEGACY",
    "ROLLED_BACK",
    "SUBSCRIBERS",
    "WAREHOUSE",
    "Kind",
    "Order",
    "Subscriber",
    "Target",
    "orders",
    "pauses_s",
]

ROLLED_BACK = 20
"""How many transactions are rolled back, beside those that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscriber:
    """A webhook endpoint of the demo. It answers the nth request for an event with the nth status; the last repeats."""

    name: str
    events: str
    answers: tuple[int, ...]
    what: str

    @property
    def endpoint_id(self) -> str:
        """Its id in the endpoint store."""
        return f"ep_{self.name}"

    def answer(self, nth: int) -> int:
        """The status for the nth request (1-based) for one event."""
        return self.answers[min(nth, len(self.answers)) - 1]


WAREHOUSE = Subscriber(name="warehouse", events="order.*", answers=(204,), what="healthy")
BILLING = Subscriber(
    name="billing", events="order.paid", answers=(503, 503, 204), what="fails twice, then works"
)
LEGACY = Subscriber(name="legacy", events="order.cancelled", answers=(400,), what="refuses for good")

SUBSCRIBERS = (WAREHOUSE, BILLING, LEGACY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What must come of one event at one target: so many attempts, and then success, or a dead letter with a code.

    `name` is None where nobody wants the event at all: it becomes a dead letter without an attempt.
    """

    name: str | None
    attempts: int = 1
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """An event type, how many orders come to it, and all that must come of each."""

    type: str
    orders: int
    targets: tuple[Target, ...]


_TO_WAREHOUSE = Target(name="endpoint:ep_warehouse")

KINDS = (
    Kind(type="order.placed", orders=120, targets=(_TO_WAREHOUSE, Target(name="handler:confirm"))),
    Kind(
        type="order.paid", orders=40, targets=(_TO_WAREHOUSE, Target(name="endpoint:ep_billing", attempts=3))
    ),
    Kind(
        type="order.cancelled",
        orders=20,
        targets=(_TO_WAREHOUSE, Target(name="endpoint:ep_legacy", code="ENDPOINT_REJECTED")),
    ),
    Kind(
        type="order.refunded",
        orders=10,
        targets=(_TO_WAREHOUSE, Target(name="handler:refund", code="HANDLER_PERMANENT_FAILURE")),
    ),
    Kind(
        type="loyalty.earned",
        orders=10,
        targets=(Target(name=None, attempts=0, code="HANDLER_NOT_REGISTERED"),),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One transaction: an order and its event. With `kept` false it is rolled back at the end."""

    number: int
    event_type: str
    customer: str
    total_cents: int
    kept: bool = True

    @property
    def payload(self) -> bytes:
        """The event's bytes. Their spaces, escapes and digits would not survive being parsed and written again."""
        text = (
            f'{{"order": {self.number},  "customer": "{self.customer}", "total": {self.total_cents / 100:.2f}, '
            f'"ratio": 1.10000000000000000001, "note": "\\u00e9 \\/ é"}}'
        )
        return text.encode()


_CUSTOMERS = ("Zoë", "Ngozi", "李雷", "Søren", "Amélie", "Yusuf")


def orders(rng: random.Random) -> tuple[Order, ...]:
    """All transactions of the demo in the order in which they are made: the kept ones and the others, shuffled."""
    types = [(kind.type, True) for kind in KINDS for _ in range(kind.orders)]
    types += [(rng.choice(KINDS).type, False) for _ in range(ROLLED_BACK)]
    rng.shuffle(types)
    return tuple(
        Order(
            number=number,
            event_type=event_type,
            customer=rng.choice(_CUSTOMERS),
            total_cents=rng.randrange(100, 100_000),
            kept=kept,
        )
        for number, (event_type, kept) in enumerate(types, start=1)
    )


def pauses_s(rng: random.Random, *, per_second: float) -> Iterator[float]:
    """Pauses between arrivals of a Poisson process: even spacing would hide what waiting for a timer costs."""
    while True:
        yield rng.expovariate(per_second)
