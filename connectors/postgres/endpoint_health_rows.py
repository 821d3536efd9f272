"""The rows of `outbox.endpoint_health`, read with what a judgement needs of their endpoints. Pure.

Place in the data's way: between the table and `JudgedEndpoint`, for the two that ask it: the writer and the readers. A
row whose endpoint is gone is read by nobody.
"""

from __future__ import annotations

from typing import Any, Final

from connectors.postgres.endpoint_health import EndpointHealth, EndpointSigns, EndpointTurn, JudgedEndpoint
from connectors.postgres.failing_minutes import NO_MINUTES, FailingMinutes

__all__ = ["NAMES", "SELECT", "SELECT_SHOWN", "judged_of"]

NAMES: Final = (
    "e.enabled, e.updated_at, h.endpoint_id, h.counted_from, h.last_success_at, h.last_failure_at, "
    "h.last_failure_id::text, h.last_error, h.last_status, h.gone_at, h.failing_since, h.warnings, h.warned_since, "
    "h.warned_at, h.disabled_reason, h.disabled_at"
)
"""Of an endpoint `e` and its health `h`, all but the minutes."""

_FROM: Final = "from outbox.endpoint_health h join outbox.endpoints e on e.id = h.endpoint_id"

SELECT: Final = f"select {NAMES}, h.failing_first, h.failing_minutes {_FROM}"
"""All columns, in the order of `judged_of`."""

SELECT_SHOWN: Final = f"select {NAMES}, null, null {_FROM}"
"""All but the minutes: five days of them are a KB, and who shows a health needs the first alone, `failing_since`."""


def judged_of(row: tuple[Any, ...]) -> JudgedEndpoint:
    """Read a row, in binary form."""
    enabled, changed_at, *columns = row
    return JudgedEndpoint(enabled=enabled, changed_at=changed_at, health=_health_of(*columns))


def _health_of(endpoint_id: str, *columns: Any) -> EndpointHealth:
    counted_from, last_success_at, failed_at, failed_id, error, status, gone_at, since, *rest = columns
    warnings, warned_since, warned_at, reason, disabled_at, first, minutes = rest
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
