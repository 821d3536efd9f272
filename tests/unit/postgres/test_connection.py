"""Addresses of databases: what is shown of them, and what isn't."""

from __future__ import annotations

import socket
import traceback

import pytest

from connectors.postgres.connection import address, connect, connection_parameters
from connectors.postgres.errors import DatabaseUnreachableError, DatabaseUrlError


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://app:hunter2@db.internal:6432/shop", "db.internal:6432/shop"),
        ("postgres://app:hunter2@[::1]/shop?sslmode=require", "::1/shop"),
        ("host=a,b port=1,2 user=app password=hunter2 dbname=shop", "a,b:1,2/shop"),
        ("postgresql:///shop?host=/run/pg&password=hunter2", "/run/pg/shop"),
        ("postgresql://app:hunter2@db", "db/app"),
    ],
)
def test_an_address_is_shown_without_the_password(url: str, shown: str) -> None:
    """INV-9: host, port and database, whatever form the URL has."""
    assert address(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app:hunter2@db:5432/shop?hunter2=1",
        "postgres//app:hunter2@db",
        "hunter2",
        "postgresql://a:hunter2%zz@b",
    ],
)
def test_a_url_that_cannot_be_read_is_not_shown(url: str) -> None:
    """INV-9: libpq's message quotes the piece that it didn't understand, which may be the password."""
    with pytest.raises(DatabaseUrlError, match="can't be read") as caught:
        connection_parameters(url)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value, chain=True))


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    """Who reads the error knows where it was tried, and what to check."""
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    url = "postgresql://app:{}@127.0.0.1:{}/shop".format("hunter2", port)
    with pytest.raises(DatabaseUnreachableError, match=rf"127\.0\.0\.1:{port}/shop.*Check that") as caught:
        connect(url)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
