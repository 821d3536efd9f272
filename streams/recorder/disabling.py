"""Whether an endpoint is warned of, or disabled: decided from its health and the time. Pure; the one place for it.

Place in the data's way: asked by the judge when a batch brought failures, and again with the rows locked. What always
holds: no endpoint is disabled for being idle, since only a failure can do it; none for its failures without a warning
that is at least a tenth of the period old; and none because a recorder catches up: what it reads then is old, and of
what came since, other partitions may not be read yet.

    warned    when it has failed for a fifth of the period, three fifths, nine tenths, and done nothing else
    disabled  when it fails after the whole of it; at once, when it has answered 410 since it was last changed
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from connectors.postgres.endpoint_health import DisabledReason, JudgedEndpoint

__all__ = ["FRESH", "WARNING_STEPS", "Decision", "Disable", "Warn", "decide"]

WARNING_STEPS: Final = (0.2, 0.6, 0.9)
"""Parts of the period."""

FRESH: Final = timedelta(minutes=10)
"""A failure that is older says nothing of how the endpoint fares now."""


@dataclass(frozen=True, slots=True)
class Warn:
    """Tell that it fails. `warnings` is how many steps have been told then."""

    warnings: int


@dataclass(frozen=True, slots=True)
class Disable:
    """Disable it."""

    reason: DisabledReason


Decision = Warn | Disable | None


def decide(endpoint: JudgedEndpoint, *, now: datetime, period: timedelta | None) -> Decision:
    """What is to be done about an endpoint.

    Args:
        endpoint: what is known of it.
        now: by the clock of who judges.
        period: for how long it may do nothing but fail; None: for ever.
    """
    health = endpoint.health
    if not endpoint.enabled or health.disabled_at is not None:
        return None
    gone_at = health.signs.gone_at
    if gone_at is not None and gone_at > max(health.counted_from, endpoint.changed_at):
        return Disable("gone")
    failure, ends_at = health.signs.last_failure, health.disables_at(period)
    if not period or failure is None or ends_at is None or health.failing_since is None:
        return None
    if now - failure.at > FRESH:
        return None
    if health.warnings_told and failure.at >= ends_at:
        return Disable("failing")
    steps = sum(failure.at >= health.failing_since + part * period for part in WARNING_STEPS)
    return Warn(steps) if steps > health.warnings_told else None
