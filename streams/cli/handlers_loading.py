"""Importing the module that registers an application's handlers, for whoever delivers, or asks what would be delivered.

It imports nothing of what a worker needs.
"""

import importlib
import sys
import traceback
from pathlib import Path

import outbox
from streams.errors import SettingsError

__all__ = ["load_handlers"]

_REGISTERS_NOTHING = (
    "was imported and registers no handler: every event would be a dead letter. Name the module that has "
    "the `@handlers.on(...)` functions, or that imports them"
)


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
