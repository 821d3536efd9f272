"""Who should have got an event: only who surely was there, as it is now."""

from __future__ import annotations

from datetime import timedelta

import pytest

from connectors.postgres.stored_endpoint import StoredEndpoint
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.payload_filter import PayloadFilter
from connectors.webhook.secret import Secret
from outbox.event_filter import EventFilter
from outbox.handlers import Handlers
from streams.verify.expectation import HEARD_WITHIN, Expectation
from tests.support.deliveries import an_event
from tests.support.verified_event import BASE

LONG_AGO = BASE - timedelta(days=1)


def an_endpoint(
    name: str, *patterns: str, updated_at: object = LONG_AGO, enabled: bool = True, wants: object = None
) -> StoredEndpoint:
    endpoint = Endpoint(
        id=f"ep_{name}",
        url="https://example.com/hook",
        event_types=tuple(map(EventFilter, patterns)),
        secrets=(Secret.generate(),),
        created_at=LONG_AGO,
        enabled=enabled,
        payload_filter=None if wants is None else PayloadFilter.of(wants),
    )
    return StoredEndpoint(endpoint=endpoint, updated_at=updated_at)  # type: ignore[arg-type]


def expectation(*endpoints: StoredEndpoint, discard: bool = False) -> Expectation:
    return Expectation(endpoints, (), since=BASE, discard_unrouted=discard)


def test_an_endpoint_is_expected_from_a_minute_after_its_last_change() -> None:
    """By then every worker knew it; before, it may have been another, or none."""
    (target,) = expectation(an_endpoint("a", "order.*", updated_at=BASE)).targets(["order.paid", "user.left"])
    assert target == ("order.paid", "endpoint:ep_a", BASE + HEARD_WITHIN)


@pytest.mark.parametrize(
    "endpoint",
    [
        an_endpoint("a", "order.*", enabled=False),
        an_endpoint("a", "user.*"),
        an_endpoint("a", "*", wants={"total": [3]}),
    ],
)
def test_who_may_rightly_have_no_delivery_is_not_expected(endpoint: StoredEndpoint) -> None:
    """Disabled, subscribed to something else, or with an eye on the payload."""
    assert not [*expectation(endpoint).targets(["order.paid"])]


def test_a_test_event_is_expected_at_nobody() -> None:
    """It has one target, whatever is subscribed; and a reserved type is meant by its whole name alone."""
    assert not [*expectation(an_endpoint("a", "*")).targets(["endpoint.test", "endpoint.failing"])]
    assert [*expectation(an_endpoint("a", "endpoint.failing")).targets(["endpoint.failing"])]


def test_handlers_that_are_named_are_expected_all_the_time() -> None:
    """Whoever names them says that the workers had them."""
    handlers = Handlers()
    handlers.on("order.*", name="billing")(lambda _event: None)
    known = Expectation((), handlers, since=BASE, discard_unrouted=False)
    assert [*known.targets(["order.paid", "user.left"])] == [("order.paid", "handler:billing", BASE)]


def test_what_nobody_need_want_is_unwanted() -> None:
    """The outbox's own events; and all of them where the workers discard what nobody wants."""
    assert expectation().unwanted("endpoint.failing")
    assert not expectation().unwanted("order.paid")
    assert not expectation().unwanted("endpoint.test")
    assert expectation(discard=True).unwanted("order.paid")


def test_a_payload_filter_may_leave_an_event_to_nobody() -> None:
    """Unless it wants that one, and has been as it is for long enough."""
    wants, fresh = an_endpoint("a", "order.*", wants={"total": [3]}), BASE - HEARD_WITHIN / 2
    known = expectation(wants)
    other, mine = (
        an_event(type="order.paid", payload=payload, created_at=BASE)
        for payload in (b'{"total": 4}', b'{"total": 3}')
    )
    assert known.is_filtered("order.paid")
    assert not known.is_filtered("user.left")
    assert known.unwanted("order.paid", other)
    assert not known.unwanted("order.paid", mine)
    changed = expectation(an_endpoint("a", "order.*", wants={"total": [3]}, updated_at=fresh))
    assert changed.unwanted("order.paid", mine)
    assert not known.unwanted("endpoint.test", mine)
