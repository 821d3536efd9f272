"""`outbox api`: the admin API, and the page that shows what it knows."""

from streams.api.process import run_api
from streams.cli.errors import said_plainly
from streams.log import configure_log
from streams.process import run_process
from streams.settings import load_settings

__all__ = ["api"]


def api() -> None:
    """Serve the admin API, and its page at /, until SIGTERM or SIGINT. Listens on OUTBOX_API_LISTEN."""
    with said_plainly():
        settings = load_settings(needs=("database_url",))
        configure_log(form=settings.log_format, level=settings.log_level)
        run_process(lambda stop: run_api(settings, stop=stop))
