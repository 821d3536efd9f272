"""An endpoint's health: the same in whatever order, batches and repetitions its attempts are read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgres.endpoint_health import EndpointHealth, EndpointTurn
from connectors.postgres.failing_minutes import LONGEST_KNOWN, FailingMinutes, minute_of

BEGIN = datetime(2026, 11, 1, 12, 0, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
NEW = EndpointHealth(endpoint_id="ep_1", counted_from=BEGIN)

KINDS = ("taken", "failed", "failed", "gone")
#: Near each other and far apart, before the beginning too; several in one minute, some in one moment.
times = st.one_of(
    st.integers(-120, 600), st.integers(0, 40 * 86_400), st.sampled_from([0, 59, 60, 61, 31 * 86_400])
)


def a_turn(kind: str, after_s: float, number: int = 0) -> EndpointTurn:
    error = None if kind == "taken" else "answered 410 Gone" if kind == "gone" else "answered 503"
    return EndpointTurn(
        endpoint_id="ep_1",
        at=BEGIN + timedelta(seconds=after_s),
        attempt_id=f"{number:032x}",
        error=error,
        http_status=None if error is None else int(error.split()[1]),
        gone=kind == "gone",
    )


turns = st.lists(
    st.builds(a_turn, st.sampled_from(KINDS), times, st.integers(0, 10**6)),
    max_size=20,
    unique_by=lambda turn: turn.attempt_id,
)


def health_of(*batches: list[EndpointTurn]) -> EndpointHealth:
    health = NEW
    for batch in batches:
        health = health.after(batch)
    return health


def said(known: list[EndpointTurn]) -> tuple[object, ...]:
    """What the turns say, in the plainest words: all of them at hand, and sorted."""
    counted = sorted((turn for turn in known if turn.at > BEGIN), key=lambda turn: turn.place)
    taken = [turn.at for turn in counted if turn.error is None]
    failed = [turn for turn in counted if turn.error is not None]
    last = max(taken, default=None)
    bad = {minute_of(turn.at) for turn in failed if last is None or minute_of(turn.at) > minute_of(last)}
    bad = {minute for minute in bad if minute > max(bad) - LONGEST_KNOWN // MINUTE}
    since = None
    if bad:
        since = max(datetime(1970, 1, 1, tzinfo=UTC) + min(bad) * MINUTE, BEGIN)
    elif failed and (last is None or failed[-1].at > last):
        since = failed[-1].at
    gone = [turn.at for turn in failed if turn.gone]
    return (
        last,
        failed[-1] if failed else None,
        since,
        len(bad),
        max(gone, default=None),
    )


def held(health: EndpointHealth) -> tuple[object, ...]:
    signs = health.signs
    return (
        signs.last_success_at,
        signs.last_failure,
        health.failing_since,
        signs.failing.count,
        signs.gone_at,
    )


@given(known=turns, data=st.data())
def test_order_batches_and_repetitions_make_no_difference(
    known: list[EndpointTurn], data: st.DataObject
) -> None:
    """Any interleaving, any duplicates, cut into any batches: what is held is what one look at all of them says.

    So a recorder that is killed and reads again, two of them beside each other, and partitions of which one lags by
    days come to the same.
    """
    again = data.draw(st.lists(st.sampled_from(known), max_size=8)) if known else []
    shuffled = data.draw(st.permutations([*known, *again]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(shuffled)), max_size=4)))
    batches = [shuffled[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)]
    assert held(health_of(*batches)) == said(known)
    assert health_of(*batches) == health_of(known)


@given(
    one=st.sets(st.integers(0, 3 * LONGEST_KNOWN // MINUTE), max_size=30),
    other=st.sets(st.integers(0, 200), max_size=30),
    after=st.integers(0, 250),
)
def test_minutes_are_a_set(one: set[int], other: set[int], after: int) -> None:
    """Union, what is later, the count, and the written form are those of a set of numbers."""

    def numbers(minutes: FailingMinutes) -> set[int]:
        return {minutes.first + bit for bit in range(minutes.bits.bit_length()) if minutes.bits >> bit & 1}

    def known(every: set[int]) -> set[int]:
        return {minute for minute in every if minute > max(every) - LONGEST_KNOWN // MINUTE}

    first, second = FailingMinutes.of_minutes(one), FailingMinutes.of_minutes(other)
    both = first | second
    assert numbers(both) == known(one | other)
    assert both == second | first == both | first
    assert numbers(second.after(after)) == {minute for minute in other if minute > after}
    assert second.count == len(other)
    assert FailingMinutes.of_bytes(second.first, second.to_bytes()) == second


@pytest.mark.parametrize(
    ("batches", "state", "since_s"),
    [
        ([], "idle", None),
        ([[a_turn("taken", 60)]], "ok", None),
        ([[a_turn("failed", 10)]], "failing", 0),  # no earlier than it began to count
        ([[a_turn("taken", 60), a_turn("failed", 62)]], "failing", 62),  # in the minute of the last success
        ([[a_turn("failed", 62)], [a_turn("taken", 61)], [a_turn("failed", 60)]], "failing", 62),
        ([[a_turn("failed", 62), a_turn("taken", 63)]], "ok", None),
        ([[a_turn("taken", 60), a_turn("failed", 125)]], "failing", 90),
        ([[a_turn("failed", 600)], [a_turn("taken", 60)]], "failing", 570),
        # A success that lies among the failures, and comes last: what failed after it is known.
        ([[a_turn("failed", 600), a_turn("failed", 1_200)], [a_turn("taken", 660)]], "failing", 1_170),
        ([[a_turn("failed", 600), a_turn("failed", 1_200)], [a_turn("taken", 1_260)]], "ok", None),
        ([[a_turn("failed", -60), a_turn("taken", -30)]], "idle", None),  # before it began to count
    ],
)
def test_what_attempts_make_of_a_state(
    batches: list[list[EndpointTurn]], state: str, since_s: float | None
) -> None:
    """Failing since the first minute with a failure that comes after the last minute with a success."""
    health = health_of(*batches)
    assert health.state == state
    assert health.failing_since == (None if since_s is None else BEGIN + timedelta(seconds=since_s))


def test_five_days_of_failing_are_a_kilobyte() -> None:
    """The row stays small, however many attempts fail."""
    minutes = FailingMinutes.of_minutes(range(29_000_000, 29_000_000 + 5 * 24 * 60))
    assert len(minutes.to_bytes()) == 900
