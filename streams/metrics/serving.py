"""Serving a registry to Prometheus, from a thread of its own.

Place in the data's way: beside it. What always holds: a scrape holds up nothing that the process does, and is answered
until the process has stopped its work.
"""

from collections.abc import Generator
from contextlib import contextmanager

import structlog
from prometheus_client import CollectorRegistry, start_http_server

from streams.errors import SettingsError

__all__ = ["serving"]

_log = structlog.get_logger("streams.metrics")


@contextmanager
def serving(listen: str, registry: CollectorRegistry) -> Generator[None]:
    """Serve `/metrics` at an address (host:port) while the block runs; nothing, where there is none.

    Raises:
        SettingsError: it can't listen there.
    """
    if not listen:
        yield
        return
    host, _, port = listen.rpartition(":")
    try:
        server, thread = start_http_server(int(port), addr=host.strip("[]"), registry=registry)
    except OSError as error:
        raise SettingsError(
            [f"OUTBOX_METRICS_LISTEN = {listen}: can't listen there ({error.strerror})"]
        ) from error
    _log.info("metrics_served", port=server.server_port)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
