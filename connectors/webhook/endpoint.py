"""An endpoint: where a customer wants which events, and with which secrets they are signed.

Place in the data's way: kept in Postgres, carried as JSON on `outbox.endpoints`, held in every worker's
memory, matched against each event's type, and handed to the sender. Invariants: an `Endpoint` that exists is
valid (its URL can be sent to, it has a secret); neither secrets nor the URL's path and query show in its
`repr` (INV-9). It must not know how many attempts there were: that is in the delivery's record.

The JSON holds the secrets and the values of the static headers, sealed where there is a key ring, plain where there
is none: it belongs on `outbox.endpoints` and nowhere else.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Self

import orjson

from connectors.webhook.endpoint_fields import (
    flag,
    optional_count,
    optional_number,
    optional_seconds,
    optional_waits,
    text,
    text_map,
    texts,
)
from connectors.webhook.errors import (
    EndpointInvalidError,
    PayloadFilterInvalidError,
    SecretInvalidError,
    UrlInvalidError,
)
from connectors.webhook.event_payload import EventPayload
from connectors.webhook.key_ring import NO_KEYS, KeyRing
from connectors.webhook.payload_filter import PayloadFilter
from connectors.webhook.secret import Secret
from connectors.webhook.static_headers import StaticHeaders, header_place, stored_headers
from connectors.webhook.url import WebhookUrl
from outbox.errors import OutboxError
from outbox.event import Event
from outbox.event_filter import EventFilter

__all__ = [
    "ENDPOINT_ID",
    "LONGEST_WAIT",
    "MAX_CONCURRENCY",
    "MAX_RATE_PER_S",
    "MAX_SECRETS",
    "MAX_WAITS",
    "MIN_RATE_PER_S",
    "NOT_STORABLE",
    "Endpoint",
]

MAX_SECRETS: Final = 8
"""More signatures than this in one header would only serve a mistake; a rotation needs two."""

MAX_WAITS: Final = 100
"""Waits between attempts, and so one fewer than attempts."""

LONGEST_WAIT: Final = timedelta(days=365)

MAX_CONCURRENCY: Final = 1_000

MIN_RATE_PER_S: Final = 0.00001
"""About one a day."""

MAX_RATE_PER_S: Final = 10_000.0

ENDPOINT_ID: Final = re.compile(r"ep_[A-Za-z0-9_-]{1,64}")
"""What an endpoint's id is, whole."""

NOT_STORABLE: Final = re.compile(r"[\0\ud800-\udfff]")
"""What Postgres can't store in a text."""

