"""When an endpoint is warned of and when it is disabled: times passed in, no waiting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgres.endpoint_health import NOTICE, EndpointHealth, EndpointTurn, JudgedEndpoint
from streams.recorder import disabling
from streams.recorder.disabling import FRESH, Decision, Disable, Warn

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
PERIOD = timedelta(hours=120)
NEW = EndpointHealth(endpoint_id="ep_1", counted_from=BEGIN)


def a_turn(at: datetime, *, taken: bool = False, gone: bool = False) -> EndpointTurn:
    return EndpointTurn("ep_1", at, "1", None if taken else "answered 503", None if taken else 503, gone)


def decide(
    health: EndpointHealth,
    *,
    now: datetime,
    period: timedelta | None = PERIOD,
    changed_at: datetime = BEGIN,
    enabled: bool = True,
) -> Decision:
    endpoint = JudgedEndpoint(enabled=enabled, changed_at=changed_at, health=health)
    return disabling.decide(endpoint, now=now, period=period)


def judged(health: EndpointHealth, decision: Decision, at: datetime) -> EndpointHealth:
    """What the judge notes of it."""
    match decision:
        case Warn(warnings=warnings):
            first = health.warned_at if health.warnings_told else at
            return replace(health, warnings=warnings, warned_since=health.failing_since, warned_at=first)
        case Disable(reason=reason):
            return replace(health, disabled_reason=reason, disabled_at=at)
        case None:
            return health


def life(turns: list[EndpointTurn], *, period: timedelta | None = PERIOD) -> Iterator[tuple[float, Decision]]:
    """Each turn recorded as it happens: at which hour what was done."""
    health = NEW
    for turn in turns:
        health = health.after([turn])
        decision = decide(health, now=turn.at, period=period)
        health = judged(health, decision, turn.at)
        if decision is not None:
            yield (turn.at - BEGIN) / HOUR, decision


def failing(*hours: float) -> list[EndpointTurn]:
    return [a_turn(BEGIN + hour * HOUR) for hour in hours]


def test_five_days_of_nothing_but_failures() -> None:
    """Warned at a fifth, three fifths, nine tenths; disabled by the first failure after the whole period; once each."""
    assert list(life(failing(*range(1, 200)))) == [
        (25, Warn(1)),
        (73, Warn(2)),
        (109, Warn(3)),
        (121, Disable("failing")),
    ]


@pytest.mark.parametrize("period", [None, timedelta(0)])
def test_it_can_be_switched_off(period: timedelta | None) -> None:
    """0 hours: never, and no warning either. An endpoint that is gone is disabled all the same."""
    assert list(life(failing(*range(1, 500)), period=period)) == []
    gone = NEW.after([a_turn(BEGIN + HOUR, gone=True)])
    assert decide(gone, now=BEGIN + 9 * HOUR, period=period) == Disable("gone")


def test_one_success_begins_it_anew() -> None:
    """However long it has failed before; the warnings are told again."""
    turns = [*failing(*range(1, 120)), a_turn(BEGIN + 120 * HOUR, taken=True), *failing(*range(121, 300))]
    assert list(life(turns)) == [
        (25, Warn(1)),
        (73, Warn(2)),
        (109, Warn(3)),
        (145, Warn(1)),
        (193, Warn(2)),
        (229, Warn(3)),
        (241, Disable("failing")),
    ]


def test_an_endpoint_is_not_disabled_for_being_idle() -> None:
    """Time alone does nothing: only a failure that comes after the period does."""
    health = NEW.after(failing(1))
    assert decide(health, now=BEGIN + 1_000 * HOUR) is None


def test_nobody_is_disabled_without_notice() -> None:
    """Two failures a month apart are a month of nothing but failures; a tenth of the period is left to react."""
    assert list(life(failing(1, 700, 701, 711, 712, 713))) == [(700, Warn(3)), (712, Disable("failing"))]
    warned = judged(NEW.after(failing(1, 700)), Warn(3), BEGIN + 700 * HOUR)
    assert warned.disables_at(PERIOD) == BEGIN + 700 * HOUR + NOTICE * PERIOD


def test_a_recorder_that_catches_up_judges_nobody() -> None:
    """What it reads is old; a success that came since may stand in a partition that it has not read."""
    health = NEW.after(failing(*range(1, 30)))
    last = BEGIN + 29 * HOUR
    assert decide(health, now=last + FRESH) == Warn(1)
    assert decide(health, now=last + FRESH + timedelta(seconds=1)) is None


def test_gone_disables_at_once() -> None:
    """However old the record is: its worker doesn't ask that endpoint again."""
    health = NEW.after([a_turn(BEGIN + HOUR, gone=True), a_turn(BEGIN + 2 * HOUR, taken=True)])
    assert decide(health, now=BEGIN + 90 * HOUR) == Disable("gone")


def test_gone_says_nothing_of_an_endpoint_that_was_changed_since() -> None:
    """An attempt that began before the change met the endpoint as it was."""
    health = NEW.after([a_turn(BEGIN + HOUR, gone=True)])
    for changed_at in (BEGIN + HOUR, BEGIN + 2 * HOUR):
        assert decide(health, now=BEGIN + 3 * HOUR, changed_at=changed_at) is None
    anew = replace(health, counted_from=BEGIN + 2 * HOUR)
    assert decide(anew, now=BEGIN + 3 * HOUR) is None


def test_who_disabled_it_by_hand_hears_nothing() -> None:
    """It is sent nothing; late records of attempts that were under way neither warn nor give it a reason."""
    gone = NEW.after([*failing(*range(1, 130)), a_turn(BEGIN + 131 * HOUR, gone=True)])
    assert decide(gone, now=BEGIN + 131 * HOUR, enabled=False) is None


def test_what_is_disabled_is_judged_no_more() -> None:
    """Late records of attempts that were under way change nothing."""
    health = judged(NEW.after(failing(*range(1, 130))), Disable("failing"), BEGIN + 130 * HOUR)
    later = health.after([a_turn(BEGIN + 131 * HOUR, gone=True)])
    assert decide(later, now=BEGIN + 131 * HOUR) is None


@given(
    outcomes=st.lists(st.tuples(st.floats(0.01, 60), st.booleans()), max_size=60),
    hours=st.integers(1, 720),
)
def test_whoever_is_disabled_was_warned_and_failed_the_whole_period(
    outcomes: list[tuple[float, bool]], hours: int
) -> None:
    """Of any life: nothing was taken for the period before, a warning is a tenth of it old, each step is told once."""
    at, turns = BEGIN, []
    for wait, taken in outcomes:
        at += wait * HOUR
        turns.append(a_turn(at, taken=taken))
    period = hours * HOUR
    told: list[tuple[float, Decision]] = []
    for hour, decision in life(turns, period=period):
        if decision == Disable("failing"):
            moment = BEGIN + hour * HOUR
            good = [turn.at for turn in turns if turn.error is None and turn.at <= moment]
            bad = [turn.at for turn in turns if turn.error is not None and turn.at > max(good, default=BEGIN)]
            # Failing is known to the minute: it began within that of the first failure.
            assert moment - bad[0] > period - timedelta(minutes=1)
            since = max((told_at for told_at, one in told if one == Warn(1)), default=None)
            warned = [told_at for told_at, _ in told if since is None or told_at >= since]
            assert hour - warned[0] >= hours * NOTICE - 1e-6
        told.append((hour, decision))
    assert sum(isinstance(decision, Disable) for _, decision in told) <= 1
