"""Attempt records, read back: what the worker writes is read, and what can't be stored is refused by field."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.errors import RecordMalformed
from streams.recorder.entry import read_entry
from streams.records.attempt import Attempt
from streams.records.delivery import Delivery
from streams.records.outcome import Cancelled, Deferred, Failed, Interrupted, Outcome, Rejected, Succeeded
from streams.retry.policy import decide
from tests.support.attempt_records import CREATED_AT_MS, an_entry, fields_of, value_of
from tests.support.deliveries import ENDPOINT_POLICY, NOW_MS, any_delivery, default_tiers

_texts = st.text(st.characters(codec="utf-8"), max_size=40)
_statuses = st.none() | st.integers(100, 999)
any_outcome = st.one_of(
    st.builds(Succeeded, status=_statuses),
    st.builds(Failed, error=_texts, status=_statuses, excerpt=st.none() | _texts),
    st.builds(Rejected, code=st.just("ENDPOINT_REJECTED"), error=_texts, status=_statuses),
    st.just(Interrupted()),
    st.builds(Deferred, reason=_texts),
    st.builds(Cancelled, reason=_texts),
)


@given(delivery=any_delivery, outcome=any_outcome, attempt_id=st.uuids())
def test_what_a_worker_writes_is_read(delivery: Delivery, outcome: Outcome, attempt_id: UUID) -> None:
    """Every turn of every delivery whose event the outbox table would take is an entry, with the worker's own words."""
    attempt = Attempt(
        attempt_id=attempt_id,
        delivery=delivery,
        outcome=outcome,
        next_hop=decide(
            delivery,
            outcome,
            policy=ENDPOINT_POLICY,
            tiers=default_tiers(),
            now_ms=NOW_MS,
            random=lambda: 0.5,
        ),
        started_at_ms=NOW_MS,
        duration_ms=1.5,
    )
    if not 1970 <= delivery.event.created_at.year < 9000:
        with pytest.raises(RecordMalformed, match="event_created_at_ms"):
            read_entry(attempt.to_json())
        return
    row, delivered = read_entry(attempt.to_json()).attempt, read_entry(attempt.to_json()).delivery
    assert delivery.event.created_at - row.created_at < timedelta(milliseconds=1)
    assert (row.id, row.attempt, row.deferrals) == (str(attempt_id), delivery.attempt, delivery.deferrals)
    assert (delivered.event_id, delivered.target) == (str(delivery.event.id), str(delivery.target))
    assert row.replay_id == (delivery.replay_id or "")
    assert delivered.origin == str(delivery.origin)


@pytest.mark.parametrize(
    ("ending", "changes", "status", "attempts"),
    [
        ("succeeded", {}, "succeeded", 1),
        ("retried", {"attempt": 3}, "retrying", 3),
        ("interrupted", {}, "retrying", 1),
        ("deferred", {}, "pending", 0),
        ("deferred", {"attempt": 1, "deferrals": 4}, "pending", 0),
        ("deferred", {"attempt": 2}, "retrying", 1),
        ("exhausted", {"attempt": 8}, "failed", 8),
        ("rejected", {}, "failed", 1),
        ("deferred", {"attempt": 2, "next": "dead-letter", "code": "ENDPOINT_EXHAUSTED"}, "failed", 1),
        ("interrupted", {"next": "dead-letter"}, "failed", 1),
        ("cancelled", {"attempt": 2}, "cancelled", 1),
    ],
)
def test_where_a_delivery_stands_after_a_turn(
    ending: str, changes: dict[str, Any], status: str, attempts: int
) -> None:
    """The status, and how many attempts were made: a deferral and a cancellation are none."""
    row = an_entry(ending, **changes).delivery
    assert (row.status, row.attempts) == (status, attempts)


def test_all_records_of_a_delivery_find_one_row() -> None:
    """Attempts, replays and repetitions of one event and target; another target, or event, has another row."""
    first = an_entry("retried").delivery
    again = an_entry(
        attempt=2, attempt_id=str(UUID(int=1)), replay_id="r", started_at_ms=CREATED_AT_MS + 9
    ).delivery
    assert (first.created_at, first.id) == (again.created_at, again.id)
    assert an_entry(target="endpoint:ep_2").delivery.id != first.id
    assert an_entry(event_id=str(UUID(int=1))).delivery.id != first.id


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("attempt_id", None),
        ("attempt_id", "no-uuid"),
        ("event_id", 5),
        ("event_type", ""),
        ("event_type", "a\0b"),
        ("target", "x" * 700),
        ("origin", None),
        ("replay_id", ["r"]),
        ("event_created_at_ms", None),
        ("event_created_at_ms", -1),
        ("event_created_at_ms", 10**15),
        ("event_created_at_ms", 1.5),
        ("event_created_at_ms", True),
        ("started_at_ms", 10**15),
        ("next_attempt_at_ms", 10**15),
        ("duration_ms", -1),
        ("duration_ms", "12"),
        ("attempt", 10**10),
        ("attempt", 0),
        ("deferrals", -1),
        ("status", 10_000),
        ("error", {"secret": "x"}),
        ("outcome", "postponed"),
        ("next", "outbox.elsewhere"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_its_field(field: str, value: Any) -> None:
    """CASES 41: an unreadable record, or one of a newer version, names its field and quotes nothing (INV-9)."""
    with pytest.raises(RecordMalformed, match=field) as caught:
        read_entry(value_of("retried", **{field: value}))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [None, b"", b"null", b"[]", b"{", b"\xff", b"{}", b'{"error": "\\ud800"}', b"[" * 100_000],
)
def test_what_is_no_attempt_record_is_refused(value: bytes | None) -> None:
    """A tombstone, other JSON, half of it, a lone surrogate, and what would exhaust a parser."""
    with pytest.raises(RecordMalformed):
        read_entry(value)


def test_words_are_stored_as_far_as_postgres_can() -> None:
    """A NUL in a receiver's words is replaced, a long text cut: the attempt is on record all the same."""
    row = an_entry("retried", error="a\0b", excerpt="\0" * 5 + "é" * 2_000).attempt
    assert row.error == "a\ufffdb"
    assert row.excerpt is not None
    assert len(row.excerpt.encode()) <= 1024
    assert "\0" not in row.excerpt


def test_times_are_exact() -> None:
    """No millisecond is lost on the way: the row is found by its time."""
    row = an_entry(event_created_at_ms=1_999_999_999_999).attempt
    assert row.created_at == datetime(2033, 5, 18, 3, 33, 19, 999_000, tzinfo=UTC)
    assert fields_of()["event_created_at_ms"] == CREATED_AT_MS
