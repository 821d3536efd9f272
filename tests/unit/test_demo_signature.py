"""The demo's own check of signatures agrees with the standardwebhooks package, and refuses what it refuses."""

from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook

from demo.signature import is_signed

_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
_NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_BODY = '{"order": 1,  "customer": "Zoë"}'


def _headers(**changes: str) -> dict[str, str]:
    headers = {
        "webhook-id": "event-1",
        "webhook-timestamp": str(int(_NOW.timestamp())),
        "webhook-signature": Webhook(_SECRET).sign("event-1", _NOW, _BODY),
    }
    return headers | {name.replace("_", "-"): value for name, value in changes.items()}


def test_what_the_package_signs_is_signed() -> None:
    """Also when the right signature stands among others, as during a rotation."""
    headers = _headers()
    assert is_signed(headers, _BODY.encode(), secret=_SECRET, now_s=_NOW.timestamp())
    rotated = _headers(webhook_signature=f"v1,bm90IHRoaXMgb25l {headers['webhook-signature']}")
    assert is_signed(rotated, _BODY.encode(), secret=_SECRET, now_s=_NOW.timestamp())


@pytest.mark.parametrize(
    ("headers", "body", "later_s"),
    [
        (_headers(), b'{"order": 1, "customer": "Zo\xc3\xab"}', 0),
        (_headers(webhook_id="event-2"), _BODY.encode(), 0),
        (_headers(webhook_timestamp="1"), _BODY.encode(), 0),
        (_headers(webhook_timestamp=""), _BODY.encode(), 0),
        (_headers(webhook_signature=""), _BODY.encode(), 0),
        (_headers(), _BODY.encode(), 301),
        ({}, _BODY.encode(), 0),
    ],
)
def test_anything_else_is_not(headers: dict[str, str], body: bytes, later_s: int) -> None:
    """One byte less, another id or time, no signature, or an old one: not signed."""
    assert not is_signed(headers, body, secret=_SECRET, now_s=_NOW.timestamp() + later_s)


def test_another_secret_is_refused() -> None:
    """A signature made with another key."""
    other = "whsec_" + "A" * 32
    assert not is_signed(_headers(), _BODY.encode(), secret=other, now_s=_NOW.timestamp())
