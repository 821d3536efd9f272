"""The example in the documentation, against what is really sent."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from connectors.webhook.answer import Responded
from connectors.webhook.secret import Secret
from connectors.webhook.sender import Sender
from streams.dispatch.endpoint_target import EndpointTarget
from tests.integration.webhook.sending import hook
from tests.support.deliveries import ENDPOINT_POLICY, a_delivery, an_event
from tests.support.receiver import Receiver

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "webhook-request.md"


def documented() -> Callable[..., bool]:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Callable[..., bool]] = {}
    exec(code, names)  # noqa: S102 - our own page, which must stay true
    return names["is_genuine"]


async def test_the_documented_check_accepts_what_is_sent_and_nothing_else(receiver: Receiver) -> None:
    """Either secret of a rotation verifies; another secret, another body, id or time does not."""
    is_genuine = documented()
    new, old = Secret.generate(), Secret.generate()
    async with Sender() as sender:
        assert isinstance(await sender.send(hook(receiver.url("/"), secrets=(new, old))), Responded)
    (received,) = receiver.requests
    headers = dict(received.headers)

    assert is_genuine(headers, received.body, new.reveal())
    assert is_genuine(headers, received.body, old.reveal())
    assert not is_genuine(headers, received.body, Secret.generate().reveal())
    assert not is_genuine(headers, received.body + b" ", new.reveal())
    assert not is_genuine(headers | {"webhook-id": "another"}, received.body, new.reveal())
    assert not is_genuine(headers | {"webhook-timestamp": "1772366400"}, received.body, new.reveal())


async def test_the_documented_headers_are_the_ones_that_are_sent(receiver: Receiver) -> None:
    """The example request names every header, in order, and no other."""
    (example,) = re.findall(r"```\n(POST .*?)\n\n", PAGE.read_text(), re.DOTALL)
    async with Sender() as sender:
        target = EndpointTarget(
            "ep_1",
            sender=sender,
            policy=ENDPOINT_POLICY,
            concurrency=1,
            now=lambda: datetime.now(UTC),
            monotonic_s=lambda: 0.0,
        )
        target.endpoint = hook(receiver.url("/")).endpoint
        await target.attempt(a_delivery(event=an_event(headers={}), target=target.name))

    sent = received_names(receiver.requests[0].raw_head.decode())
    assert sent == received_names(example.replace("\n", "\r\n"))


def received_names(head: str) -> list[str]:
    return [line.partition(":")[0] for line in head.split("\r\n")[1:] if line]
