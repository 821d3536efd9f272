"""What Postgres says of a statement, as errors of ours."""

from __future__ import annotations

import psycopg
import pytest

from connectors.postgres.connection import connect, statement_errors
from connectors.postgres.errors import StatementTimeoutError


def test_a_statement_that_is_given_no_more_time_has_an_error_of_its_own(outbox_database_url: str) -> None:
    """By its time, or by its wait for a lock; the connection is usable afterwards."""
    with psycopg.connect(outbox_database_url) as holder, connect(outbox_database_url) as connection:
        holder.execute("lock table outbox.deliveries in access exclusive mode")

        def run(limit: str, statement: str) -> None:
            with statement_errors(), connection.transaction():
                connection.execute("select set_config(%s, '50ms', true)", (limit,))
                connection.execute(statement.encode())

        for limit, statement in (
            ("statement_timeout", "select pg_sleep(60)"),
            ("lock_timeout", "select count(*) from outbox.deliveries"),
        ):
            with pytest.raises(StatementTimeoutError, match="timeout"):
                run(limit, statement)
        assert connection.execute("select 1").fetchone() == (1,)
