"""The settings that say what there is around the processes: servers, topics, who may use the API.

Place in the data's way: none of it; the first of the `Fields` (fields.py), in the order in which they are shown.
"""

from __future__ import annotations

from pydantic import SecretStr
from pydantic_settings import BaseSettings

from streams.settings.declaring import (
    DATABASE,
    ApiTokens,
    DatabaseUrl,
    EncryptionKeys,
    HttpUrl,
    ListenAddress,
    ModulePath,
    Servers,
    declare,
)

__all__ = ["InstallationFields"]


class InstallationFields(BaseSettings):
    """Each valid by itself."""

    # Where things are
    database_url: DatabaseUrl = declare(
        SecretStr(""),
        "The application's Postgres: setup, doctor, recorder, api, append, endpoints, deliveries, replay, "
        "dead-letters, prune; workers need none.",
        "every deployment",
        DATABASE,
    )
    connector_database_url: DatabaseUrl = declare(
        SecretStr(""),
        "The same database as Debezium reaches and logs in to it; unset: OUTBOX_DATABASE_URL.",
        "who runs Connect elsewhere (another network, a role with REPLICATION only)",
        DATABASE,
    )
    kafka_bootstrap_servers: Servers = declare(
        "", "The Kafka brokers.", "every deployment", "host:port, several separated by commas"
    )
    connect_url: HttpUrl = declare(
        "",
        "Kafka Connect's REST address: setup installs the connector there, the scheduler watches it.",
        "every deployment",
        "an http or https address",
    )
    handlers: ModulePath = declare(
        "",
        "The module whose import registers the application's handlers, found from the current folder or PYTHONPATH.",
        "every application with handlers",
        "a dotted module path, like shop.handlers",
    )

    # The admin API, and what endpoints keep secret
    api_listen: ListenAddress = declare(
        "127.0.0.1:8090",
        "Where the admin API listens. Beyond loopback it needs OUTBOX_API_TOKENS, and TLS in front of it.",
        "every deployment with the API (0.0.0.0:8090 in a container)",
        "host:port",
    )
    api_tokens: ApiTokens = declare(
        SecretStr(""),
        "Who may use the API: the hashes of bearer tokens. `outbox token` makes one, and its entry.",
        "every deployment with the API",
        "name:scope:hash, several separated by commas, with a scope of read or write",
    )
    encryption_keys: EncryptionKeys = declare(
        SecretStr(""),
        "The keys that endpoints' secrets and header values are sealed with, for API, workers and `outbox endpoints`. "
        "The first seals, all of them open. `outbox endpoints new-key` makes one.",
        "every deployment with webhooks",
        "id:base64 of 32 bytes each, the current one first, separated by commas; or plain, to keep secrets unsealed",
    )

    # Topics
    partitions: int = declare(
        6,
        "Partitions of outbox.events and outbox.redelivery: the most workers that can share the work.",
        "who sizes the deployment; it can grow but never shrink",
        ge=1,
        le=1_000,
    )
    lanes: int = declare(
        6,
        "Partitions of each retry topic: each is one fixed delay, and together they are the jitter.",
        "who sizes the deployment; it can grow but never shrink",
        ge=1,
        le=64,
    )
    replication_factor: int = declare(
        1, "Copies of each topic.", "every production deployment (3)", ge=1, le=15
    )
    min_insync_replicas: int = declare(
        1,
        "Copies that must have a record before it counts as written.",
        "every production deployment (2)",
        ge=1,
        le=15,
    )
    retention_hours: int = declare(
        168,
        "How long Kafka keeps events, retries and attempts: the longest outage that loses nothing.",
        "who sizes the brokers' disks",
        ge=1,
        le=87_600,
    )
    dead_letter_retention_hours: int = declare(
        720,
        "How long dead letters stay, for somebody to replay them.",
        "who answers for them",
        ge=1,
        le=87_600,
    )
    connector_poll_interval_ms: int = declare(
        5,
        "How long Debezium waits when there is nothing new: lower is faster, and costs idle CPU in Connect.",
        "who would rather have 10 ms more latency than a tenth of a core in use",
        ge=1,
        le=5_000,
    )
