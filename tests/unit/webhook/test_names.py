"""The memory of names: bounded, short, and one look-up at a time for each."""

import asyncio
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address

import pytest

from connectors.webhook.names import IPAddress, Names

ADDRESS = IPv4Address("192.0.2.1")


class Dns:
    """Answers when the test lets it, and notes who was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.asked_for = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.clock_s = 0.0

    async def resolve(self, host: str) -> tuple[IPAddress, ...]:
        self.asked.append(host)
        self.asked_for.set()
        await self.may_answer.wait()
        return (ADDRESS,)

    def names(self, *, limit: int = 10) -> Names:
        return Names(
            resolve=self.resolve, ttl=timedelta(seconds=10), limit=limit, monotonic=lambda: self.clock_s
        )


async def test_a_name_is_asked_for_again_when_its_time_is_up() -> None:
    """Within the time the memory answers."""
    dns = Dns()
    names = dns.names()
    for dns.clock_s in (0.0, 9.9, 10.0, 10.1):
        assert await names.addresses("a.example") == (ADDRESS,)

    assert dns.asked == ["a.example", "a.example"]


async def test_the_memory_is_bounded() -> None:
    """The name that was learned first is forgotten first."""
    dns = Dns()
    names = dns.names(limit=2)
    for host in ("a.example", "b.example", "c.example", "b.example", "a.example"):
        await names.addresses(host)

    assert dns.asked == ["a.example", "b.example", "c.example", "a.example"]


async def test_one_that_stops_waiting_leaves_the_look_up_to_the_others() -> None:
    """An attempt's timeout must not become the failure of another attempt."""
    dns = Dns()
    dns.may_answer.clear()
    names = dns.names()
    first, second = (asyncio.create_task(names.addresses("a.example")) for _ in range(2))
    await dns.asked_for.wait()
    first.cancel()
    await asyncio.wait({first})
    dns.may_answer.set()

    assert await second == (ADDRESS,)
    assert first.cancelled()
    assert dns.asked == ["a.example"]


@pytest.mark.parametrize(
    ("host", "address"),
    [("192.0.2.7", IPv4Address("192.0.2.7")), ("2001:db8::7", IPv6Address("2001:db8::7"))],
)
async def test_an_address_is_its_own_name(host: str, address: IPAddress) -> None:
    """Nothing is looked up for it."""
    dns = Dns()

    assert await dns.names().addresses(host) == (address,)
    assert dns.asked == []


async def test_closing_ends_look_ups_with_an_error_and_no_cancellation() -> None:
    """Who waits gets an OSError: nobody cancelled the attempt itself."""
    dns = Dns()
    dns.may_answer.clear()
    names = dns.names()
    waiting = asyncio.create_task(names.addresses("a.example"))
    await dns.asked_for.wait()
    await names.close()
    await names.close()

    with pytest.raises(OSError, match="ended"):
        await waiting
