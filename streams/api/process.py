"""The API's process: it starts if it may, listens, and stops on a signal.

Refuses to start where it would be open to others: without tokens anywhere but on loopback; and without encryption keys
on a database of another machine, unless somebody chose that.
"""

import asyncio
from datetime import UTC, datetime

import structlog

from streams.api.server import Server
from streams.errors import SettingsError
from streams.settings import Settings
from streams.settings.values import is_loopback

__all__ = ["check_settings", "run_api"]

_log = structlog.get_logger("streams.api")


async def run_api(settings: Settings, *, stop: asyncio.Event) -> None:
    """Run until `stop` is set.

    Raises:
        SettingsError: it may not start like this, or can't listen there.
    """
    check_settings(settings)
    keys = settings.key_ring()
    try:
        server = await Server.start(settings, keys=keys, now=lambda: datetime.now(UTC))
    except OSError as error:
        raise SettingsError(
            [f"OUTBOX_API_LISTEN = {settings.api_listen}: can't listen there ({error.strerror})"]
        ) from error
    tokens = settings.api_tokens.get_secret_value()
    _log.info(
        "api_started",
        host=server.host,
        port=server.port,
        tokens=tokens.count(":") // 2,
        encryption_key=keys.current_id,
    )
    try:
        await stop.wait()
    finally:
        _log.info("api_stopping")
        await server.stop()
        _log.info("api_stopped")


def check_settings(settings: Settings) -> None:
    """Check that the API may start like this.

    Raises:
        SettingsError: it would be open to others, or store secrets as plain text elsewhere.
    """
    settings.writing_key_ring()
    host = settings.api_listen.rpartition(":")[0]
    if not settings.api_tokens.get_secret_value() and not is_loopback(host):
        problem = (
            f"OUTBOX_API_LISTEN = {settings.api_listen} is open to others, and OUTBOX_API_TOKENS is not set. "
            "Make a token with `outbox token`, or listen on 127.0.0.1"
        )
        raise SettingsError([problem])
