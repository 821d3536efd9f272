"""`outbox recorder`: writes the delivery log."""

from streams.cli.errors import said_plainly
from streams.log import configure_log
from streams.process import run_process
from streams.recorder.process import run_recorder
from streams.settings import load_settings

__all__ = ["recorder"]


def recorder() -> None:
    """Write the delivery log: every attempt from Kafka into Postgres, until SIGTERM or SIGINT."""
    with said_plainly():
        settings = load_settings(needs=("kafka_bootstrap_servers", "database_url"))
        configure_log(form=settings.log_format, level=settings.log_level)
        run_process(lambda stop: run_recorder(settings, stop=stop))
