"""The endpoint store as the command line opens it: with the settings' keys, in the name of who calls the command."""

import getpass
import os
from collections.abc import Generator
from contextlib import contextmanager

from connectors.postgres.audit import Actor
from connectors.postgres.connection import connect
from connectors.postgres.endpoints import EndpointStore
from connectors.postgres.errors import EndpointNotFoundError, EndpointUnreadableError
from connectors.webhook.errors import SecretLockedError
from streams.errors import SettingsError
from streams.settings import load_settings

__all__ = ["cli_actor", "opened_store", "reseal_all"]


def cli_actor() -> Actor:
    """Who calls the command."""
    return Actor(name=f"cli:{_user()}")


@contextmanager
def opened_store(*, stores_secrets: bool = True) -> Generator[EndpointStore]:
    """The store of OUTBOX_DATABASE_URL.

    Args:
        stores_secrets: whether secrets may be written with it. Who only looks, or removes, needs no key.

    Raises:
        SettingsError: a setting is wrong, or secrets would be stored as plain text and nobody chose that.
    """
    settings = load_settings(needs=("database_url",))
    keys = settings.writing_key_ring() if stores_secrets else settings.key_ring()
    with connect(settings.database_url.get_secret_value()) as connection:
        yield EndpointStore(connection, keys=keys, actor=cli_actor())


def reseal_all() -> tuple[int, list[str]]:
    """Seal what all endpoints keep secret with the current key, each in a transaction of its own.

    Returns:
        how many were sealed anew, and what is wrong with each that could not be read or opened.

    Raises:
        SettingsError: there is no key.
    """
    resealed, locked = 0, []
    if not load_settings().key_ring():
        raise SettingsError(["OUTBOX_ENCRYPTION_KEYS holds no key. `outbox endpoints new-key` makes one"])
    with opened_store() as store:
        for endpoint_id in store.ids():
            try:
                resealed += store.reseal(endpoint_id)
            except EndpointNotFoundError:
                continue  # removed meanwhile
            except (EndpointUnreadableError, SecretLockedError) as error:
                locked.append(str(error))
    return resealed, locked


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return str(os.getuid())  # a container may have no name for it
