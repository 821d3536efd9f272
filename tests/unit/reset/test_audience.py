"""Who wants an event: the same answer as the workers' directory gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from connectors.webhook.endpoint import Endpoint
from connectors.webhook.payload_filter import PayloadFilter
from outbox.event_filter import EventFilter
from outbox.handlers import Handlers
from streams.dispatch.directory import Directory
from streams.dispatch.endpoint_target import EndpointTarget
from streams.dispatch.handler_target import HandlerTarget
from streams.records.target import TEST_EVENT_TYPE
from streams.reset.audience import Audience
from tests.support.deliveries import ENDPOINT_POLICY, HANDLER_POLICY, an_event
from tests.unit.webhook.records import endpoint


def an_endpoint(name: str, *types: str, **changes: Any) -> Endpoint:
    return replace(
        endpoint(), id=f"ep_{name}", event_types=tuple(EventFilter(each) for each in types), **changes
    )


ENDPOINTS = [
    an_endpoint("all", "*"),
    an_endpoint("orders", "order.*"),
    an_endpoint("off", "*", enabled=False),
    an_endpoint("large", "order.created", payload_filter=PayloadFilter.of({"size": ["large"]})),
    an_endpoint("told", "endpoint.disabled"),
]
EVENTS = [
    an_event(type="order.created", payload=b'{"size": "large"}'),
    an_event(type="order.created", payload=b'{"size": "small"}'),
    an_event(type="order", payload=b"{}"),
    an_event(type="endpoint.disabled", payload=b"{}"),
    an_event(type=TEST_EVENT_TYPE, aggregate_id="ep_large", payload=b"{}"),
    an_event(type=TEST_EVENT_TYPE, aggregate_id="ep_off", payload=b"{}"),
]


def registry() -> Handlers:
    handlers = Handlers()
    handlers.on("order.*", name="mail")(lambda _: None)
    handlers.on("user.left", name="count")(lambda _: None)
    return handlers


def test_it_answers_as_the_workers_directory_does() -> None:
    """For types, subtrees, payload filters, reserved types, tests, and endpoints that are disabled."""
    directory = Directory(
        (HandlerTarget(each, calls=None, policy=HANDLER_POLICY) for each in registry()),  # type: ignore[arg-type]  # none is made
        new_endpoint_target=lambda endpoint_id: EndpointTarget(
            endpoint_id,
            sender=None,  # type: ignore[arg-type]  # nothing is sent
            policy=ENDPOINT_POLICY,
            concurrency=1,
            now=lambda: ENDPOINTS[0].created_at,
            monotonic_s=lambda: 0.0,
        ),
    )
    for each in ENDPOINTS:
        directory.put_endpoint(each)
    audience = Audience(ENDPOINTS, registry())
    for event in EVENTS:
        assert sorted(audience.of(event)) == sorted(str(target.name) for target in directory.for_event(event))
    assert sorted(audience.of(EVENTS[0])) == [
        "endpoint:ep_all",
        "endpoint:ep_large",
        "endpoint:ep_orders",
        "handler:mail",
    ]
