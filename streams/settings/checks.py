"""What must hold between settings: each check is a pure function of the fields.

Place in the data's way: run by `Settings` on construction and by `load_settings` for its report.
Invariant: a check names every field it looked at, so that the loader can leave out those that are wrong by
themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from streams.duration import format_duration
from streams.settings.fields import Fields

__all__ = ["Contradiction", "contradictions"]

# A killed worker's deliveries are taken over within this: the session runs out, then the others drain and
# rejoin.
TAKEOVER_LIMIT = timedelta(seconds=15)
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Settings that are valid alone and wrong together; `rule` says what must hold and why."""

    fields: tuple[str, ...]
    rule: str


def contradictions(fields: Fields) -> tuple[Contradiction, ...]:
    """List what is wrong between the settings; empty when nothing is."""
    return tuple(
        contradiction
        for check in (_tiers, _handler_backoff, _endpoint, _stopping, _topics, _retention, _log_retention)
        for contradiction in check(fields)
    )


def _tiers(fields: Fields) -> Iterator[Contradiction]:
    if any(later <= earlier for earlier, later in pairwise(fields.tiers)):
        yield Contradiction(fields=("tiers",), rule="tiers must ascend, each longer than the one before")
    if min(fields.tiers) < timedelta(seconds=1):
        yield Contradiction(fields=("tiers",), rule="the shortest tier must be 1s or more")
    if min(fields.endpoint_schedule) <= timedelta(0):
        yield Contradiction(fields=("endpoint_schedule",), rule="every wait must be longer than 0s")


def _handler_backoff(fields: Fields) -> Iterator[Contradiction]:
    if fields.handler_base_delay_s > fields.handler_max_delay_s:
        yield Contradiction(
            fields=("handler_base_delay_s", "handler_max_delay_s"),
            rule="the base delay must not be above the longest delay",
        )
    waits_s = (
        min(fields.handler_base_delay_s * 2.0 ** min(n, 64), fields.handler_max_delay_s)
        for n in range(fields.handler_max_attempts - 1)
    )
    # Attempts that age would cut off are attempts that somebody configured and never gets (convoy #2696).
    if sum(waits_s) > fields.handler_max_age_hours * 3_600:
        yield Contradiction(
            fields=(
                "handler_base_delay_s",
                "handler_max_delay_s",
                "handler_max_attempts",
                "handler_max_age_hours",
            ),
            rule="the waits between a handler's attempts must add up to less than its greatest age",
        )


def _endpoint(fields: Fields) -> Iterator[Contradiction]:
    for part in ("endpoint_connect_timeout_s", "endpoint_first_byte_timeout_s"):
        if getattr(fields, part) > fields.endpoint_timeout_s:
            yield Contradiction(
                fields=(part, "endpoint_timeout_s"),
                rule="a part of an attempt must not have more time than the whole",
            )
    # In milliseconds: the longest waits that can be written add up to more than a timedelta holds.
    total_ms = sum(wait // _MS for wait in fields.endpoint_schedule)
    if total_ms > timedelta(hours=fields.endpoint_max_age_hours) // _MS:
        total = (
            format_duration(total_ms * _MS)
            if total_ms <= timedelta.max // _MS
            else "longer than any calendar"
        )
        yield Contradiction(
            fields=("endpoint_schedule", "endpoint_max_age_hours"),
            rule=f"the schedule's waits ({total} in all) must add up to less than the greatest age",
        )
    if fields.endpoint_concurrency > fields.window:
        yield Contradiction(
            fields=("endpoint_concurrency", "window"),
            rule="one endpoint can't have more attempts than the worker",
        )


def _stopping(fields: Fields) -> Iterator[Contradiction]:
    if fields.endpoint_timeout_s >= fields.drain_limit_s:
        yield Contradiction(
            fields=("endpoint_timeout_s", "drain_limit_s"),
            rule="an attempt's time must be below the drain limit, or a stop cuts off what would have ended",
        )
    if fields.rebalance_drain_limit_s > fields.drain_limit_s:
        yield Contradiction(
            fields=("rebalance_drain_limit_s", "drain_limit_s"),
            rule="a rebalance can't drain longer than a stop",
        )
    takeover = timedelta(seconds=fields.session_timeout_s + fields.rebalance_drain_limit_s)
    if takeover > TAKEOVER_LIMIT:
        yield Contradiction(
            fields=("session_timeout_s", "rebalance_drain_limit_s"),
            rule=f"together at most {format_duration(TAKEOVER_LIMIT)}: the takeover from a killed worker",
        )


def _topics(fields: Fields) -> Iterator[Contradiction]:
    if fields.min_insync_replicas > fields.replication_factor:
        yield Contradiction(
            fields=("min_insync_replicas", "replication_factor"),
            rule="no more copies can be demanded than there are, or nothing can be written",
        )


def _retention(fields: Fields) -> Iterator[Contradiction]:
    # A record that Kafka deletes before its delivery is given up is lost without a dead letter (INV-1).
    longest_tier = max(fields.tiers)
    retention = timedelta(hours=fields.retention_hours)
    for age in ("handler_max_age_hours", "endpoint_max_age_hours"):
        if retention < timedelta(hours=getattr(fields, age)) + longest_tier:
            yield Contradiction(
                fields=("retention_hours", age, "tiers"),
                rule="topics must keep a record for its greatest age and one wait in the longest tier",
            )


def _log_retention(fields: Fields) -> Iterator[Contradiction]:
    # A delivery that outlives its day in the log is retried unseen: its later attempts are recorded nowhere.
    for age in ("handler_max_age_hours", "endpoint_max_age_hours"):
        if timedelta(days=fields.log_retention_days) < timedelta(hours=getattr(fields, age)):
            yield Contradiction(
                fields=("log_retention_days", age),
                rule="the delivery log must keep a delivery for its greatest age",
            )
