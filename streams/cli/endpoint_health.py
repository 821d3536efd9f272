"""An endpoint's health as `outbox endpoints` shows it: fields for programs, a few words for people."""

from datetime import UTC, datetime, timedelta
from typing import Any

from connectors.postgres.endpoint_health import EndpointHealth
from connectors.webhook.endpoint import Endpoint

__all__ = ["health_fields", "health_text"]


def health_fields(
    endpoint: Endpoint, health: EndpointHealth | None, *, disable_after: timedelta | None
) -> dict[str, Any]:
    """As the API names them; None: nothing is known of its health."""
    failure = None if health is None else health.signs.last_failure
    return {
        "disabled_reason": None if endpoint.enabled or health is None else health.disabled_reason,
        "health": {
            "state": "idle" if health is None else health.state,
            "failing_since": None if health is None else _utc(health.failing_since),
            "last_success_at": None if health is None else _utc(health.signs.last_success_at),
            "last_failure_at": None if failure is None else _utc(failure.at),
            "last_error": None if failure is None else failure.error,
            "disables_at": None
            if health is None or not endpoint.enabled
            else _utc(health.disables_at(disable_after)),
        },
    }


def health_text(shown: dict[str, Any]) -> str:
    """A health for people, made of its fields.

    >>> at = datetime(2026, 11, 30, 22, 5, tzinfo=UTC)
    >>> health_text(
    ...     {"state": "failing", "failing_since": at, "last_error": "answered 503", "disables_at": None}
    ... )
    'failing since 2026-11-30 22:05Z: answered 503'
    """
    if shown["failing_since"] is None:
        return str(shown["state"])
    text = f"failing since {_moment(shown['failing_since'])}: {shown['last_error']}"
    return (
        text if shown["disables_at"] is None else f"{text}; disabled from {_moment(shown['disables_at'])} on"
    )


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}Z"


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC)
