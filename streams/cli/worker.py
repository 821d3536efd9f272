"""`outbox worker`: consumes the outbox's topic and delivers."""

import outbox
from streams.cli.errors import said_plainly
from streams.cli.handlers_loading import load_handlers
from streams.cli.handlers_option import HandlersOption
from streams.log import configure_log
from streams.process import run_process
from streams.settings import load_settings
from streams.worker.worker import run_worker

__all__ = ["worker"]


def worker(
    handlers: HandlersOption = "",
) -> None:
    """Deliver events to handlers and webhook endpoints, until SIGTERM or SIGINT."""
    with said_plainly():
        settings = load_settings(needs=("kafka_bootstrap_servers",))
        configure_log(form=settings.log_format, level=settings.log_level)
        load_handlers(handlers or settings.handlers)
        run_process(lambda stop: run_worker(settings, outbox.handlers, stop=stop))
