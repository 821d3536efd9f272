"""The page as it is served, with all processes behind it, and something to be seen on it."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from connectors.kafka.record import OutgoingRecord
from streams import topics
from tests.support.answers import respond
from tests.support.by_event import attempt_by_attempt
from tests.support.child import Child
from tests.support.eventually import eventually
from tests.support.mailbox import Mailbox
from tests.support.pipeline import Pipeline
from tests.support.topics import produce

__all__ = ["HOSTILE", "PageSite", "Story"]

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>&lt;b&gt;'
"""A text that must stay one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Three endpoints, and an event for each: delivered at the third attempt, refused for good, and still waiting."""

    late: Mailbox
    refusing: Mailbox
    down: Mailbox
    delivered: UUID
    refused: UUID
    waiting: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSite:
    """Made with `start`."""

    pipeline: Pipeline
    scheduler: Child
    base: str

    @classmethod
    def start(cls, pipeline: Pipeline) -> Self:
        """Start a worker, a scheduler, a recorder and an API without tokens."""
        pipeline.worker(endpoint_schedule=",".join(["1s"] * 2 + ["4s"] * 30))
        scheduler = pipeline.scheduler()
        pipeline.recorder()
        installed = pipeline.installation
        api = pipeline.start("api", database_url=installed.database_url, api_listen="127.0.0.1:0")
        port = api.wait_for("api_started")["port"]
        return cls(pipeline=pipeline, scheduler=scheduler, base=f"http://127.0.0.1:{port}")

    def page(self, route: str = "") -> str:
        """The address of a view."""
        return f"{self.base}/{route}"

    def get(self, path: str) -> Any:
        """What the API answers."""
        with urllib.request.urlopen(self.base + path) as answer:  # noqa: S310 - our own
            return json.load(answer)

    def delivery(self, event_id: UUID, *, status: str) -> str:
        """The id of an event's one delivery, once it has this status in the log."""

        def found() -> str | None:
            items = self.get(f"/v1/deliveries?event_id={event_id}&status={status}")["items"]
            return str(items[0]["id"]) if items else None

        return eventually(found, what=f"{event_id} as {status} in the log")

    def tell(self) -> Story:
        """Have something to be seen."""
        pipeline = self.pipeline
        late = pipeline.mailbox(
            attempt_by_attempt(respond(503, HOSTILE.encode()), respond(500, b"once more"), respond(204))
        )
        refusing = pipeline.mailbox(respond(422, HOSTILE.encode()))
        down = pipeline.mailbox(respond(503, b"down"))
        for mailbox in (late, refusing, down):
            pipeline.wait_until_known(mailbox)
        story = Story(
            late=late,
            refusing=refusing,
            down=down,
            delivered=pipeline.append(f"{late.event_type}.delivered"),
            refused=pipeline.append(f"{refusing.event_type}.refused"),
            waiting=pipeline.append(f"{down.event_type}.waiting"),
        )
        self.spoil()
        self.delivery(story.delivered, status="succeeded")
        self.delivery(story.refused, status="failed")
        self.delivery(story.waiting, status="retrying")
        eventually(lambda: bool(self.unreadable()), what="the unreadable record among the dead letters")
        return story

    def describe(self, mailbox: Mailbox, text: str) -> None:
        """Give an endpoint a description, as its owner may."""
        body = json.dumps({"description": text}).encode()
        headers = {"Content-Type": "application/json"}
        address = f"{self.base}/v1/endpoints/{mailbox.id}"
        change = urllib.request.Request(address, body, headers, method="PATCH")  # noqa: S310 - our own
        with urllib.request.urlopen(change) as answer:  # noqa: S310 - our own
            assert answer.status == 200

    def spoil(self) -> None:
        """Have a record that nobody can read: an event without any of its headers."""
        record = OutgoingRecord(topic=topics.EVENTS, key=b"k", value=b"no event", headers=[], partition=0)
        produce(self.pipeline.kafka, [record])

    def unreadable(self) -> list[str]:
        """The ids of open dead letters that can't be read."""
        items = self.get("/v1/dead-letters?class=poison&status=open")["items"]
        return [str(item["id"]) for item in items]

    def waiting(self) -> int:
        """How many deliveries wait in the retry tiers."""
        return sum(tier["waiting"] for tier in self.get("/v1/tiers")["items"])

    def dead_letter(self, event_id: UUID, *, status: str = "open") -> str:
        """The id of an event's one dead letter, once it has this status."""

        def found() -> str | None:
            items = self.get(f"/v1/dead-letters?event_id={event_id}&status={status}")["items"]
            return str(items[0]["id"]) if items else None

        return eventually(found, what=f"the dead letter of {event_id} as {status}")
