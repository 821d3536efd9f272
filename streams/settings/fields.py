"""What can be set: each setting's name, default, limits, meaning, and who would change it.

Place in the data's way: none of it; `Settings` (model.py) is this table with the checks between settings.
Sources, strongest first: keywords, `OUTBOX_…` variables, the TOML file that `OUTBOX_CONFIG` names (flat, the
field's name as the key), the defaults here. A field is here only because somebody would set it. Units are in
the names; a duration that stands in a list is written like "15m". An empty text means unset: which commands
need which address is said where they load settings.
"""

from __future__ import annotations

import os
from typing import Literal

from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from streams.settings.declaring import (
    DURATIONS,
    Durations,
    MetricsAddress,
    Networks,
    declare,
    seconds,
)
from streams.settings.installation_fields import InstallationFields

__all__ = ["CONFIG_VARIABLE", "PREFIX", "Fields", "variable"]

PREFIX = "OUTBOX_"
CONFIG_VARIABLE = "OUTBOX_CONFIG"


def variable(field: str) -> str:
    """Name the environment variable of a field.

    >>> variable("window")
    'OUTBOX_WINDOW'
    """
    return PREFIX + field.upper()


class Fields(InstallationFields):
    """The settings, each valid by itself. What it stands on comes first, and where that is."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore", hide_input_in_errors=True
    )

    # Retries
    tiers: Durations = declare(
        seconds("1s", "2s", "4s", "8s", "16s", "32s", "1m", "2m", "4m", "8m", "15m"),
        "The waits that have a retry topic each, ascending; a longer wait takes laps in the last.",
        "who needs a finer or longer ladder",
        DURATIONS,
        max_length=32,
    )
    handler_base_delay_s: float = declare(
        1.0,
        "The wait before a handler's second attempt; it doubles each time. The jitter makes it 0.5 to 1.0 of that.",
        "who knows the handlers",
        gt=0,
        le=3_600,
    )
    handler_max_delay_s: float = declare(
        900.0,
        "The longest wait between a handler's attempts, before the jitter (0.5 to 1.0 of it).",
        "who knows the handlers",
        gt=0,
        le=86_400,
    )
    handler_max_attempts: int = declare(
        8,
        "Attempts of a handler before its delivery is a dead letter.",
        "who knows the handlers",
        ge=1,
        le=1_000,
    )
    handler_max_age_hours: float = declare(
        24.0,
        "Age at which a handler's delivery is a dead letter, whatever its attempts.",
        "who knows until when an event is worth handling",
        gt=0,
        le=8_760,
    )
    endpoint_schedule: Durations = declare(
        seconds("5s", "5m", "30m", "2h", "5h", "10h", "14h", "20h", "24h"),
        "The waits between an endpoint's attempts, one fewer than attempts. The jitter makes each 0.5 to 1.0 of it.",
        "who promises the customers a schedule",
        DURATIONS,
        max_length=100,
    )
    endpoint_max_age_hours: float = declare(
        96.0,
        "Age at which an endpoint's delivery is a dead letter, throttled and deferred time included.",
        "who promises the customers a schedule",
        gt=0,
        le=8_760,
    )
    unrouted: Literal["dead-letter", "discard"] = declare(
        "dead-letter",
        "What becomes of an event that no handler and no endpoint wants.",
        "a deployment with webhooks only, whose customers choose what they receive (discard)",
    )

    # One attempt at an endpoint
    endpoint_connect_timeout_s: float = declare(
        5.0, "Limit for name lookup, TCP and TLS together.", "who knows the endpoints", gt=0, le=300
    )
    endpoint_first_byte_timeout_s: float = declare(
        10.0,
        "Limit from the request's end to the response's first byte.",
        "who knows the endpoints",
        gt=0,
        le=300,
    )
    endpoint_timeout_s: float = declare(
        15.0, "Limit for the whole attempt.", "who knows the endpoints", gt=0, le=300
    )
    endpoint_concurrency: int = declare(
        32,
        "Attempts under way at once to one endpoint, from one worker.",
        "who protects endpoints",
        ge=1,
        le=10_000,
    )
    endpoint_allowed_networks: Networks = declare(
        (),
        "Networks endpoints may be in although they are not public; elsewhere private addresses are refused.",
        "development, and deployments whose endpoints are internal",
        "networks separated by commas, like 10.1.0.0/16,127.0.0.0/8",
    )
    endpoint_plain_http: Literal["refuse", "allow"] = declare(
        "refuse",
        "Whether http:// URLs are sent to at public addresses too; without TLS everybody on the way reads along.",
        "deployments whose customers have no TLS",
        "refuse or allow",
    )

    endpoint_disable_after_hours: int = declare(
        120,
        "An endpoint that does nothing but fail for so long is disabled, after warnings; 0: never. Recorder, API.",
        "who promises the customers how long their endpoints may be down",
        ge=0,
        le=720,
    )

    # A worker's pace and its end
    window: int = declare(
        1_000, "Deliveries in flight in one worker.", "who trades memory for throughput", ge=1, le=100_000
    )
    park_wait_s: float = declare(
        1.0,
        "Estimated wait for an endpoint above which its deliveries are parked, so that others don't wait.",
        "who tunes fairness between endpoints",
        gt=0,
        le=60,
    )
    commit_interval_ms: int = declare(
        250,
        "Time between commits: how much a crash may repeat (INV-8).",
        "who trades broker load for fewer repeats",
        ge=10,
        le=250,
    )
    session_timeout_s: float = declare(
        6.0,
        "Silence after which the group gives a dead worker's partitions away.",
        "who has long pauses (6 is the least that brokers take by default)",
        ge=6,
        le=15,
    )
    rebalance_drain_limit_s: float = declare(
        5.0,
        "How long attempts in flight may go on when their partition moves away.",
        "who trades a longer rebalance for fewer repeats",
        ge=0,
        le=15,
    )
    drain_limit_s: float = declare(
        20.0,
        "How long attempts in flight may go on after SIGTERM; keep it below the pod's grace period.",
        "who sets terminationGracePeriodSeconds",
        gt=0,
        le=3_600,
    )

    # What dies
    flood_share: float = declare(
        0.5,
        "When more than this share of what ends would be dead letters, and so at more than this share of the targets, "
        "it is held and tried again instead; 1: never.",
        "who would rather redrive (higher), or whose targets depend on each other (lower)",
        gt=0,
        le=1,
    )
    flood_window_s: float = declare(
        60.0,
        "The time over which that share is looked at, and for which what is held waits at least.",
        "who has bursts of dead letters that are meant",
        ge=1,
        le=3_600,
    )
    flood_hold_hours: float = declare(
        12.0,
        "How long a delivery may be held in all; then it is a dead letter after all.",
        "who knows how long an outage of theirs may take to be noticed and ended",
        gt=0,
        le=168,
    )

    # The delivery log
    log_retention_days: int = declare(
        30,
        "How many days the delivery log in Postgres keeps a delivery, counted from its event's commit.",
        "who sizes the database, or promises customers how far back they can look",
        ge=1,
        le=3_650,
    )

    # The outbox table
    row_retention_hours: int = declare(
        168,
        "How long `outbox prune` leaves an outbox row in the table, counted from its `created_at`.",
        "who sizes the database, or replays and verifies from Postgres",
        ge=1,
        le=87_600,
    )

    # Metrics
    metrics_listen: MetricsAddress = declare(
        "",
        "Where a worker serves its metrics to Prometheus, under `/metrics`; empty: nowhere.",
        "every deployment with Prometheus (0.0.0.0:9464 in a container)",
        "host:port",
    )

    # Logs
    log_format: Literal["console", "json"] = declare(
        "console", "How log lines are written.", "every deployment that collects logs (json)"
    )
    log_level: Literal["debug", "info", "warning", "error"] = declare(
        "info", "The least severe lines that are written.", "who looks for a fault"
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic passes it
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic passes it
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read keywords, then the environment, then the TOML file; no .env file and no secrets folder."""
        path = os.environ.get(CONFIG_VARIABLE)
        file = (TomlConfigSettingsSource(settings_cls, toml_file=path),) if path else ()
        return (init_settings, env_settings, *file)
