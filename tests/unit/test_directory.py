"""The directory: who gets an event, as handlers and endpoints are now."""

from dataclasses import replace
from typing import Any

from connectors.webhook.answer import Answer
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.payload_filter import PayloadFilter
from connectors.webhook.request import Request
from outbox.event import Event
from outbox.handlers import Handlers
from streams.dispatch.directory import Directory
from streams.dispatch.endpoint_target import EndpointTarget
from streams.dispatch.handler_calls import HandlerCalls
from streams.dispatch.handler_target import HandlerTarget
from streams.dispatch.share import Share
from streams.dispatch.target import Target
from streams.records.outcome import Cancelled, Deferred
from streams.records.target import TEST_EVENT_TYPE, TargetName
from tests.support.deliveries import ENDPOINT_POLICY, HANDLER_POLICY, a_delivery, an_event
from tests.unit.webhook.records import NOW, endpoint

LARGE = PayloadFilter.of({"total": [{"numeric": [">=", 100]}]})


class NoSender:
    async def send(self, request: Request) -> Answer:
        raise AssertionError(f"nothing is sent here, not even {request.message_id}")


class NoCalls(HandlerCalls):
    """Nothing is called here, so no loop is started."""

    def __init__(self) -> None:
        pass


def a_directory(*handlers: tuple[str, str]) -> Directory:
    """With a handler for each (pattern, name), and no endpoint yet."""
    registry = Handlers()
    for pattern, name in handlers:

        @registry.on(pattern, name=name)
        def handle(event: Event) -> None: ...

    return Directory(
        [HandlerTarget(handler, calls=NoCalls(), policy=HANDLER_POLICY) for handler in registry],
        new_endpoint_target=lambda endpoint_id: EndpointTarget(
            endpoint_id,
            sender=NoSender(),
            policy=ENDPOINT_POLICY,
            concurrency=4,
            now=lambda: NOW,
            monotonic_s=lambda: 0.0,
        ),
    )


def an_endpoint(endpoint_id: str = "ep_1", *event_types: str, **changes: Any) -> Endpoint:
    return replace(endpoint(event_types=event_types or ("*",)), id=endpoint_id, **changes)


def names(targets: tuple[Target, ...]) -> list[str]:
    return [str(target.name) for target in targets]


def test_an_event_goes_to_every_handler_and_endpoint_that_wants_its_type() -> None:
    """CASES 14: each of them is a delivery of its own."""
    directory = a_directory(("order.*", "billing"), ("order.created", "mail"), ("user.*", "crm"))
    directory.put_endpoint(an_endpoint("ep_1", "order.created"))
    directory.put_endpoint(an_endpoint("ep_2", "user.*", "order.*"))
    directory.put_endpoint(an_endpoint("ep_3", "user.*"))
    wanted = names(directory.for_type("order.created"))
    assert wanted == ["handler:billing", "handler:mail", "endpoint:ep_1", "endpoint:ep_2"]
    assert (directory.handler_count, directory.endpoint_count) == (3, 3)


def test_a_change_counts_for_the_next_event() -> None:
    """What was looked up before is not remembered past a change of any endpoint."""
    directory = a_directory()
    assert directory.for_type("order.created") == ()
    directory.put_endpoint(an_endpoint("ep_1"))
    assert names(directory.for_type("order.created")) == ["endpoint:ep_1"]
    directory.put_endpoint(an_endpoint("ep_1", "user.*"))
    assert directory.for_type("order.created") == ()
    directory.put_endpoint(an_endpoint("ep_1"))
    directory.remove_endpoint("ep_1")
    assert directory.for_type("order.created") == ()


def test_a_changed_endpoint_is_the_same_target_with_the_new_url() -> None:
    """A parked delivery meets its endpoint as it is now, and its queue goes on as one."""
    directory = a_directory()
    directory.put_endpoint(an_endpoint("ep_1"))
    before = directory.by_name(TargetName("endpoint", "ep_1"))
    directory.put_endpoint(an_endpoint("ep_1", url="https://moved.example/in"))
    after = directory.by_name(TargetName("endpoint", "ep_1"))
    assert isinstance(after, EndpointTarget)
    assert after is before
    assert after.endpoint is not None
    assert after.endpoint.url == "https://moved.example/in"


