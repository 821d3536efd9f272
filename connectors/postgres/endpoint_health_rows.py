"""The rows of `outbox.endpoint_health`, read. Pure.

Place in the data's way: between the table and `EndpointHealth`, for the two that ask it: the writer and the readers.
"""

from __future__ import annotations

from typing import Any, Final

from connectors.postgres.endpoint_health import EndpointHealth, EndpointSigns, EndpointTurn
from connectors.postgres.failing_minutes import NO_MINUTES, FailingMinutes

__all__ = ["COLUMNS", "SHOWN_COLUMNS", "health_of"]

_NAMES: Final = (
    "endpoint_id, counted_from, last_success_at, last_failure_at, last_failure_id::text, last_error, last_status, "
    "gone_at, failing_since, warnings, warned_since, warned_at, disabled_reason, disabled_at"
)
COLUMNS: Final = f"{_NAMES}, failing_first, failing_minutes"
"""All, in the order of `health_of`."""

SHOWN_COLUMNS: Final = f"{_NAMES}, null, null"
"""All but the minutes: five days of them are a KB, and who shows a health needs the first alone, `failing_since`."""


def health_of(row: tuple[Any, ...]) -> EndpointHealth:
    """Read a row, in binary form."""
    endpoint_id, counted_from, last_success_at, failed_at, failed_id, error, status, gone_at, *rest = row
    since, warnings, warned_since, warned_at, reason, disabled_at, first, minutes = rest
    failure = None
    if failed_at is not None:
        failure = EndpointTurn(endpoint_id, failed_at, failed_id, error or "", status, failed_at == gone_at)
    return EndpointHealth(
        endpoint_id=endpoint_id,
        counted_from=counted_from,
        signs=EndpointSigns(
            last_success_at=last_success_at,
            last_failure=failure,
            failing=NO_MINUTES if minutes is None else FailingMinutes.of_bytes(first, minutes),
            gone_at=gone_at,
        ),
        failing_since=since,
        warnings=warnings,
        warned_since=warned_since,
        warned_at=warned_at,
        disabled_reason=reason,
        disabled_at=disabled_at,
    )
