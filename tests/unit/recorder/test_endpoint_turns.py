"""What attempt records say of their endpoints: only attempts that were made say something."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from connectors.epoch import from_epoch_ms
from streams.recorder.endpoint_turns import CLOCKS_DIFFER, endpoint_turns
from tests.support.attempt_records import CREATED_AT_MS, an_entry

NOW = from_epoch_ms(CREATED_AT_MS + 1_000)


def said(ending: str, **changes: Any) -> list[tuple[str | None, int | None, bool]]:
    turns = endpoint_turns([an_entry(ending, **changes)], now=NOW)
    return [(turn.error, turn.http_status, turn.gone) for turn in turns]


@pytest.mark.parametrize(
    ("ending", "changes", "says"),
    [
        ("succeeded", {}, (None, 204, False)),
        ("retried", {}, ("answered 503 Service Unavailable", 503, False)),
        ("exhausted", {}, ("answered 500 Internal Server Error", 500, False)),
        ("rejected", {}, ("answered 410 Gone", 410, True)),
        ("rejected", {"status": 404, "code": "ENDPOINT_REJECTED"}, ("answered 404 Not Found", 404, False)),
        (
            "rejected",
            {"status": None, "code": "ENDPOINT_BLOCKED", "error": "no answer (address_blocked): 10.0.0.1"},
            ("no answer (address_blocked)", None, False),
        ),
        (
            "retried",
            {"status": None, "error": "no answer (connect_timeout): 192.0.2.1:443 gave none in 5 s"},
            ("no answer (connect_timeout)", None, False),
        ),
        ("retried", {"status": None, "error": "KeyError inside the worker"}, ("no answer", None, False)),
        ("retried", {"status": 999}, ("answered 999", 999, False)),
    ],
)
def test_an_attempt_says_how_its_endpoint_fares(
    ending: str, changes: dict[str, Any], says: tuple[str | None, int | None, bool]
) -> None:
    """Short and of our own words."""
    assert said(ending, **changes) == [says]


@pytest.mark.parametrize(
    ("ending", "changes"),
    [
        ("deferred", {}),
        ("deferred", {"next": "dead-letter", "code": "ENDPOINT_EXHAUSTED"}),
        ("cancelled", {}),
        ("interrupted", {}),
        ("retried", {"target": "handler:billing"}),
        (
            "rejected",
            {
                "status": None,
                "code": "EVENT_MALFORMED",
                "error": "no answer (request_invalid): a header is none that HTTP can carry",
            },
        ),
        ("retried", {"status": None, "error": "no answer (sender_closed): stopping"}),
    ],
)
def test_what_was_not_tried_says_nothing(ending: str, changes: dict[str, Any]) -> None:
    """Neither success nor failure: who is busy, disabled, cut off, or spoken for by a handler."""
    assert said(ending, **changes) == []


def test_neither_the_receivers_words_nor_an_address_are_kept() -> None:
    """INV-9: a redirect's target, an excerpt and an address dialled are in the record, and go no further."""
    told = endpoint_turns(
        [
            an_entry(
                "rejected",
                status=301,
                code="ENDPOINT_REJECTED",
                error="answered 301: redirects are not followed; it points to https://x.example/secret",
                excerpt="secret",
            ),
            an_entry("retried", status=None, error="no answer (connect_failed): secret.example refused"),
        ],
        now=NOW,
    )
    assert len(told) == 2
    assert "secret" not in str(told)


def test_an_attempt_from_the_future_is_not_believed() -> None:
    """A success in the year 9000 would make every failure before it count for nothing."""
    ahead = CLOCKS_DIFFER + timedelta(seconds=2)
    assert said("succeeded", started_at_ms=CREATED_AT_MS + ahead // timedelta(milliseconds=1)) == []
    assert said("succeeded", started_at_ms=CREATED_AT_MS + 1_000) == [(None, 204, False)]
