"""What one signed webhook costs the sending process: our client against aiohttp's.

    .venv/bin/python -m benchmarks.webhook_client [requests]

Both send the same signed POSTs of 600 bytes over loopback to the same receiver (a process of its own, which
answers 204), on uvloop, 64 at a time over kept connections. Printed: requests per second, and CPU
microseconds of the sending process for each (user and system time). Each client runs three times, in turns;
the best run counts, as the others were disturbed.
"""

import asyncio
import multiprocessing
import multiprocessing.connection
import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import aiohttp
import httptools
import uvloop
from rich.console import Console
from rich.table import Table

from connectors.webhook.answer import Responded
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.request import Request
from connectors.webhook.secret import Secret
from connectors.webhook.sender import Sender
from connectors.webhook.signature import sign
from outbox.event_filter import EventFilter

__all__ = ["main"]

_CONCURRENCY = 64
_ROUNDS = 3
_BODY = b'{"order":"' + b"x" * 588 + b'"}'
_MESSAGE_ID = "0197a5d2-6a4e-7cc1-9d3c-2b6a1f0e4d5c"
_NO_CONTENT = 204

Send = Callable[[], Awaitable[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One run's figures."""

    requests_per_s: float
    cpu_us: float


class _Receiver(asyncio.Protocol):
    """Answers 204 to every complete request."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")


def _receive(told: "multiprocessing.connection.Connection[int, None]") -> None:
    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(_Receiver, "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(serve())


async def _measure(send: Send, requests: int) -> Cost:
    left = iter(range(requests))

    async def work() -> None:
        for _ in left:
            status = await send()
            if status != _NO_CONTENT:
                sys.exit(f"the receiver answered {status}")

    started_s, started_cpu_s = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(_CONCURRENCY)))
    wall_s, cpu_s = time.perf_counter() - started_s, time.process_time() - started_cpu_s
    return Cost(requests_per_s=requests / wall_s, cpu_us=cpu_s / requests * 1e6)


async def _ours(endpoint: Endpoint, requests: int) -> Cost:
    async with Sender() as sender:

        async def send() -> int:
            answer = await sender.send(
                Request(endpoint=endpoint, message_id=_MESSAGE_ID, timestamp=datetime.now(UTC), body=_BODY)
            )
            assert isinstance(answer, Responded)
            return answer.status

        return await _measure(send, requests)


async def _aiohttp(endpoint: Endpoint, requests: int) -> Cost:
    timeout = aiohttp.ClientTimeout(total=20, sock_connect=5)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:

        async def send() -> int:
            timestamp_s = int(datetime.now(UTC).timestamp())
            signature = sign(
                message_id=_MESSAGE_ID, timestamp_s=timestamp_s, body=_BODY, secrets=endpoint.secrets
            )
            headers = {
                "content-type": "application/json",
                "accept-encoding": "identity",
                "webhook-id": _MESSAGE_ID,
                "webhook-timestamp": str(timestamp_s),
                "webhook-signature": signature,
                "idempotency-key": _MESSAGE_ID,
            }
            async with session.post(
                endpoint.url, data=_BODY, headers=headers, allow_redirects=False
            ) as response:
                await response.read()
                return response.status

        return await _measure(send, requests)


def main() -> None:
    """Run both in turns and print the table."""
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    spawn = multiprocessing.get_context("spawn")
    hear, tell = spawn.Pipe(duplex=False)
    receiver = spawn.Process(target=_receive, args=(tell,), daemon=True)
    receiver.start()
    endpoint = Endpoint(
        id="ep_benchmark",
        url=f"http://127.0.0.1:{hear.recv()}/webhooks",
        event_types=(EventFilter("*"),),
        secrets=(Secret.generate(),),
        created_at=datetime.now(UTC),
    )
    runs: dict[str, list[Cost]] = {"ours": [], "aiohttp": []}
    for _ in range(_ROUNDS):
        runs["ours"].append(uvloop.run(_ours(endpoint, requests)))
        runs["aiohttp"].append(uvloop.run(_aiohttp(endpoint, requests)))
    receiver.terminate()
    receiver.join()
    _print(requests, {name: min(costs, key=lambda cost: cost.cpu_us) for name, costs in runs.items()})


def _print(requests: int, best: dict[str, Cost]) -> None:
    table = Table(
        title=f"{requests} signed POSTs of {len(_BODY)} B, {_CONCURRENCY} at a time, {os.cpu_count()} cores"
    )
    for column in ("client", "requests/s", "CPU µs/request", "of ours"):
        table.add_column(column, justify="left" if column == "client" else "right")
    for name, cost in best.items():
        ratio = cost.cpu_us / best["ours"].cpu_us
        table.add_row(name, f"{cost.requests_per_s:,.0f}", f"{cost.cpu_us:.1f}", f"{ratio:.1f} x")
    Console().print(table)


if __name__ == "__main__":
    main()
