"""`outbox verify`, run by a test on what a pipeline did since a moment."""

from __future__ import annotations

import json
from typing import Any

from tests.support.eventually import eventually
from tests.support.pipeline import Pipeline

__all__ = ["database_now", "statuses_in_log", "verified", "wait_until_logged"]


def database_now(pipeline: Pipeline) -> str:
    """The time by Postgres' clock, for `--since`."""
    with pipeline.connect() as connection:
        row = connection.execute("select clock_timestamp()").fetchone()
    assert row is not None
    return str(row[0].isoformat())


def verified(pipeline: Pipeline, since: str, *arguments: str, code: int = 0) -> Any:
    """What the command says of all events since then, up to now; it must end with this code."""
    asked = ("verify", "--since", since, "--until", "0s", "--json", *arguments)
    child = pipeline.start(*asked, database_url=pipeline.installation.database_url)
    assert child.wait_for_end(timeout_s=150) == code, child.text
    return json.loads(child.text)


def statuses_in_log(pipeline: Pipeline, event_id: object) -> list[str]:
    with pipeline.connect() as connection:
        found = connection.execute(
            "select status from outbox.deliveries where event_id = %s order by 1", (event_id,)
        ).fetchall()
    return [status for (status,) in found]


def wait_until_logged(pipeline: Pipeline, event_id: object, *statuses: str) -> None:
    """Return when the log has these deliveries of an event."""
    eventually(lambda: statuses_in_log(pipeline, event_id) == sorted(statuses), what=f"the log of {event_id}")
