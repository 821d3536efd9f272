"""The addresses of host names, remembered for a short while.

Place in the data's way: asked by `dial` for every new connection. Invariants: what is remembered is bounded;
one look-up at a time runs for a name, however many attempts wait for it; a look-up that hangs costs its own
name's attempts their connect timeout and nothing else of theirs. It must not judge addresses: a remembered
address is judged again on every dial.

`getaddrinfo` tells no time to live, so the memory is short; that a name was not found is remembered as long,
so that a dead endpoint doesn't keep the few resolver threads busy.
"""

import asyncio
import ipaddress
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import timedelta

__all__ = ["IPAddress", "Names", "Resolver", "system_resolver"]

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str], Awaitable[tuple[IPAddress, ...]]]


async def system_resolver(host: str) -> tuple[IPAddress, ...]:
    """Ask the operating system, in the order it prefers.

    Raises:
        OSError: the name has no address, or no answer was to be had (`socket.gaierror`).
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    # The socket address begins with the address's text, for both families.
    return tuple(dict.fromkeys(ipaddress.ip_address(str(info[4][0])) for info in found))


class Names:
    """Looks names up and remembers the answers, refusals included."""

    def __init__(
        self, *, resolve: Resolver, ttl: timedelta, limit: int, monotonic: Callable[[], float]
    ) -> None:
        self._resolve = resolve
        self._ttl_s = ttl.total_seconds()
        self._limit = limit
        self._monotonic = monotonic
        self._known: OrderedDict[str, tuple[float, tuple[IPAddress, ...] | OSError]] = OrderedDict()
        self._under_way: dict[str, asyncio.Task[tuple[IPAddress, ...]]] = {}

    async def addresses(self, host: str) -> tuple[IPAddress, ...]:
        """Give the addresses of a host, which may be an address itself.

        Raises:
            OSError: there are none.
        """
        literal = _literal(host)
        if literal is not None:
            return (literal,)
        remembered = self._known.get(host)
        if remembered is not None and self._monotonic() < remembered[0]:
            found = remembered[1]
            if isinstance(found, OSError):
                raise OSError(found.errno, found.strerror)
            return found
        look_up = self._under_way.get(host)
        if look_up is None:
            look_up = asyncio.create_task(self._look_up(host), name="webhook name look-up")
            self._under_way[host] = look_up
            look_up.add_done_callback(lambda task: self._ended(host, task))
        # Shielded: the attempt that asked first may time out while others still wait.
        try:
            return await asyncio.shield(look_up)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if not look_up.cancelled() or (caller is not None and caller.cancelling()):
                raise
            # `close` ended the look-up; nobody cancelled the attempt.
            raise OSError(socket.EAI_FAIL, "the look-up was ended") from None

    async def close(self) -> None:
        """End the look-ups under way."""
        under_way = tuple(self._under_way.values())
        for look_up in under_way:
            look_up.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _look_up(self, host: str) -> tuple[IPAddress, ...]:
        try:
            found = await self._resolve(host)
        except OSError as error:
            self._remember(host, error)
            raise
        except UnicodeError as error:
            refusal = OSError(socket.EAI_NONAME, "the name can't be looked up")
            self._remember(host, refusal)
            raise refusal from error
        self._remember(host, found)
        return found

    def _remember(self, host: str, found: tuple[IPAddress, ...] | OSError) -> None:
        self._known[host] = (self._monotonic() + self._ttl_s, found)
        self._known.move_to_end(host)
        while len(self._known) > self._limit:
            self._known.popitem(last=False)

    def _ended(self, host: str, look_up: asyncio.Task[tuple[IPAddress, ...]]) -> None:
        del self._under_way[host]
        if not look_up.cancelled():
            look_up.exception()  # Seen here, in case nobody waits any more.


def _literal(host: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
