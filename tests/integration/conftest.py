"""Databases for the tests of one module: made on the stack's server, dropped at the end."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from connectors.postgres.schema import migrate


@contextmanager
def a_database(server_url: str) -> Generator[str]:
    name = sql.Identifier(f"test_{secrets.token_hex(6)}")
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(sql.SQL("create database {} encoding 'UTF8' template template0").format(name))
    try:
        yield urlsplit(server_url)._replace(path="/" + name.as_string().strip('"')).geturl()
    finally:
        with psycopg.connect(server_url, autocommit=True) as server:
            # By force: a test that failed may have left a connection open.
            server.execute(sql.SQL("drop database {} with (force)").format(name))


@pytest.fixture(scope="module")
def fresh_database_url(database_url: str) -> Iterator[str]:
    """Give an empty database of this module's own."""
    with a_database(database_url) as url:
        yield url


@pytest.fixture(scope="module")
def outbox_database_url(database_url: str) -> Iterator[str]:
    """Give a database of this module's own, with the schema of the outbox in it."""
    with a_database(database_url) as url:
        migrate(url)
        yield url