async def test_a_deleted_endpoint_cancels_what_still_holds_its_target() -> None:
    """CASES 2: what waits in this worker when the endpoint is deleted is cancelled when its turn comes."""
    directory = a_directory()
    directory.put_endpoint(an_endpoint("ep_1"))
    target = directory.by_name(TargetName("endpoint", "ep_1"))
    assert target is not None
    directory.remove_endpoint("ep_1")
    assert directory.by_name(TargetName("endpoint", "ep_1")) is None
    assert isinstance(await target.attempt(a_delivery()), Cancelled)


async def test_a_disabled_endpoint_gets_no_new_event_and_defers_what_is_parked() -> None:
    """CASES 16: its parked deliveries wait without an attempt, and are there when it is enabled again."""
    directory = a_directory()
    directory.put_endpoint(an_endpoint("ep_1", enabled=False))
    assert directory.for_type("order.created") == ()
    target = directory.by_name(TargetName("endpoint", "ep_1"))
    assert target is not None
    assert isinstance(await target.attempt(a_delivery()), Deferred)


def test_a_test_event_has_one_target() -> None:
    """The endpoint that it is about, whatever types that one wants; nobody while it is disabled, deleted or unknown."""
    directory = a_directory(("*", "billing"))
    directory.put_endpoint(an_endpoint("ep_1", "user.*"))
    directory.put_endpoint(an_endpoint("ep_2"))
    assert names(directory.for_test("ep_1")) == ["endpoint:ep_1"]
    directory.put_endpoint(an_endpoint("ep_1", enabled=False))
    directory.remove_endpoint("ep_2")
    assert [directory.for_test(one) for one in ("ep_1", "ep_2", "ep_none")] == [(), (), ()]


def test_removing_an_unknown_endpoint_is_nothing() -> None:
    """A tombstone is read again at every start."""
    a_directory().remove_endpoint("ep_unknown")


def test_handlers_and_endpoints_of_one_name_are_two_targets() -> None:
    """CASES 12: the kind is part of the identity."""
    directory = a_directory(("*", "ep_1"))
    directory.put_endpoint(an_endpoint("ep_1"))
    handler = directory.by_name(TargetName("handler", "ep_1"))
    assert isinstance(handler, HandlerTarget)
    assert isinstance(directory.by_name(TargetName("endpoint", "ep_1")), EndpointTarget)


def test_types_from_outside_do_not_fill_the_memory() -> None:
    """Event types are anybody's text: what is remembered of them is bounded."""
    directory = a_directory(("order.*", "billing"))
    for number in range(10_500):
        directory.for_type(f"order.t{number}")
    assert len(directory._by_type) <= 10_000
    assert names(directory.for_type("order.t3")) == ["handler:billing"]


def an_event_of(total: int | None, **changes: Any) -> Event:
    payload = b"no JSON" if total is None else b'{"total": %d}' % total
    return an_event(payload=payload, **changes)


def test_an_endpoint_with_a_payload_filter_gets_what_it_wants_and_no_other_is_asked() -> None:
    """By its type and its payload; handlers and endpoints without a filter get all, as before."""
    directory = a_directory(("order.*", "billing"))
    directory.put_endpoint(an_endpoint("ep_all"))
    directory.put_endpoint(an_endpoint("ep_large", "order.*", payload_filter=LARGE))
    directory.put_endpoint(an_endpoint("ep_users", "user.*", payload_filter=LARGE))
    everybody = ["handler:billing", "endpoint:ep_all"]
    assert names(directory.for_event(an_event_of(100))) == [*everybody, "endpoint:ep_large"]
    assert names(directory.for_event(an_event_of(99))) == everybody
    assert names(directory.for_event(an_event_of(None))) == everybody
    directory.put_endpoint(an_endpoint("ep_large", "order.*"))
    assert names(directory.for_event(an_event_of(99))) == [*everybody, "endpoint:ep_large"]


