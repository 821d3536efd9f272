"""`outbox worker`: consumes the outbox's topic and delivers."""

import importlib
import sys
import traceback
from pathlib import Path

import outbox
from streams.cli.errors import said_plainly
from streams.cli.handlers_option import HandlersOption
from streams.errors import SettingsError
from streams.log import configure_log
from streams.process import run_process
from streams.settings import load_settings
from streams.worker.worker import run_worker

__all__ = ["load_handlers", "worker"]

_REGISTERS_NOTHING = (
    "was imported and registers no handler: every event would be a dead letter. Name the module that has "
    "the `@handlers.on(...)` functions, or that imports them"
)


def worker(
    handlers: HandlersOption = "",
) -> None:
    """Deliver events to handlers and webhook endpoints, until SIGTERM or SIGINT."""
    with said_plainly():
        settings = load_settings(needs=("kafka_bootstrap_servers",))
        configure_log(form=settings.log_format, level=settings.log_level)
        load_handlers(handlers or settings.handlers)
        run_process(lambda stop: run_worker(settings, outbox.handlers, stop=stop))


def load_handlers(module: str) -> None:
    """Import the module that registers the application's handlers; nothing for an empty name.

    Raises:
        SettingsError: the module can't be imported, or registers nothing; the message says which one and why.
    """
    if not module:
        return
    # As `python -m` does: the application's own modules are found from the folder the command runs in.
    sys.path.insert(0, str(Path.cwd()))
    try:
        importlib.import_module(module)
    except Exception as error:
        raise SettingsError([f"OUTBOX_HANDLERS / --handlers {module!r} {_why(module, error)}"]) from error
    if not len(outbox.handlers):
        raise SettingsError([f"OUTBOX_HANDLERS / --handlers {module!r} {_REGISTERS_NOTHING}"])


def _why(module: str, error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and module.startswith(error.name):
        return (
            f"is not found: there is no module {error.name!r} in {Path.cwd()} or on PYTHONPATH. Run the command where "
            "the application's modules are, or set PYTHONPATH"
        )
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = (
        f"{error.filename}:{error.lineno}"
        if isinstance(error, SyntaxError)
        else f"{frame.filename}:{frame.lineno}"
    )
    return f"can't be imported: {type(error).__name__}: {error} ({place})"
