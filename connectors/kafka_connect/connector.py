"""The connector's configuration: the template `debezium/connector.json`, and what a deployment adds.

Place in the data's way: it decides what Debezium reads (the outbox table's inserts) and how a row becomes a
record. Each setting and its reason stand in docs/reference/connector.md. Invariants: the whole configuration
is made here, so that `outbox setup` can tell that nothing changed; a password may be a reference such as
`${file:…}` that Connect resolves, and goes through untouched. Must not: be logged.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from connectors.kafka_connect.errors import ConnectorConfigInvalid

__all__ = ["CONNECTOR_NAME", "PUBLICATION_NAME", "SLOT_NAME", "config_difference", "connector_config"]

CONNECTOR_NAME: Final = "outbox"
SLOT_NAME: Final = "outbox"
PUBLICATION_NAME: Final = "outbox"

_TEMPLATE = Path(__file__).parents[2] / "debezium" / "connector.json"
# What libpq calls it, and what Debezium does.
_TLS = {
    "sslmode": "database.sslmode",
    "sslrootcert": "database.sslrootcert",
    "sslcert": "database.sslcert",
    "sslkey": "database.sslkey",
}
_SECRET = "(hidden)"  # noqa: S105 - what is shown instead of one


def connector_config(database_url: str, *, poll_interval_ms: int) -> dict[str, str]:
    """Make the configuration for a database, as Connect reaches and logs in to it.

    >>> config = connector_config("postgresql://cdc:pw@db/shop", poll_interval_ms=5)
    >>> config["database.hostname"], config["database.port"], config["database.dbname"]
    ('db', '5432', 'shop')

    Raises:
        ConnectorConfigInvalid: the address lacks something, or names what Debezium can't use.
    """
    template: dict[str, str] = json.loads(_TEMPLATE.read_text(encoding="utf-8"))
    return {**template, **_database(database_url), "poll.interval.ms": str(poll_interval_ms)}


def config_difference(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Say which settings differ, passwords hidden; Connect's own `name` is not one of them.

    >>> config_difference({"name": "outbox", "linger.ms": "5"}, {"linger.ms": "0"})
    ('linger.ms from 5 to 0',)
    """
    names = sorted((before.keys() | after.keys()) - {"name"})
    return tuple(
        f"{name} from {_shown(name, before.get(name))} to {_shown(name, after.get(name))}"
        for name in names
        if before.get(name) != after.get(name)
    )


def _database(database_url: str) -> dict[str, str]:
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(database_url).items()}
    except ProgrammingError:
        # libpq's message quotes the address, which holds the password.
        raise ConnectorConfigInvalid(
            "the database address for Debezium is not one that libpq can read"
        ) from None
    host, ports = parts.get("host", ""), parts.get("port", "5432")
    if not host or host.startswith("/"):
        raise ConnectorConfigInvalid(
            "Debezium reaches Postgres over TCP only, and the database address has no host name:"
            " set OUTBOX_CONNECTOR_DATABASE_URL to one that has"
        )
    missing = [name for name in ("user", "dbname") if not parts.get(name)]
    if missing:
        raise ConnectorConfigInvalid(f"the database address for Debezium has no {' and no '.join(missing)}")
    return {
        "database.hostname": host,
        "database.port": ports,
        "database.user": parts["user"],
        "database.password": parts.get("password", ""),
        "database.dbname": parts["dbname"],
        **{name: parts[libpq] for libpq, name in _TLS.items() if libpq in parts},
    }


def _shown(name: str, value: str | None) -> str:
    if value is None:
        return "unset"
    return _SECRET if "password" in name else value
