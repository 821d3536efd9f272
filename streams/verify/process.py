"""A verification with the real Postgres and Kafka, from the settings.

Place in the data's way: between the command and `Verification`. It has two connections to Postgres: one that can write
nothing but its temporary tables, and one that reads endpoints, for a moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final

from connectors.epoch import to_the_ms
from connectors.postgres.connection import SILENCE_PARAMETERS, connect, database_time
from connectors.postgres.endpoints import EndpointStore
from connectors.postgres.reconciliation import Period, Reconciliation
from connectors.postgres.stored_endpoint import StoredEndpoint
from outbox.handlers import Handler
from streams.errors import VerificationRefused
from streams.settings import Settings
from streams.verify.kafka_side import KafkaSide
from streams.verify.report import Report, Source
from streams.verify.verification import Asked, Surroundings, Verification

__all__ = ["MARGIN", "Request", "letters_kept_from", "verify"]

MARGIN: Final = timedelta(seconds=30)
"""Events younger than that are not looked at, unless somebody says until when: they are on their way."""

_PARAMETERS: Final = {"application_name": "outbox-verify", **SILENCE_PARAMETERS}
_LONGEST: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What somebody asks for; no `until`: the `MARGIN` before now."""

    since: datetime
    until: datetime | None
    source: Source
    limit: int
    patience: timedelta
    statement_limit: timedelta


def verify(
    settings: Settings, request: Request, *, handlers: Iterable[Handler], around: Surroundings
) -> Report:
    """Verify the events of a time.

    Raises:
        VerificationRefused: there is no such time.
        VerificationBehind: the recorder is behind, so nothing can be said yet.
        PostgresError, KafkaEdgeError: as they say.
    """
    url = settings.database_url.get_secret_value()
    with connect(url, **_PARAMETERS) as connection:
        connection.autocommit = True
        now = database_time(connection)
        asked_since = to_the_ms(request.since)
        since = max(asked_since, _log_begins(settings, now))
        until = to_the_ms(now - MARGIN if request.until is None else min(request.until, now))
        if since >= until:
            raise VerificationRefused(
                f"There is no time from {since:%Y-%m-%dT%H:%M:%SZ} to {until:%Y-%m-%dT%H:%M:%SZ} to verify: say an "
                "earlier --since, or a later --until. What is yet to come can't be verified, nor what is from before "
                "the delivery log (OUTBOX_LOG_RETENTION_DAYS)."
            )
        period = Period(since=since, until=until)
        verification = Verification(
            Asked(
                period=period,
                source=request.source,
                limit=request.limit,
                patience=request.patience,
                letters_since=letters_kept_from(now, hours=settings.dead_letter_retention_hours),
                discard_unrouted=settings.unrouted == "discard",
                warnings=_warnings(asked_since, since),
            ),
            tables=Reconciliation(connection, period, statement_limit=request.statement_limit),
            kafka=KafkaSide(settings.kafka_bootstrap_servers, tiers=settings.tiers),
            endpoints=lambda: _endpoints(url),
            handlers=handlers,
            around=around,
        )
        return verification.run()


def letters_kept_from(now: datetime, *, hours: int) -> datetime:
    """Since when no dead letter goes while this is under way, whether midnight comes meanwhile or not."""
    return now + _LONGEST - timedelta(hours=hours)


def _endpoints(url: str) -> Sequence[StoredEndpoint]:
    """Those that can be read: of the others the workers know nothing new, either."""
    with connect(url, **_PARAMETERS) as connection:
        return [one for one in EndpointStore(connection).everything() if isinstance(one, StoredEndpoint)]


def _log_begins(settings: Settings, now: datetime) -> datetime:
    """The begin of the oldest day that the recorder keeps; not of one that it may drop while this is under way."""
    kept = timedelta(days=settings.log_retention_days)
    return datetime.combine((now + _LONGEST - kept).date(), time(), tzinfo=UTC)


def _warnings(asked: datetime, since: datetime) -> tuple[str, ...]:
    if asked >= since:
        return ()
    said = (
        f"the delivery log begins on {since:%Y-%m-%d} (OUTBOX_LOG_RETENTION_DAYS): nobody can say what became of the "
        "events of the days before, and they were left out"
    )
    return (said,)
