"""How settings are shown to people: in the report of wrong ones, and in the log line of a start.

Place in the data's way: the end of it; nothing is parsed from these texts.
Invariant: no secret comes out of here. A `SecretStr` is shown as set or unset, and what stands before the
last "@" of any address is hidden, wherever the address stands (INV-9).
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from annotated_types import Ge, Gt, Le
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from streams.duration import format_duration
from streams.settings.checks import Contradiction
from streams.settings.fields import Fields, variable

__all__ = ["accepted_text", "contradiction_text", "raw_text", "value_text"]

# To the last "@", over line ends too, with or without a scheme before it.
_CREDENTIALS = re.compile(r"\A([^@]*?//)?.*@", re.DOTALL)
_SHOWN_CHARS = 200


def value_text(value: Any) -> str:
    """Show a setting's valid value."""
    if isinstance(value, SecretStr):
        return "set" if value.get_secret_value() else "unset"
    if isinstance(value, tuple):
        return ",".join(format_duration(v) if isinstance(v, timedelta) else str(v) for v in value) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return _without_credentials(value) if value != "" else "unset"


def raw_text(name: str, value: Any) -> str:
    """Show what somebody wrote for a setting, right or wrong, up to a length."""
    field = Fields.model_fields.get(name)
    if field is not None and field.annotation is SecretStr:
        return "(hidden)"
    shown = _without_credentials(value)
    return shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}… ({len(shown)} characters)"


def _without_credentials(value: Any) -> str:
    return _CREDENTIALS.sub(r"\1***@", str(value))


def accepted_text(name: str) -> str:
    """Say what a setting accepts, from its declaration.

    >>> accepted_text("window")
    'a whole number from 1 to 100000'
    """
    field = Fields.model_fields[name]
    extra = field.json_schema_extra
    if isinstance(extra, dict) and extra.get("accepted"):
        return str(extra["accepted"])
    choices = getattr(field.annotation, "__args__", None)
    return f"one of {', '.join(choices)}" if choices else _range_text(field)


def contradiction_text(fields: Fields, contradiction: Contradiction) -> str:
    """One line: the settings with their values, and the rule between them."""
    given = ", ".join(f"{variable(n)} = {value_text(getattr(fields, n))}" for n in contradiction.fields)
    return f"{given}: {contradiction.rule}"


def _range_text(field: FieldInfo) -> str:
    kind = "a whole number" if field.annotation is int else "a number"
    lowest = highest = ""
    for limit in field.metadata:
        match limit:
            case Ge(ge=bound):
                lowest = f" from {bound:g}" if isinstance(bound, int | float) else ""
            case Gt(gt=bound):
                lowest = f" above {bound:g}" if isinstance(bound, int | float) else ""
            case Le(le=bound):
                highest = f" to {bound}"
            case _:
                pass
    return kind + lowest + highest