def test_an_event_that_filters_leave_out_has_a_route_all_the_same() -> None:
    """It is no dead letter: somebody decided that nobody gets it. A type that nobody is subscribed to is one."""
    directory = a_directory()
    directory.put_endpoint(an_endpoint("ep_1", "order.*", payload_filter=LARGE))
    assert directory.for_event(an_event_of(1)) == ()
    assert directory.routes(an_event_of(1))
    assert not directory.routes(an_event_of(1, type="user.created"))
    assert not directory.routes(an_event_of(1, type=TEST_EVENT_TYPE))
    directory.put_endpoint(an_endpoint("ep_1", "order.*", payload_filter=LARGE, enabled=False))
    assert not directory.routes(an_event_of(1))


def test_a_test_event_is_not_filtered() -> None:
    """It says whether the endpoint can be reached."""
    directory = a_directory()
    directory.put_endpoint(an_endpoint("ep_1", "order.*", payload_filter=LARGE))
    test_event = an_event_of(1, type=TEST_EVENT_TYPE, aggregate_id="ep_1")
    assert names(directory.for_event(test_event)) == ["endpoint:ep_1"]


def test_limits_are_cut_down_to_the_workers_share_and_follow_it() -> None:
    """Of an endpoint that is there as of one that comes later; without a limit the worker's own number holds."""
    directory = a_directory()
    directory.put_endpoint(an_endpoint("ep_1", concurrency=9))
    directory.set_share(Share(2, 6))
    directory.put_endpoint(an_endpoint("ep_2", concurrency=6))
    directory.put_endpoint(an_endpoint("ep_3"))
    first, second, third = (the_target(directory, endpoint_id) for endpoint_id in ("ep_1", "ep_2", "ep_3"))
    assert [(one.concurrency, one.limited) for one in (first, second, third)] == [
        (3, True),
        (2, True),
        (4, False),
    ]
    directory.set_share(Share(6, 6))
    assert [one.concurrency for one in (first, second, third)] == [9, 6, 4]
    directory.put_endpoint(an_endpoint("ep_1"))
    assert (first.concurrency, first.limited) == (4, False)


def test_a_rate_limit_holds_from_the_record_on() -> None:
    """Set, changed and removed, with what is used up of it kept; and it is the share of it that holds."""
    directory = a_directory()
    directory.put_endpoint(an_endpoint("ep_1"))
    target = the_target(directory, "ep_1")
    assert target.gate.hold_s(now_s=0.0, ahead=1_000) == 0
    directory.put_endpoint(an_endpoint("ep_1", rate_limit_per_s=1.0))
    target.gate.began(now_s=0.0)
    assert target.gate.hold_s(now_s=0.0) == 1.0
    directory.set_share(Share(1, 2))
    assert target.gate.hold_s(now_s=0.0) == 2.0
    directory.put_endpoint(an_endpoint("ep_1", rate_limit_per_s=4.0))
    assert target.gate.hold_s(now_s=0.0) == 0.5
    directory.put_endpoint(an_endpoint("ep_1"))
    assert target.gate.hold_s(now_s=0.0, ahead=1_000) == 0


def test_a_gate_that_was_changed_knows_what_was_told_to_the_one_before() -> None:
    """An attempt that began before the limit was set counts for the circuit when it ends; a new URL begins anew."""
    directory = a_directory()
    directory.put_endpoint(an_endpoint("ep_1"))
    target = the_target(directory, "ep_1")
    begun = [target.gate.began(now_s=0.0) for _ in range(100)]
    directory.put_endpoint(an_endpoint("ep_1", rate_limit_per_s=10_000.0))
    for one in begun:
        target.gate.ended(one, failed=True, now_s=1.0)
    assert target.gate.hold_s(now_s=1.0) == 5.0
    deferral = target.gate.deferral(now_s=1.0, ahead=0, booked_in_s=None, bound_s=1.0, crowded=False)
    assert deferral is not None
    assert (deferral.reason, deferral.booked_in) == ("the target's circuit is open", None)


def the_target(directory: Directory, endpoint_id: str) -> EndpointTarget:
    target = directory.by_name(TargetName("endpoint", endpoint_id))
    assert isinstance(target, EndpointTarget)
    return target
