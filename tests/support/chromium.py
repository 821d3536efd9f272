"""A real Chromium without a screen, driven over its DevTools protocol: no driver, and no browser download of its own.

Its messages travel on a loop in a thread, so that tests, which block, read as what somebody does.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import aiohttp

from tests.support.eventually import eventually

__all__ = ["Chromium", "ChromiumMissing", "Message", "chromium_program"]

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_ANSWER_S: Final = 30.0
_FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",  # CI is root, and the pages are our own
    "--remote-debugging-port=0",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--hide-scrollbars",
    "--lang=en-GB",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-proxy-server",
)

Message = dict[str, Any]
_T = TypeVar("_T")


class ChromiumMissing(Exception):  # noqa: N818 - it names the state of the machine
    """There is no Chromium here. Debian: `apt-get install chromium`."""


def chromium_program() -> str:
    """Where Chromium is.

    Raises:
        ChromiumMissing: nowhere on PATH.
    """
    for name in _NAMES:
        if found := shutil.which(name):
            return found
    raise ChromiumMissing("no Chromium on PATH (Debian: apt-get install chromium)")


class Chromium:
    """One browser. `command` asks it something; `listen` hears what a tab tells."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._ids = count(1)
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._listeners: dict[str, Callable[[str, Message], None]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chromium", daemon=True)
        self._folder = Path(tempfile.mkdtemp(prefix="chromium-"))

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(  # noqa: S603 - found on PATH by its name
            [self._program, *_FLAGS, f"--user-data-dir={self._folder}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._thread.start()
        port, path = eventually(self._address, what="the address of Chromium's DevTools")
        self._run(self._connect(f"ws://127.0.0.1:{port}{path}"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._run(self._disconnect())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def command(self, method: str, *, session: str | None = None, **parameters: Any) -> Message:
        """Ask the browser, or the tab of a session, and give what it answers."""
        return self._run(self._command(method, session, parameters))

    def listen(self, session: str, listener: Callable[[str, Message], None]) -> None:
        """Hear the events of a session: their name, and what they say. Called in the browser's thread."""
        self._listeners[session] = listener

    def _address(self) -> tuple[str, str] | None:
        assert self._process.poll() is None, "Chromium ended"
        try:
            lines = (self._folder / "DevToolsActivePort").read_text().splitlines()
        except FileNotFoundError:
            return None
        return (lines[0], lines[1]) if len(lines) > 1 else None

    async def _connect(self, address: str) -> None:
        self._client = aiohttp.ClientSession()
        self._socket = await self._client.ws_connect(address, max_msg_size=0)
        self._reading = asyncio.create_task(self._read())

    async def _disconnect(self) -> None:
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading
        await self._socket.close()
        await self._client.close()

    async def _command(self, method: str, session: str | None, parameters: Message) -> Message:
        number = next(self._ids)
        answer = self._waiting[number] = self._loop.create_future()
        message = {"id": number, "method": method, "params": parameters}
        await self._socket.send_json(message if session is None else {**message, "sessionId": session})
        said = await asyncio.wait_for(answer, _ANSWER_S)
        assert "error" not in said, f"{method}: {said['error']}"
        result: Message = said["result"]
        return result

    async def _read(self) -> None:
        async for raw in self._socket:
            message: Message = raw.json()
            if (number := message.get("id")) is not None:
                self._waiting.pop(number).set_result(message)
            elif (listener := self._listeners.get(message.get("sessionId", ""))) is not None:
                listener(message["method"], message["params"])

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
