"""Making a connection to an origin: name, address, judgement, TCP, TLS.

Place in the data's way: called by the sender when no idle connection can be used. Invariant: this is the only
place that connects, and an address is connected to only after `judge_address` let it pass: the very address,
after the name was resolved, on every dial (CASES 20). So neither DNS that changes its mind nor a redirect can
reach past the judgement. No proxy is used, whatever the environment says.
"""

import asyncio
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from connectors.webhook.answer import NoAnswerReason, Stage
from connectors.webhook.connection import Connection
from connectors.webhook.limits import Limits
from connectors.webhook.names import IPAddress, Names
from connectors.webhook.reply import Failure
from connectors.webhook.url import Origin

__all__ = ["AddressJudge", "Dialled", "Dialler", "allow_every_address"]

_TLS_SHUTDOWN_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialled:
    """What is about to be connected to."""

    origin: Origin
    address: IPAddress

    def __str__(self) -> str:
        host = f"[{self.address}]" if self.address.version == 6 else str(self.address)  # noqa: PLR2004 - IPv6
        return f"{host}:{self.origin.port}"


AddressJudge = Callable[[Dialled], str | None]
"""Says why an address may not be dialled ("is a private address"), or None where it may."""


def allow_every_address(_dialled: Dialled) -> None:
    """Let every address pass: for a network in which only trusted people enter endpoints."""
    return


class Dialler:
    """Dials. It keeps no connection and counts none."""

    def __init__(
        self, *, names: Names, judge_address: AddressJudge, tls: ssl.SSLContext, limits: Limits
    ) -> None:
        self._names = names
        self._judge_address = judge_address
        self._tls = tls
        self._limits = limits
        self._connect_s = limits.connect.total_seconds()

    async def dial(self, origin: Origin, *, total_at: float) -> Connection | Failure:
        """Connect to the first of the origin's addresses that takes the connection.

        `total_at` is the end of the whole attempt, in the loop's time.
        """
        loop = asyncio.get_running_loop()
        connect_at = loop.time() + self._connect_s
        until = min(connect_at, total_at)
        late = NoAnswerReason.CONNECT_TIMEOUT if connect_at <= total_at else NoAnswerReason.TOTAL_TIMEOUT
        try:
            async with asyncio.timeout_at(until):
                addresses = await self._names.addresses(origin.host)
        except TimeoutError:
            return Failure(late, Stage.RESOLVE, f"{origin.host} was not resolved in time")
        except OSError as error:
            return Failure(
                NoAnswerReason.NAME_UNRESOLVED,
                Stage.RESOLVE,
                f"{origin.host} was not resolved: {_told(error)}",
            )
        return await self._first_taken(origin, addresses, until=until, late=late)

    async def _first_taken(
        self, origin: Origin, addresses: tuple[IPAddress, ...], *, until: float, late: NoAnswerReason
    ) -> Connection | Failure:
        loop = asyncio.get_running_loop()
        failure = Failure(NoAnswerReason.NAME_UNRESOLVED, Stage.RESOLVE, f"{origin.host} has no address")
        for index, address in enumerate(addresses):
            dialled = Dialled(origin=origin, address=address)
            refusal = self._judge_address(dialled)
            if refusal is not None:
                if index == 0 or failure.reason is NoAnswerReason.ADDRESS_BLOCKED:
                    failure = Failure(
                        NoAnswerReason.ADDRESS_BLOCKED,
                        Stage.CONNECT,
                        f"{dialled} may not be dialled: {refusal}",
                    )
                continue
            # An address that swallows packets may use its share of the time, not that of those after it.
            share_until = loop.time() + (until - loop.time()) / (len(addresses) - index)
            taken = await self._connect(dialled, until=share_until, late=late)
            if isinstance(taken, Connection):
                return taken
            failure = taken
        return failure

    async def _connect(self, dialled: Dialled, *, until: float, late: NoAnswerReason) -> Connection | Failure:
        origin = dialled.origin
        is_tls = origin.scheme == "https"
        try:
            async with asyncio.timeout_at(until):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: Connection(dialled=str(dialled), limits=self._limits),
                    host=str(dialled.address),
                    port=origin.port,
                    ssl=self._tls if is_tls else None,
                    # The name of the URL, not the address: for SNI and for the certificate.
                    server_hostname=origin.host if is_tls else None,
                    ssl_shutdown_timeout=_TLS_SHUTDOWN_S if is_tls else None,
                )
        except TimeoutError:
            return Failure(late, Stage.CONNECT, f"{dialled} was not connected in time")
        except ssl.SSLError as error:
            return Failure(
                NoAnswerReason.TLS_FAILED, Stage.CONNECT, f"TLS with {dialled}: {_tls_told(error)}"
            )
        except ConnectionResetError as error:
            # TCP refuses or times out; what resets a connection at this point is the other side of the handshake.
            reason = NoAnswerReason.TLS_FAILED if is_tls else NoAnswerReason.CONNECT_FAILED
            told = "closed during the TLS handshake" if is_tls else _told(error)
            return Failure(reason, Stage.CONNECT, f"{dialled}: {told}")
        except OSError as error:
            return Failure(NoAnswerReason.CONNECT_FAILED, Stage.CONNECT, f"{dialled}: {_told(error)}")
        return connection


def _told(error: OSError) -> str:
    """The system's own words: event loops put theirs in their place, and `getaddrinfo` has numbers below 0."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or type(error).__name__


def _tls_told(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    return (error.reason or "handshake failed").replace("_", " ").lower()
