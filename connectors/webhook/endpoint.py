"""An endpoint: where a customer wants which events, and with which secrets they are signed.

Place in the data's way: kept in Postgres, carried as JSON on `outbox.endpoints`, held in every worker's
memory, matched against each event's type, and handed to the sender. Invariants: an `Endpoint` that exists is
valid (its URL can be sent to, it has a secret); neither secrets nor the URL's path and query show in its
`repr` (INV-9). It must not know how many attempts there were: that is in the delivery's record.

The JSON holds the secrets, so it belongs on `outbox.endpoints` and nowhere else.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Self, cast

import orjson

from connectors.webhook.errors import EndpointInvalidError, SecretInvalidError, UrlInvalidError
from connectors.webhook.secret import Secret
from connectors.webhook.url import WebhookUrl
from outbox.errors import OutboxError
from outbox.event_filter import EventFilter

__all__ = ["MAX_SECRETS", "Endpoint"]

MAX_SECRETS: Final = 8
"""More signatures than this in one header would only serve a mistake; a rotation needs two."""

_ID: Final = re.compile(r"ep_[A-Za-z0-9_-]{1,64}")
_ID_RULE: Final = "an endpoint's id is ep_ and up to 64 letters, digits, _ or -"
_NO_TEXT: Final = re.compile(r"[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One receiver of webhooks. `secrets` are newest first; `target` is `url` taken apart, once.

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
    target: WebhookUrl = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
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
        if _NO_TEXT.search(self.description):
            raise EndpointInvalidError(
                f"endpoint {self.id}: description holds a NUL or half of a surrogate pair, which can't be stored"
            )
        if self.created_at.tzinfo is None:
            raise EndpointInvalidError(f"endpoint {self.id}: created_at has no time zone")

    def subscribes_to(self, event_type: str) -> bool:
        """Whether an event of this type is for this endpoint. `enabled` is another question."""
        return any(event_filter.matches(event_type) for event_filter in self.event_types)

    def to_json(self) -> bytes:
        """Give the record as it stands on `outbox.endpoints`. It holds the secrets."""
        return orjson.dumps(
            {
                "id": self.id,
                "url": self.url,
                "event_types": [event_filter.pattern for event_filter in self.event_types],
                "secrets": [secret.reveal() for secret in self.secrets],
                "enabled": self.enabled,
                "description": self.description,
                "created_at": self.created_at.isoformat(),
            }
        )

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Read a record of `outbox.endpoints`. Unknown fields are left out (a newer version's).

        Raises:
            EndpointInvalidError: the text is no JSON object, or a field is missing or wrong; names endpoint
            and field.
        """
        # `from None` here and below: the errors underneath quote what they read, and that may be a secret.
        try:
            record = orjson.loads(text)
        except orjson.JSONDecodeError:
            raise EndpointInvalidError("an endpoint record is not JSON") from None
        if not isinstance(record, dict):
            raise EndpointInvalidError("an endpoint record is not a JSON object")
        endpoint_id = _text(record, "id", "(without an id)")
        if not _ID.fullmatch(endpoint_id):
            # Before it names the endpoint in a message: what is no id may be anything, of any length.
            raise EndpointInvalidError(_ID_RULE)
        try:
            secrets = tuple(Secret.parse(text) for text in _texts(record, "secrets", endpoint_id))
            event_types = tuple(
                EventFilter(pattern) for pattern in _texts(record, "event_types", endpoint_id)
            )
            created_at = datetime.fromisoformat(_text(record, "created_at", endpoint_id))
        except (SecretInvalidError, OutboxError) as error:
            raise EndpointInvalidError(f"endpoint {endpoint_id}: {error}") from None
        except ValueError as error:
            if isinstance(error, EndpointInvalidError):
                raise
            raise EndpointInvalidError(
                f"endpoint {endpoint_id}: created_at is not an ISO 8601 time"
            ) from None
        return cls(
            id=endpoint_id,
            url=_text(record, "url", endpoint_id),
            event_types=event_types,
            secrets=secrets,
            enabled=_flag(record, "enabled", endpoint_id),
            description=_text(record, "description", endpoint_id),
            created_at=created_at,
        )


def _text(record: Mapping[str, object], name: str, endpoint_id: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise EndpointInvalidError(f"endpoint {endpoint_id}: {name} is missing or not a text")
    return value


def _texts(record: Mapping[str, object], name: str, endpoint_id: str) -> list[str]:
    value = record.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise EndpointInvalidError(f"endpoint {endpoint_id}: {name} is missing or not a list of texts")
    return cast("list[str]", value)


def _flag(record: Mapping[str, object], name: str, endpoint_id: str) -> bool:
    value = record.get(name)
    if not isinstance(value, bool):
        raise EndpointInvalidError(f"endpoint {endpoint_id}: {name} is missing or not true or false")
    return value
