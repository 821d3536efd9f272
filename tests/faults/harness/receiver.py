"""The receiver of a run: a process of its own, behind real sockets, that behaves as each endpoint's path says.

    python -m tests.faults.harness.receiver HOST PORT JOURNAL NAME=TARGET=SECRET …

Signatures are verified with the `standardwebhooks` package. SIGUSR1 makes it refuse: it closes its port and
resets every connection. SIGUSR2 opens it again.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from aiohttp import web
from standardwebhooks import Webhook, WebhookVerificationError

from tests.faults.harness.facts import Receipt
from tests.faults.harness.journal import JournalWriter
from tests.faults.harness.plan import BEHAVIOURS, HINT_S, chance_of

__all__: list[str] = []

_STALL_S = 30.0
_FAILURES = (500, 503, 429)
_DOOMED = {behaviour.name: behaviour.doomed for behaviour in BEHAVIOURS}


class Receiver:
    """Answers, and writes down what came. `targets`: the name on the wire of each behaviour."""

    def __init__(
        self, *, journal: JournalWriter, targets: Mapping[str, str], secrets: Mapping[str, str]
    ) -> None:
        self._journal = journal
        self._webhooks = {name: Webhook(secret) for name, secret in secrets.items()}
        self._targets = targets
        self._tries: Counter[tuple[str, str]] = Counter()
        self._open: dict[int, web.Request] = {}

    async def take(self, request: web.Request) -> web.StreamResponse:
        began_ms = time.time() * 1000
        name = request.match_info["name"]
        body = await request.read()
        event_id = request.headers.get("webhook-id", "")
        signed = self._verified(name, body, request.headers)
        self._tries[event_id, name] += 1
        self._open[id(request)] = request
        status = 0
        headers: dict[str, str] = {}
        try:
            status, headers = await self._behave(name, event_id)
        finally:
            # One that was reset, by its behaviour or by a refusal, has no answer.
            gone = request.transport is None or request.transport.is_closing()
            del self._open[id(request)]
            self._journal.write(
                Receipt(
                    event_id=event_id,
                    target=self._targets[name],
                    began_ms=began_ms,
                    answered_ms=None if gone or not status else time.time() * 1000,
                    ok=200 <= status < 300 and not gone,
                    sha256=hashlib.sha256(body).hexdigest(),
                    signed=signed,
                )
            )
        if not status:
            _reset(request)
        return web.Response(status=status or 500, headers=headers)

    def refuse(self) -> None:
        for request in list(self._open.values()):
            _reset(request)

    async def _behave(  # noqa: C901, PLR0911 - a line for each behaviour
        self, name: str, event_id: str
    ) -> tuple[int, dict[str, str]]:
        chance = chance_of(event_id)
        tries = self._tries[event_id, name]
        match name:
            case "steady":
                return 204, {}
            case "flaky" if tries <= chance % 3:
                return _FAILURES[chance % len(_FAILURES)], {}
            case "late":
                await asyncio.sleep(0.2 + chance / 256)
            case "resetting" if tries == 1:
                return 0, {}
            case "stalling" if tries == 1 and chance % 4 == 0:
                await asyncio.sleep(_STALL_S)
                return 0, {}
            case "hinting" if tries == 1:
                return 503, {"Retry-After": str(HINT_S)}
            case "rejecting":
                return 400, {}
            case "failing" if chance < _DOOMED[name]:
                return 500, {}
            case "down":
                return 500, {}
            case "parking":
                return 503, {"Retry-After": "3600"}
            case _:
                pass
        return 200, {}

    def _verified(self, name: str, body: bytes, headers: Mapping[str, str]) -> bool:
        try:
            self._webhooks[name].verify(body, {name.lower(): value for name, value in headers.items()})
        except WebhookVerificationError:
            return False
        return True


def _reset(request: web.Request) -> None:
    if request.transport is None:
        return
    connection = request.transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.transport.abort()


async def _serve(host: str, port: int, receiver: Receiver) -> None:
    app = web.Application(client_max_size=1 << 24)
    app.router.add_post("/in/{name}", receiver.take)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.01)
    await runner.setup()
    wanted, changed = True, asyncio.Event()

    def want(*, listening: bool) -> None:
        nonlocal wanted
        wanted = listening
        changed.set()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, lambda: os._exit(0))
    loop.add_signal_handler(signal.SIGUSR1, lambda: want(listening=False))
    loop.add_signal_handler(signal.SIGUSR2, lambda: want(listening=True))
    site: web.TCPSite | None = None
    while True:
        if wanted and site is None:
            site = web.TCPSite(runner, host, port, reuse_address=True)
            await site.start()
        elif not wanted and site is not None:
            await site.stop()
            site = None
            receiver.refuse()
            if runner.server is not None:
                await runner.server.shutdown(timeout=0.01)  # 0 would be for ever
        await changed.wait()
        changed.clear()


def main(host: str, port: str, journal: str, *names: str) -> None:
    parts = [text.split("=", 2) for text in names]
    receiver = Receiver(
        journal=JournalWriter(Path(journal)),
        targets={name: target for name, target, _ in parts},
        secrets={name: secret for name, _, secret in parts},
    )
    asyncio.run(_serve(host, int(port), receiver))


if __name__ == "__main__":
    main(*sys.argv[1:])
