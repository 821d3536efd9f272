"""`Settings`: the fields, valid each by itself and all together.

Place in the data's way: built by `load_settings` in a process, or directly with keywords in a test.
Invariant: one that exists is consistent. Must not show a secret: `describe()` is what may be logged.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Self

from pydantic import SecretStr, model_validator

from connectors.webhook.key_ring import KeyRing
from streams.errors import SettingsError
from streams.settings.checks import contradictions
from streams.settings.fields import Fields
from streams.settings.text import contradiction_text, value_text
from streams.settings.values import is_local_database

__all__ = ["Settings"]


class Settings(Fields):
    """The settings of one process, read once.

    >>> Settings(window=50).window
    50
    """

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if found := contradictions(self):
            raise SettingsError([contradiction_text(self, contradiction) for contradiction in found])
        return self

    @property
    def connector_database(self) -> SecretStr:
        """The database's address as Debezium uses it; empty when no database is set."""
        return (
            self.connector_database_url
            if self.connector_database_url.get_secret_value()
            else self.database_url
        )

    @property
    def endpoint_disable_after(self) -> timedelta | None:
        """For how long an endpoint may do nothing but fail; None: for ever."""
        return timedelta(hours=self.endpoint_disable_after_hours) or None

    def key_ring(self) -> KeyRing:
        """The keys for what endpoints keep secret; an empty ring where there are none."""
        return KeyRing.parse(self.encryption_keys.get_secret_value())

    def writing_key_ring(self) -> KeyRing:
        """The keys for a process that writes endpoints, which must not write secrets as plain text by accident.

        Raises:
            SettingsError: there are none, nobody chose to have none, and the database is on another machine.
        """
        text = self.encryption_keys.get_secret_value()
        if not text and not is_local_database(self.database_url.get_secret_value()):
            problem = (
                "OUTBOX_ENCRYPTION_KEYS is not set, and secrets would be stored as plain text in a database on "
                "another machine. `outbox endpoints new-key` makes a key; plain says that this is meant"
            )
            raise SettingsError([problem])
        return self.key_ring()

    def __repr_args__(self) -> Iterable[tuple[str, str]]:
        # pydantic's own would show the credentials in an address; a settings object ends up in tracebacks.
        return self.describe().items()

    def describe(self) -> dict[str, str]:
        """Every setting as text for a log line: secrets as "set" or "unset", credentials hidden."""
        return {name: value_text(getattr(self, name)) for name in type(self).model_fields}