_ID_RULE: Final = "an endpoint's id is ep_ and up to 64 letters, digits, _ or -"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One receiver of webhooks.

    Attributes:
        secrets: newest first. The first has no end; others may.
        headers: sent with each request, by name.
        timeout: of one attempt, where it is shorter than the sender's own; None: the sender's.
        schedule: the waits between attempts; None: the worker's.
        max_age: how old a delivery may become; None: the worker's.
        concurrency: attempts under way at once, over all workers; None: the worker's, for each of them.
        rate_limit_per_s: attempts a second, over all workers; None: no limit.
        payload_filter: which payloads it wants, beside the types; None: all.
        target: `url` taken apart, once.

    Raises:
        EndpointInvalidError: names the endpoint and the field.
    """

    id: str
    url: str = field(repr=False)
    event_types: tuple[EventFilter, ...]
    secrets: tuple[Secret, ...] = field(repr=False)
    enabled: bool = True
    description: str = ""
    created_at: datetime
    headers: StaticHeaders = field(default=(), repr=False)
    timeout: timedelta | None = None
    schedule: tuple[timedelta, ...] | None = None
    max_age: timedelta | None = None
    concurrency: int | None = None
    rate_limit_per_s: float | None = None
    payload_filter: PayloadFilter | None = None
    target: WebhookUrl = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not ENDPOINT_ID.fullmatch(self.id):
            raise EndpointInvalidError(_ID_RULE)
        try:
            object.__setattr__(self, "target", WebhookUrl.parse(self.url))
        except UrlInvalidError as error:
            raise EndpointInvalidError(f"endpoint {self.id}: url: {error}") from error
        if not self.event_types:
            raise EndpointInvalidError(
                f"endpoint {self.id}: event_types is empty; use * to subscribe to all events"
            )
        if not 1 <= len(self.secrets) <= MAX_SECRETS:
            raise EndpointInvalidError(
                f"endpoint {self.id}: {len(self.secrets)} secrets; an endpoint has 1 to {MAX_SECRETS}"
            )
        if self.secrets[0].expires_at is not None:
            raise EndpointInvalidError(
                f"endpoint {self.id}: the newest secret has an end; only older ones may"
            )
        self._check_times()
        self._check_limits()
        if NOT_STORABLE.search(self.description):
            raise EndpointInvalidError(
                f"endpoint {self.id}: description holds a NUL or half of a surrogate pair, which can't be stored"
            )
        if self.created_at.tzinfo is None:
            raise EndpointInvalidError(f"endpoint {self.id}: created_at has no time zone")

    def _check_times(self) -> None:
        for name, length in (("timeout", self.timeout), ("max_age", self.max_age)):
            if length is not None and not timedelta() < length <= LONGEST_WAIT:
                raise EndpointInvalidError(f"endpoint {self.id}: {name} is not above 0 and at most 365 days")
        waits = self.schedule or ()
        if len(waits) > MAX_WAITS or not all(timedelta() < wait <= LONGEST_WAIT for wait in waits):
            raise EndpointInvalidError(
                f"endpoint {self.id}: schedule is not up to {MAX_WAITS} waits above 0 and of at most 365 days"
            )

    def _check_limits(self) -> None:
        if self.concurrency is not None and not 1 <= self.concurrency <= MAX_CONCURRENCY:
            raise EndpointInvalidError(
                f"endpoint {self.id}: concurrency is not a whole number from 1 to {MAX_CONCURRENCY}"
            )
        if (
            self.rate_limit_per_s is not None
            and not MIN_RATE_PER_S <= self.rate_limit_per_s <= MAX_RATE_PER_S
        ):
            raise EndpointInvalidError(
                f"endpoint {self.id}: rate_limit_per_s is not from {MIN_RATE_PER_S:g} to {MAX_RATE_PER_S:g}"
            )

    def wants(self, event: Event) -> bool:
        """Whether this event is for this endpoint, by its type and its payload. `enabled` is another question."""
        return self.subscribes_to(event.type) and self.wants_payload(EventPayload(event))

    def wants_payload(self, payload: EventPayload) -> bool:
        """As `wants`, where the type is known to be wanted. One `EventPayload` for all endpoints is read once."""
        return self.payload_filter is None or self.payload_filter.matches(payload.json())

    def subscribes_to(self, event_type: str) -> bool:
        """Whether an event of this type is for this endpoint. `enabled` is another question."""
        return any(event_filter.matches(event_type) for event_filter in self.event_types)

    def signing_secrets(self, at: datetime) -> tuple[Secret, ...]:
        """The secrets that sign at that time: those that have no end, or have not come to it."""
        if len(self.secrets) == 1:
            return self.secrets
        return tuple(secret for secret in self.secrets if secret.signs_at(at))

    @property
    def missing_key_ids(self) -> tuple[str, ...]:
        """The ids of the encryption keys that this process lacks for sending to this endpoint."""
        missing = {secret.missing_key_id for secret in self.secrets}
        missing |= {value.missing_key_id for _, value in self.headers}
        return tuple(sorted(key_id for key_id in missing if key_id is not None))

    def is_current(self, keys: KeyRing) -> bool:
        """Whether all that is secret is stored the way the ring would store it now."""
        return all(secret.is_current(keys) for secret in self.secrets) and all(
            value.is_current(keys) for _, value in self.headers
        )

    def to_json(self, keys: KeyRing = NO_KEYS) -> bytes:
        """Give the record as it stands on `outbox.endpoints`. What is secret is sealed, if there is a key.

        A field that is not set is left out: workers of an earlier version read the record as they did.
        """
        record: dict[str, object] = {
            "id": self.id,
            "url": self.url,
            "event_types": [event_filter.pattern for event_filter in self.event_types],
            "secrets": self.secret_records(keys),
            "enabled": self.enabled,
            "description": self.description,
            "created_at": self.created_at.isoformat(),
        }
        if self.headers:
            record["headers"] = self.header_records(keys)
        if self.timeout is not None:
            record["timeout_s"] = self.timeout.total_seconds()
        if self.schedule is not None:
            record["schedule_s"] = [wait.total_seconds() for wait in self.schedule]
        if self.max_age is not None:
            record["max_age_s"] = self.max_age.total_seconds()
        if self.concurrency is not None:
            record["concurrency"] = self.concurrency
        if self.rate_limit_per_s is not None:
            record["rate_limit_per_s"] = self.rate_limit_per_s
        if self.payload_filter is not None:
            record["payload_filter"] = self.payload_filter.pattern
        return orjson.dumps(record)

    def secret_records(self, keys: KeyRing) -> list[str]:
        """The secrets as they are stored."""
        return [secret.record(keys, owner=self.id) for secret in self.secrets]

    def header_records(self, keys: KeyRing) -> dict[str, str]:
        """The static headers as they are stored."""
        return {
            name: value.record(keys, bound_to=header_place(self.id, name)) for name, value in self.headers
        }

    @classmethod
    def from_json(cls, record_text: bytes, keys: KeyRing = NO_KEYS) -> Self:
        """Read a record of `outbox.endpoints`. Unknown fields are left out (a newer version's).

        What is sealed is opened when it is used: a record can be read without its key.

        Raises:
            EndpointInvalidError: the text is no JSON object, or a field is missing or wrong; names endpoint
            and field.
        """
        # `from None` here and below: the errors underneath quote what they read, and that may be a secret.
        try:
            record = orjson.loads(record_text)
        except orjson.JSONDecodeError:
            raise EndpointInvalidError("an endpoint record is not JSON") from None
        if not isinstance(record, dict):
            raise EndpointInvalidError("an endpoint record is not a JSON object")
        endpoint_id = text(record, "id", "(without an id)")
        if not ENDPOINT_ID.fullmatch(endpoint_id):
            # Before it names the endpoint in a message: what is no id may be anything, of any length.
            raise EndpointInvalidError(_ID_RULE)
        try:
            secrets = tuple(
                Secret.stored(secret, ring=keys, owner=endpoint_id)
                for secret in texts(record, "secrets", endpoint_id)
            )
            event_types = tuple(EventFilter(pattern) for pattern in texts(record, "event_types", endpoint_id))
            created_at = datetime.fromisoformat(text(record, "created_at", endpoint_id))
            pattern = record.get("payload_filter")
            payload_filter = None if pattern is None else PayloadFilter.of(pattern)
        except (SecretInvalidError, PayloadFilterInvalidError, OutboxError) as error:
            raise EndpointInvalidError(f"endpoint {endpoint_id}: {error}") from None
        except ValueError as error:
            if isinstance(error, EndpointInvalidError):
                raise
            raise EndpointInvalidError(
                f"endpoint {endpoint_id}: created_at is not an ISO 8601 time"
            ) from None
        return cls(
            id=endpoint_id,
            url=text(record, "url", endpoint_id),
            event_types=event_types,
            secrets=secrets,
            enabled=flag(record, "enabled", endpoint_id),
            description=text(record, "description", endpoint_id),
            created_at=created_at,
            headers=stored_headers(text_map(record, "headers", endpoint_id), ring=keys, owner=endpoint_id),
            timeout=optional_seconds(record, "timeout_s", endpoint_id),
            schedule=optional_waits(record, "schedule_s", endpoint_id),
            max_age=optional_seconds(record, "max_age_s", endpoint_id),
            concurrency=optional_count(record, "concurrency", endpoint_id),
            rate_limit_per_s=optional_number(record, "rate_limit_per_s", endpoint_id),
            payload_filter=payload_filter,
        )
