"""`outbox api` as a process of its own, and a client for it that blocks."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from streams.api.access import new_token
from tests.support.eventually import eventually
from tests.support.pipeline import Pipeline

__all__ = ["ApiProcess", "Said"]

_TOKEN, _ENTRY = new_token("tests", "write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What it answered; `kind` is that of a problem."""

    status: int
    body: Any

    @property
    def kind(self) -> str:
        return str(self.body["type"]).removeprefix("urn:outbox:problem:")


class ApiProcess:
    """Started with a pipeline's addresses; ends with it."""

    def __init__(self, pipeline: Pipeline, **settings: Any) -> None:
        self.child = pipeline.start(
            "api",
            **{
                "database_url": pipeline.installation.database_url,
                "api_listen": "127.0.0.1:0",
                "api_tokens": _ENTRY,
                **settings,
            },
        )
        self._base = f"http://127.0.0.1:{self.child.wait_for('api_started')['port']}"

    def ask(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Said:
        """Send a request, with an Idempotency-Key if one is given."""
        headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        request = urllib.request.Request(  # noqa: S310 - our own address
            self._base + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers=headers,
        )
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own address
                return Said(status=answer.status, body=json.loads(answer.read() or b"null"))
        except urllib.error.HTTPError as problem:
            with problem:
                return Said(status=problem.code, body=json.loads(problem.read()))

    def resend(self, delivery_id: str, *, key: str | None = None) -> Any:
        """Ask for a resend that is accepted; a new key unless one is given."""
        said = self.ask("POST", f"/v1/deliveries/{delivery_id}/resend", key=key or str(uuid4()))
        assert said.status == 202, said
        return said.body

    def recover(self, endpoint_id: str, **fields: Any) -> Any:
        """Ask for a recovery that is accepted, with a new key."""
        said = self.ask("POST", f"/v1/endpoints/{endpoint_id}/recover", fields, key=str(uuid4()))
        assert said.status == 202, said
        return said.body

    def send_range(self, begin: str, end: str, *targets: str, key: str | None = None, **fields: Any) -> Any:
        """Ask for a range that is accepted; with a new key unless one is given."""
        asked = {"from": begin, "to": end, "targets": targets, "rate_per_s": 500, **fields}
        said = self.ask("POST", "/v1/replays", asked, key=key or str(uuid4()))
        assert said.status == 202, said
        return said.body

    def replay(self, replay_id: str) -> Any:
        return self.ask("GET", f"/v1/replays/{replay_id}").body

    def wait_for(self, replay_id: str, *statuses: str, timeout_s: float = 60.0) -> Any:
        """Wait until a replay has one of these statuses (done, if none is given), and give it."""
        wanted = statuses or ("done",)
        seen: list[Any] = []

        def there() -> Any:
            seen[:] = [self.replay(replay_id)]
            return seen[0] if seen[0]["status"] in wanted else None

        try:
            return eventually(there, what=f"replay {replay_id} as {wanted}", timeout_s=timeout_s)
        except AssertionError:
            raise AssertionError(f"never {wanted}: {seen}") from None

    def delivery(self, event_id: object, *, endpoint_id: str, status: str = "succeeded") -> Any:
        """Wait until the delivery log has the delivery of an event to an endpoint with this status, and give it."""
        query = f"event_id={event_id}&endpoint_id={endpoint_id}&status={status}"
        found = eventually(
            lambda: self.ask("GET", f"/v1/deliveries?{query}").body["items"] or None,
            what=f"{event_id} as {status} in the log",
        )
        return found[0]
