"""The whole way of the data for one test or one module: rows in, processes of ours on it, requests out.

The topics and the consumer groups are shared by all tests of a run. They are kept apart by event types and
endpoints of their own; what a test leaves behind is cancelled with its endpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from secrets import token_hex
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID

import psycopg

import outbox
from connectors.postgres.endpoints import EndpointStore, new_endpoint_id
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.secret import Secret
from outbox.event_filter import EventFilter
from outbox.row import OutboxRow
from streams import topics
from tests.support.answers import Answer
from tests.support.attempt_log import AttemptLog
from tests.support.child import Child
from tests.support.eventually import eventually
from tests.support.installation import Installation
from tests.support.mailbox import Mailbox
from tests.support.marks import PAYLOAD_MARK, URL_MARK, marked_secret
from tests.support.topics import TopicTail

__all__ = ["Pipeline", "marked_payload"]

_numbers = count(1)
RECORDED: Final = {topics.ATTEMPTS, topics.DEAD_LETTER}


class Pipeline:
    """Appends events, adds endpoints, starts processes; ends all of them after the block."""

    def __init__(self, installation: Installation, *, name: str) -> None:
        self.installation = installation
        self.kafka = installation.kafka
        self._name = name
        self._endpoints: list[str] = []
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        self.attempts = AttemptLog(self.kafka)
        self.dead_letters = TopicTail(self.kafka, "outbox.dead-letter")
        self._exits.callback(self.attempts.close)
        self._exits.callback(self.dead_letters.close)
        self._exits.callback(self._remove_endpoints)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.__exit__(kind, error, trace)

    # What runs

    def start(self, *arguments: str, **settings: object) -> Child:
        """Start `outbox <arguments>` with these settings: `window=64` is OUTBOX_WINDOW=64."""
        environment = {
            **self.installation.worker_environment,
            **{f"OUTBOX_{name.upper()}": str(value) for name, value in settings.items()},
        }
        log = self.installation.logs / f"{self._name}-{next(_numbers)}-{arguments[0]}.log"
        return self._exits.enter_context(Child(*arguments, environment=environment, log=log))

    def worker(self, **settings: object) -> Child:
        """Start a worker; it has joined its group when this returns."""
        child = self.start("worker", **{"endpoint_schedule": "1s,1s", **settings})
        child.wait_for("worker_started")
        return child

    def scheduler(self, **settings: object) -> Child:
        """Start a scheduler; it has its lanes when this returns."""
        child = self.start("scheduler", **settings)
        child.wait_for("lanes_assigned")
        return child

    def recorder(self, **settings: object) -> Child:
        """Start a recorder; it has its partitions, of attempts and of dead letters, when this returns."""
        child = self.start("recorder", **{"database_url": self.installation.database_url, **settings})
        child.wait_until(
            lambda: {line.get("topic") for line in child.of("recorder_assigned")} >= RECORDED,
            what="partitions of both topics",
        )
        return child

    # What goes in

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.installation.database_url)

    def append(self, event_type: str, *, payload: object | None = None, key: str | None = None) -> UUID:
        """Commit one event. Without a key it has an aggregate of its own."""
        with self.connect() as connection:
            return outbox.append(
                connection,
                type=event_type,
                aggregate=("order", key or token_hex(8)),
                payload=marked_payload() if payload is None else payload,
            )

    def append_many(
        self, event_type: str, number: int, *, key: Callable[[int], str] | None = None, payload: object = None
    ) -> list[UUID]:
        """Commit so many events in one transaction, in this order."""
        rows = [
            OutboxRow.of(
                type=event_type,
                aggregate=("order", key(index) if key else token_hex(8)),
                payload=marked_payload() if payload is None else payload,
            )
            for index in range(number)
        ]
        with self.connect() as connection:
            outbox.append_many(connection, rows)
        return [row.id for row in rows]

    # Who gets it

    def mailbox(
        self,
        *answers: Answer,
        event_type: str = "",
        secrets: tuple[Secret, ...] = (),
        url: str = "",
        **own: Any,
    ) -> Mailbox:
        """Add an endpoint to a path of its own, with these fields of its own.

        A worker that runs already learns of it a moment later.
        """
        endpoint_id = new_endpoint_id()
        path = f"/in/{endpoint_id}"
        own_type = event_type or f"test.{token_hex(5)}"
        endpoint = Endpoint(
            id=endpoint_id,
            url=url or f"{self.installation.receiver.url(path)}?token={URL_MARK}",
            event_types=(EventFilter(own_type), EventFilter(f"{own_type}.*")),
            secrets=secrets or (marked_secret(next(_numbers)),),
            created_at=datetime.now(UTC),
            **own,
        )
        if answers:
            self.installation.receiver.script(path, *answers)
        with self.connect() as connection:
            EndpointStore(connection).add(endpoint)
        self._endpoints.append(endpoint_id)
        return Mailbox(endpoint=endpoint, path=path, event_type=own_type, receiver=self.installation.receiver)

    def change(self, mailbox: Mailbox, **fields: Any) -> Mailbox:
        """Change an endpoint in Postgres; `path=` gives it another path of the receiver."""
        path = fields.pop("path", mailbox.path)
        url = f"{self.installation.receiver.url(path)}?token={URL_MARK}"
        with self.connect() as connection:
            endpoint = EndpointStore(connection).update(
                mailbox.id, lambda before: replace(before, url=url, **fields)
            )
        return replace(mailbox, endpoint=endpoint, path=path)

    def remove(self, mailbox: Mailbox) -> None:
        with self.connect() as connection:
            EndpointStore(connection).remove(mailbox.id)
        self._endpoints.remove(mailbox.id)

    def wait_until_known(self, mailbox: Mailbox) -> None:
        """Return when the one running worker sends to this endpoint, as it is now.

        An event that comes before the endpoint finds nobody to go to, and is a dead letter. So events of a
        type of their own are sent after it, until one arrives.
        """
        eventually(lambda: self._arrives(mailbox), what=f"the first event for {mailbox.id}")

    def wait_until_forgotten(self, mailbox: Mailbox) -> None:
        """Return when the one running worker no longer sends to a removed or disabled endpoint."""
        eventually(lambda: not self._arrives(mailbox), what=f"the last event for {mailbox.id}")

    def _arrives(self, mailbox: Mailbox) -> bool:
        probe = self.append(f"{mailbox.event_type}.probe")

        def ended() -> bool:
            return (
                bool(mailbox.of(probe))
                or bool(self.attempts.to_the_end().of(probe, mailbox.id))
                or any(letter.event_id == str(probe) for letter in self.dead_letters.to_the_end())
            )

        eventually(ended, what=f"the end of a probe of {mailbox.id}")
        return bool(mailbox.of(probe))

    def _remove_endpoints(self) -> None:
        with self.connect() as connection:
            for endpoint_id in self._endpoints:
                EndpointStore(connection).remove(endpoint_id)


def marked_payload(**fields: object) -> Mapping[str, object]:
    """A payload that the search for leaks would find."""
    return {"mark": PAYLOAD_MARK, **fields}
