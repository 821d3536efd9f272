"""An endpoint of a test and what arrived at it: a path of the receiver of its own, and event types of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from standardwebhooks import Webhook

from connectors.webhook.endpoint import Endpoint
from connectors.webhook.secret import Secret
from tests.support.answers import Answer
from tests.support.received import Received
from tests.support.threaded_receiver import ThreadedReceiver

__all__ = ["Mailbox", "assert_signed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailbox:
    """`event_type` is what this endpoint, and no other, subscribes to (with all below it)."""

    endpoint: Endpoint
    path: str
    event_type: str
    receiver: ThreadedReceiver

    @property
    def id(self) -> str:
        return self.endpoint.id

    @property
    def received(self) -> Sequence[Received]:
        return self.receiver.requests_to(self.path)

    @property
    def ids(self) -> list[str]:
        """The webhook ids in the order in which they came, repeated ones repeated."""
        return [request.headers["webhook-id"] for request in self.received]

    def of(self, event_id: object) -> list[Received]:
        """The requests about one event, in the order in which they came."""
        return [request for request in self.received if request.headers["webhook-id"] == str(event_id)]

    def repeated(self) -> dict[str, int]:
        """How many times each event came that came more than once."""
        return {event_id: count for event_id, count in Counter(self.ids).items() if count > 1}

    def answer_with(self, *answers: Answer) -> None:
        self.receiver.script(self.path, *answers)

    def wait_for(self, count: int, *, timeout_s: float = 40.0) -> Sequence[Received]:
        """Wait until so many requests came."""
        try:
            return self.receiver.wait_for(count, path=self.path, timeout_s=timeout_s)
        except TimeoutError:
            raise AssertionError(
                f"{len(self.received)} of {count} requests came within {timeout_s:g} s"
            ) from None

    def wait_for_events(self, event_ids: Iterable[object], *, timeout_s: float = 40.0) -> None:
        """Wait until each of these events came at least once."""
        wanted = {str(event_id) for event_id in event_ids}
        try:
            self.receiver.wait_for_events(wanted, path=self.path, timeout_s=timeout_s)
        except TimeoutError:
            missing = wanted.difference(self.ids)
            raise AssertionError(
                f"{len(missing)} of {len(wanted)} events did not come within {timeout_s:g} s: "
                f"{sorted(missing)[:5]}"
            ) from None


def assert_signed(request: Received, secret: Secret) -> None:
    """Check a request as a receiver does: with the verifier of the Standard Webhooks project."""
    Webhook(secret.reveal()).verify(request.body, dict(request.headers), json_parse=False)
