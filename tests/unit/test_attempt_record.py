"""Attempt records: what the log of attempts says of a turn, and what it never holds."""

from collections.abc import MutableMapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.answer import Answer, NoAnswer, NoAnswerReason, Responded, Stage
from connectors.webhook.request import Request
from streams.dispatch.endpoint_target import EndpointTarget
from streams.dispatch.hops import records_after
from streams.log import log_attempt
from streams.records.attempt import Attempt
from streams.records.next_hop import DeadLetter, Done, NextHop, Retry
from streams.records.outcome import (
    Cancelled,
    Deferred,
    ErrorCode,
    Failed,
    Interrupted,
    Outcome,
    Rejected,
    Succeeded,
)
from streams.retry.policy import decide
from tests.support.deliveries import ENDPOINT_POLICY, NOW_MS, a_delivery, an_event, default_tiers
from tests.unit.webhook.records import NOW, SECRET, endpoint

PAYLOAD = b'{"card": "4111-1111-1111-1111"}'
RETRY = Retry(
    delivery=a_delivery(attempt=2, first_failed_at_ms=NOW_MS),
    topic="outbox.retry-1s",
    partition=2,
    due_at_ms=NOW_MS + 900,
    not_before_ms=None,
    error="down",
)


def an_attempt(outcome: Outcome, next_hop: NextHop, **changes: Any) -> Attempt:
    return Attempt(
        attempt_id=UUID(int=7),
        delivery=a_delivery(event=an_event(payload=PAYLOAD), **changes),
        outcome=outcome,
        next_hop=next_hop,
        started_at_ms=NOW_MS,
        duration_ms=12.5,
    )


def said(attempt: Attempt) -> dict[str, Any]:
    fields: dict[str, Any] = orjson.loads(attempt.to_json())
    return fields


def logged(attempt: Attempt) -> MutableMapping[str, Any]:
    with structlog.testing.capture_logs() as lines:
        log_attempt(attempt)
    assert len(lines) == 1
    return lines[0]


def test_a_failed_attempt_says_what_happened_and_what_follows() -> None:
    """Every attempt is a record: which event, which target, the count, the answer, and when it goes on."""
    failed = Failed(error="answered 503 Service Unavailable", status=503, excerpt="maintenance")
    assert said(an_attempt(failed, RETRY)) == {
        "attempt_id": "00000000-0000-0000-0000-000000000007",
        "event_id": "01890a5d-ac96-774b-bcce-b302099a8057",
        "event_type": "order.created",
        "event_created_at_ms": 1_772_368_200_123,
        "target": "endpoint:ep_1",
        "attempt": 1,
        "deferrals": 0,
        "origin": "outbox.events/3/1000",
        "replay_id": None,
        "started_at_ms": NOW_MS,
        "duration_ms": 12.5,
        "outcome": "failed",
        "status": 503,
        "error": "answered 503 Service Unavailable",
        "excerpt": "maintenance",
        "next": "outbox.retry-1s",
        "next_attempt_at_ms": NOW_MS + 900,
    }


@pytest.mark.parametrize(
    ("outcome", "next_hop", "told"),
    [
        (Succeeded(status=204), Done(), {"outcome": "succeeded", "status": 204, "next": "done"}),
        (Succeeded(), Done(), {"outcome": "succeeded", "status": None, "next": "done"}),
        (
            Rejected(code=ErrorCode.ENDPOINT_GONE, error="answered 410 Gone", status=410),
            DeadLetter(delivery=a_delivery(), code=ErrorCode.ENDPOINT_GONE, error="answered 410 Gone"),
            {"outcome": "rejected", "code": "ENDPOINT_GONE", "status": 410, "next": "dead-letter"},
        ),
        (
            Failed(error="down"),
            DeadLetter(delivery=a_delivery(), code=ErrorCode.ENDPOINT_EXHAUSTED, error="all used"),
            {"outcome": "failed", "code": "ENDPOINT_EXHAUSTED", "next": "dead-letter"},
        ),
        (Deferred(reason="busy"), RETRY, {"outcome": "deferred", "error": "busy", "next": "outbox.retry-1s"}),
        (Interrupted(), RETRY, {"outcome": "interrupted", "next": "outbox.retry-1s"}),
        (Cancelled(reason="deleted"), Done(), {"outcome": "cancelled", "error": "deleted", "next": "done"}),
    ],
)
def test_every_kind_of_turn_has_its_record(outcome: Outcome, next_hop: NextHop, told: dict[str, Any]) -> None:
    """Deferrals and cancellations are on record too: the log answers "why was it not sent?"."""
    assert told.items() <= said(an_attempt(outcome, next_hop)).items()


