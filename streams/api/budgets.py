"""What an endpoint's URL, timeout and retries must keep to, so that the workers really obey them. Pure.

Place in the data's way: after a request's own rules, before anything is stored. The bounds are the workers' settings,
which this process has too.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from connectors.webhook.endpoint import Endpoint
from streams.api.problem import FieldProblem, Problem, ProblemError
from streams.duration import format_duration
from streams.settings import Settings

__all__ = ["BUDGET_FIELDS", "check_budgets"]

BUDGET_FIELDS: Final = frozenset({"url", "timeout_s", "schedule_s", "backoff", "max_age_s"})
"""The fields of a request that are checked here."""


def check_budgets(endpoint: Endpoint, settings: Settings) -> None:
    """Check an endpoint against the settings.

    Raises:
        ProblemError: names the fields.
    """
    errors = tuple(
        FieldProblem(where="pointer", name=f"#/{name}", detail=detail)
        for name, detail in _broken(endpoint, settings)
    )
    if errors:
        raise ProblemError(
            Problem(
                kind="body-invalid",
                detail="The workers could not obey what `errors` lists. Nothing was changed.",
                errors=errors,
            )
        )


def _broken(endpoint: Endpoint, settings: Settings) -> Iterator[tuple[str, str]]:
    inside = settings.endpoint_allowed_networks
    if endpoint.target.origin.scheme == "http" and settings.endpoint_plain_http == "refuse" and not inside:
        yield "url", "plain http is not sent to here: give an https URL (or see OUTBOX_ENDPOINT_PLAIN_HTTP)"
    most_s = settings.endpoint_timeout_s
    if endpoint.timeout is not None and endpoint.timeout.total_seconds() > most_s:
        yield "timeout_s", f"this is longer than OUTBOX_ENDPOINT_TIMEOUT_S, {most_s:g}"
    default_age = timedelta(hours=settings.endpoint_max_age_hours)
    max_age = default_age if endpoint.max_age is None else endpoint.max_age
    # A record that Kafka deletes before its delivery is given up is lost without a dead letter (INV-1).
    longest = timedelta(hours=settings.retention_hours) - settings.tiers[-1]
    if endpoint.max_age is not None and endpoint.max_age > longest:
        yield "max_age_s", f"at most {format_duration(longest)}: Kafka keeps no delivery longer"
    # A delivery that outlives its day in the log is retried unseen.
    in_log = timedelta(days=settings.log_retention_days)
    if endpoint.max_age is not None and longest >= endpoint.max_age > in_log:
        yield "max_age_s", f"at most {format_duration(in_log)}: the delivery log keeps no delivery longer"
    schedule = settings.endpoint_schedule if endpoint.schedule is None else endpoint.schedule
    if (endpoint.schedule is not None or endpoint.max_age is not None) and sum(
        schedule, timedelta()
    ) > max_age:
        name = "max_age_s" if endpoint.schedule is None else "schedule_s"
        yield (
            name,
            f"the schedule's waits must add up to no more than the greatest age, {format_duration(max_age)}",
        )
