"""The API on a loop of its own, in a thread: for clients that block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tests.support.api import ApiClient, running_api

__all__ = ["threaded_api"]


@contextmanager
def threaded_api(database_url: str, **settings: Any) -> Generator[ApiClient]:
    """Run it during the block. Of the client, only `base` and `token` are of use outside of its loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="threaded-api")
    thread.start()
    running = running_api(database_url, **settings)
    try:
        yield asyncio.run_coroutine_threadsafe(running.__aenter__(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(running.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
