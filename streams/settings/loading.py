"""`load_settings`: what a process calls first. All that is wrong is reported at once, before anything starts.

Place in the data's way: reads the environment and the TOML file that `OUTBOX_CONFIG` names.
Invariants: a misspelled `OUTBOX_` variable or TOML key is an error that names the nearest one, because a
setting that silently does nothing is found at three in the morning. Variables that Kubernetes invents for a
Service named `outbox-…` are not settings, and are passed over.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError

from streams.errors import SettingsError
from streams.settings.checks import contradictions
from streams.settings.fields import CONFIG_VARIABLE, PREFIX, Fields, variable
from streams.settings.model import Settings
from streams.settings.text import accepted_text, contradiction_text, raw_text

__all__ = ["load_settings"]

# Read by others than the processor: the embedded stack and the tests have variables of their own.
_OTHERS_PREFIXES = ("OUTBOX_DEV", "OUTBOX_TEST_")
# Kubernetes gives every pod the addresses of the Services around it, such as OUTBOX_API_PORT_80_TCP.
_SERVICE_LINK = re.compile(
    r"_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT(_\d+_(TCP|UDP|SCTP)(_[A-Z]+)?)?$"
)

#: No setting's name is half as long.
_NAME_CHARS = 80


def load_settings(needs: Collection[str] = ()) -> Settings:
    """Read the settings; `needs` are the fields that this process can't do without.

    ```
    settings = load_settings(needs=("kafka_bootstrap_servers",))
    ```

    Raises:
        SettingsError: something is wrong; the message lists all of it.
    """
    file_values = _read_file()
    problems = [*_unknown(os.environ, file_values)]
    fields, wrong = _read_fields(file_values, problems)
    problems += (
        contradiction_text(fields, found)
        for found in contradictions(fields)
        if wrong.isdisjoint(found.fields)
    )
    problems += (_missing(name) for name in needs if name not in wrong and not _is_set(fields, name))
    if problems:
        raise SettingsError(problems)
    return Settings()


def _read_file() -> Mapping[str, Any]:
    """Check the TOML file before pydantic reads it, which would pass over a missing one in silence."""
    path = os.environ.get(CONFIG_VARIABLE)
    if not path:
        return {}
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError([f"{CONFIG_VARIABLE} = {path}: can't be read ({error.strerror})"]) from error
    except RecursionError as error:
        raise SettingsError([f"{CONFIG_VARIABLE} = {path}: not a TOML file (nested too deeply)"]) from error
    except ValueError as error:
        # TOMLDecodeError, UnicodeDecodeError, and what `int` says of a number with thousands of digits.
        raise SettingsError([f"{CONFIG_VARIABLE} = {path}: not a TOML file ({error})"]) from error


def _read_fields(file_values: Mapping[str, Any], problems: list[str]) -> tuple[Fields, frozenset[str]]:
    """Read each field by itself; report the wrong ones, and let them stand at their defaults."""
    try:
        return Fields(), frozenset()
    except ValidationError as error:
        details = {str(detail["loc"][0]): detail for detail in error.errors(include_context=False)}
    problems += (_wrong(name, file_values) for name in details)
    defaults: dict[str, Any] = {name: Fields.model_fields[name].default for name in details}
    return Fields(**defaults), frozenset(details)


def _wrong(name: str, file_values: Mapping[str, Any]) -> str:
    written = os.environ.get(variable(name)) or file_values.get(name)
    return f"{variable(name)} = {raw_text(name, written)}: accepted is {accepted_text(name)}"


def _missing(name: str) -> str:
    meaning = Fields.model_fields[name].description
    return f"{variable(name)} is not set: {meaning} Accepted is {accepted_text(name)}"


def _is_set(fields: Fields, name: str) -> bool:
    value = getattr(fields, name)
    return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)


def _unknown(environment: Iterable[str], file_values: Iterable[str]) -> Iterable[str]:
    known = [variable(name) for name in Fields.model_fields]
    for name in sorted(environment):
        other = name == CONFIG_VARIABLE or name.startswith(_OTHERS_PREFIXES) or _SERVICE_LINK.search(name)
        if name.startswith(PREFIX) and not other and name not in known:
            yield f"{_cut(name)} is no setting{_nearest(name, known)}"
    for key in file_values:
        if key not in Fields.model_fields:
            yield f"{_cut(key)} in the file is no setting{_nearest(key, Fields.model_fields)}"


def _cut(name: str) -> str:
    return name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}…"


def _nearest(name: str, known: Iterable[str]) -> str:
    # Nothing is near to a name of any length, and to find that out would take long.
    if len(name) > _NAME_CHARS:
        return ""
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
