"""`outbox run`: all processes together, for development. One that ends by itself ends all of them."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from streams.api.process import check_settings
from streams.cli.errors import said_plainly
from streams.cli.handlers_option import HandlersOption
from streams.errors import StreamsError
from streams.process import run_process
from streams.settings import load_settings

__all__ = ["run"]

_PROCESSES = ("worker", "scheduler")
#: They need Postgres, and the others don't.
_WITH_DATABASE = ("recorder", "api")


def run(
    handlers: HandlersOption = "",
) -> None:
    """Run worker and scheduler together, with OUTBOX_DATABASE_URL recorder and API too, until SIGTERM or SIGINT."""
    with said_plainly():
        settings = load_settings(needs=("kafka_bootstrap_servers",))
        has_database = bool(settings.database_url.get_secret_value())
        if has_database:
            check_settings(settings)  # before a child starts whose end would end the others
        processes = (*_PROCESSES, *(_WITH_DATABASE if has_database else ()))
        environment = {**os.environ, **({"OUTBOX_HANDLERS": handlers} if handlers else {})}
        run_process(lambda stop: _run_all(processes, environment, stop=stop))


async def _run_all(processes: Sequence[str], environment: dict[str, str], *, stop: asyncio.Event) -> None:
    children = {
        name: await asyncio.create_subprocess_exec(
            sys.executable, "-m", "streams.cli", name, env=environment, start_new_session=True
        )
        for name in processes
    }
    ends = {asyncio.ensure_future(child.wait()): name for name, child in children.items()}
    stopping = asyncio.ensure_future(stop.wait())
    done, _ = await asyncio.wait([*ends, stopping], return_when=asyncio.FIRST_COMPLETED)
    ended_early = [ends[end] for end in ends if end in done]
    for child in children.values():
        if child.returncode is None:
            child.send_signal(signal.SIGTERM)
    await asyncio.wait(ends)
    stopping.cancel()
    failed = ended_early or [name for name, child in children.items() if child.returncode]
    if failed:
        raise StreamsError(
            f"{', '.join(failed)} ended with code {children[failed[0]].returncode}; its lines above say why"
        )
