"""`outbox scheduler`: moves parked deliveries on when they are due."""

from streams.cli.errors import said_plainly
from streams.delay.process import run_scheduler
from streams.log import configure_log
from streams.process import run_process
from streams.settings import load_settings

__all__ = ["scheduler"]


def scheduler() -> None:
    """Move parked deliveries on when they are due, until SIGTERM or SIGINT."""
    with said_plainly():
        settings = load_settings(needs=("kafka_bootstrap_servers",))
        configure_log(form=settings.log_format, level=settings.log_level)
        run_process(lambda stop: run_scheduler(settings, stop=stop))
