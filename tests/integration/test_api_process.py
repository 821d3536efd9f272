"""`outbox api` and `outbox token` as an operator calls them: it starts where it may, and says why where it may not."""

from __future__ import annotations

import json
import signal
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from typer.testing import CliRunner

from streams.cli.main import app
from streams.settings.values import api_tokens
from tests.support.eventually import eventually
from tests.support.pipeline import Pipeline


def test_a_token_is_printed_once_with_its_entry() -> None:
    """The entry is what the setting takes; a name that it would not take is refused."""
    for arguments in (["--scope", "read"], ["--scope", "write", "--json"]):
        result = CliRunner().invoke(app, ["token", "deploy", *arguments])
        assert result.exit_code == 0
        said = (
            json.loads(result.stdout)
            if "--json" in arguments
            else dict(line.split() for line in result.stdout.splitlines())
        )
        assert api_tokens(said["entry"]) == said["entry"]
        assert said["token"] not in said["entry"]
    refused = CliRunner().invoke(app, ["token", "a:b", "--scope", "read"])
    assert (refused.exit_code, refused.stdout) == (2, "")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"api_listen": "0.0.0.0:0"}, "OUTBOX_API_TOKENS is not set"),
        ({"api_listen": "[::]:0"}, "OUTBOX_API_TOKENS is not set"),
        ({"api_listen": "192.0.2.1:0", "api_tokens": "a:read:" + "0" * 64}, "can't listen there"),
        ({"database_url": "postgresql://u:hunter2@db.invalid/shop"}, "OUTBOX_ENCRYPTION_KEYS is not set"),
        ({"database_url": ""}, "OUTBOX_DATABASE_URL is not set"),
    ],
)
def test_it_refuses_to_start_where_it_would_be_open(
    pipeline: Pipeline, settings: dict[str, str], said: str
) -> None:
    """One clear text and exit code 1; no password in it."""
    api = pipeline.start("api", **{"database_url": pipeline.installation.database_url, **settings})
    assert api.wait_for_end() == 1
    assert said in api.text
    assert "hunter2" not in api.text


def test_it_lets_a_request_finish_before_it_stops(pipeline: Pipeline) -> None:
    """SIGTERM: the answer that is under way is given, and the exit code is 0."""
    url = pipeline.installation.database_url
    api = pipeline.start("api", database_url=url, api_listen="127.0.0.1:0")
    port = api.wait_for("api_started")["port"]
    mailbox = pipeline.mailbox()
    with psycopg.connect(url) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("select 1 from outbox.endpoints where id = %s for update", [mailbox.id])
        asking = pool.submit(post, f"http://127.0.0.1:{port}/v1/endpoints/{mailbox.id}/disable")
        eventually(lambda: is_somebody_blocked(url), what="the request at the locked row")
        api.signal(signal.SIGTERM)
        api.wait_for("api_stopping")
        holder.commit()
        assert asking.result() == 200
    assert api.wait_for_end() == 0


def post(address: str) -> int:
    with urllib.request.urlopen(urllib.request.Request(address, method="POST")) as answer:  # noqa: S310 - our own
        return int(answer.status)


def is_somebody_blocked(url: str) -> bool:
    with psycopg.connect(url) as connection:
        waiting = connection.execute(
            "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        )
        return waiting.fetchone() is not None