def test_a_wait_in_laps_tells_when_the_attempt_comes() -> None:
    """`next_attempt_at_ms` is the end of the whole wait, not of its first lap."""
    laps = Retry(
        delivery=a_delivery(),
        topic="outbox.retry-15m",
        partition=0,
        due_at_ms=NOW_MS + 900_000,
        not_before_ms=NOW_MS + 7_200_000,
        error="x",
    )
    assert said(an_attempt(Failed(error="x"), laps))["next_attempt_at_ms"] == NOW_MS + 7_200_000


async def attempted(answer: Answer) -> tuple[Attempt, Request]:
    """A whole attempt at an endpoint whose URL and secret must not be told."""
    requests: list[Request] = []

    class Sends:
        async def send(self, request: Request) -> Answer:
            requests.append(request)
            return answer

    target = EndpointTarget(
        "ep_1",
        sender=Sends(),
        policy=ENDPOINT_POLICY,
        concurrency=1,
        now=lambda: NOW,
        monotonic_s=lambda: 0.0,
    )
    target.endpoint = endpoint("https://user-4711.example/in?token=hush")
    delivery = a_delivery(event=an_event(payload=PAYLOAD))
    outcome = await target.attempt(delivery)
    next_hop = decide(
        delivery, outcome, policy=ENDPOINT_POLICY, tiers=default_tiers(), now_ms=NOW_MS, random=lambda: 0.5
    )
    attempt = Attempt(
        attempt_id=UUID(int=7),
        delivery=delivery,
        outcome=outcome,
        next_hop=next_hop,
        started_at_ms=NOW_MS,
        duration_ms=12.5,
    )
    return attempt, requests[0]


ANSWERS: list[Answer] = [
    Responded(
        status=status,
        retry_after="30",
        location="https://elsewhere.example/x",
        excerpt=b"\x00" * 1024,
        is_excerpt_whole=False,
        dialled="192.0.2.1:443",
        duration=timedelta(milliseconds=3),
    )
    for status in (204, 302, 410, 429, 503)
]
ANSWERS += [
    NoAnswer(reason=reason, stage=Stage.CONNECT, detail="192.0.2.1:443: x", duration=timedelta(0))
    for reason in NoAnswerReason
]


@pytest.mark.parametrize(
    "answer", ANSWERS, ids=lambda answer: str(getattr(answer, "status", None) or answer.reason)
)
async def test_no_record_and_no_log_line_holds_payload_secret_or_url(answer: Answer) -> None:
    """INV-9: neither the attempt's record nor its line in the log has them, whatever the receiver answered."""
    attempt, request = await attempted(answer)
    assert request.body == PAYLOAD
    line = "" if isinstance(attempt.outcome, Succeeded) else str(logged(attempt))
    for text in (attempt.to_json().decode(), line):
        for hidden in ("4111-1111", SECRET.reveal(), "whsec_", "user-4711", "token", "hush"):
            assert hidden not in text


def test_the_log_line_leaves_out_what_the_receiver_said() -> None:
    """INV-9: a receiver may quote the payload back at us; its words stand in the record only."""
    failed = Failed(error="answered 400", excerpt=PAYLOAD.decode())
    line = logged(an_attempt(failed, RETRY))
    assert "4111-1111" not in str(line)
    assert (line["event"], line["outcome"], line["next"]) == ("attempt", "failed", "outbox.retry-1s")


@given(
    excerpt=st.text(max_size=1_024),
    error=st.text(st.characters(), max_size=5_000),
    status=st.integers(100, 999),
)
def test_an_attempt_record_is_bounded_whatever_the_target_answers(
    excerpt: str, error: str, status: int
) -> None:
    """CASES 18: a huge or hostile answer never makes the record too large to be written, nor fails its encoding."""
    for outcome in (
        Failed(error=error, status=status, excerpt=excerpt),
        Rejected(code=ErrorCode.ENDPOINT_REJECTED, error=error, status=status, excerpt=excerpt),
    ):
        letter = DeadLetter(delivery=a_delivery(), code=ErrorCode.ENDPOINT_REJECTED, error=error)
        record, _ = records_after(an_attempt(outcome, letter))
        assert len(record.value or b"") < 16_384


async def test_an_answer_of_a_thousand_control_characters_is_bounded() -> None:
    """CASES 18: JSON escapes make the excerpt longer than it came; the record stays within a few KB."""
    attempt, _ = await attempted(ANSWERS[3])
    assert len(attempt.to_json()) < 8_192
