"""How a setting is declared: its meaning, who sets it, its limits, and the types that settings have.

Place in the data's way: what `Fields` (fields.py) is written with.
"""

from __future__ import annotations

from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

from streams.settings import values

__all__ = [
    "DATABASE",
    "DURATIONS",
    "ApiTokens",
    "DatabaseUrl",
    "Durations",
    "EncryptionKeys",
    "HttpUrl",
    "ListenAddress",
    "MetricsAddress",
    "ModulePath",
    "Networks",
    "Servers",
    "declare",
    "seconds",
]


def seconds(*texts: str) -> tuple[timedelta, ...]:
    """Write a default of durations as one writes the setting."""
    return values.durations(list(texts))


def _check_database(value: SecretStr) -> SecretStr:
    values.database_url(value.get_secret_value())
    return value


def declare(  # noqa: PLR0913 - one keyword for each limit that a setting may have
    default: Any,
    meaning: str,
    set_by: str,
    accepted: str | None = None,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    max_length: int | None = None,
) -> Any:
    """Declare a setting. Its default is checked too; a list with a greatest length has a least one of 1."""
    return Field(
        default=default,
        description=meaning,
        json_schema_extra={"set_by": set_by, "accepted": accepted},
        validate_default=True,
        ge=ge,
        gt=gt,
        le=le,
        allow_inf_nan=None if ge is None and gt is None else False,
        min_length=1 if max_length else None,
        max_length=max_length,
    )


def _check_keys(value: SecretStr) -> SecretStr:
    values.encryption_keys(value.get_secret_value())
    return value


def _check_tokens(value: SecretStr) -> SecretStr:
    return SecretStr(values.api_tokens(value.get_secret_value()))


ApiTokens = Annotated[SecretStr, AfterValidator(_check_tokens)]
DatabaseUrl = Annotated[SecretStr, AfterValidator(_check_database)]
Durations = Annotated[tuple[timedelta, ...], NoDecode, BeforeValidator(values.durations)]
EncryptionKeys = Annotated[SecretStr, AfterValidator(_check_keys)]
HttpUrl = Annotated[str, AfterValidator(values.http_url)]
ListenAddress = Annotated[str, AfterValidator(values.listen)]
MetricsAddress = Annotated[str, AfterValidator(values.listen_or_nowhere)]
ModulePath = Annotated[str, AfterValidator(values.module_path)]
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(values.networks)]
Servers = Annotated[str, AfterValidator(values.bootstrap_servers)]

DATABASE = "a Postgres address with host and database: postgresql://user:password@host:5432/dbname"
DURATIONS = "durations separated by commas, like 1s,2s,15m"
