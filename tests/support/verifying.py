"""A verification of what a pipeline did since a moment, as `outbox verify` makes it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pydantic import SecretStr

from outbox.handlers import Handler
from streams.cli.verify_shown import report_fields
from streams.settings import Settings
from streams.verify.process import Request, verify
from streams.verify.report import Source
from tests.support.eventually import eventually
from tests.support.installation import TIERS
from tests.support.pipeline import Pipeline

__all__ = ["broken_since", "database_now", "verified", "wait_until_logged"]

_LONG: Final = timedelta(minutes=3)


class _Silent:
    """Real time, and nobody who listens."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def say(self, what: str) -> None:
        pass

    def read(self, number: int) -> None:
        pass


def database_now(pipeline: Pipeline) -> datetime:
    """The time by Postgres' clock."""
    with pipeline.connect() as connection:
        row = connection.execute("select clock_timestamp()").fetchone()
    assert row is not None
    moment: datetime = row[0]
    return moment.astimezone(UTC)


def verified(
    pipeline: Pipeline,
    since: datetime,
    *,
    source: Source = "both",
    handlers: Iterable[Handler] = (),
    patience: timedelta = _LONG,
) -> Any:
    """What is said of all events since then, up to now, in the names of `--json`."""
    settings = Settings(
        database_url=SecretStr(pipeline.installation.database_url),
        kafka_bootstrap_servers=pipeline.kafka,
        tiers=TIERS,
    )
    request = Request(
        since=since,
        until=datetime.max.replace(tzinfo=UTC),
        source=source,
        limit=10,
        patience=patience,
        statement_limit=_LONG,
    )
    return report_fields(verify(settings, request, handlers=handlers, around=_Silent()))


def broken_since(pipeline: Pipeline, since: datetime, **asked: Any) -> dict[str, str]:
    """What breaks it, by id, with the reasons, once the workers have committed it: until then it is in flight."""

    def look() -> Any:
        answer = verified(pipeline, since, **asked)
        return answer if answer["exit_code"] == 1 else None

    answer = eventually(look, what="an event that is not accounted for", timeout_s=120)
    assert answer["unaccounted"] == len(answer["events"]) == sum(answer["reasons"].values())
    return {event["id"]: event["reason"] for event in answer["events"]}


def wait_until_logged(pipeline: Pipeline, event_id: object, *statuses: str) -> None:
    """Return when the log has these deliveries of an event."""

    def logged() -> bool:
        with pipeline.connect() as connection:
            found = connection.execute(
                "select status from outbox.deliveries where event_id = %s order by 1", (event_id,)
            ).fetchall()
        return [status for (status,) in found] == sorted(statuses)

    eventually(logged, what=f"the log of {event_id}", timeout_s=60)
