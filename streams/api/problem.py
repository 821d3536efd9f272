"""Problems: what the API answers when it can't do what was asked (RFC 9457, `application/problem+json`).

Place in the data's way: raised anywhere under an operation, answered by the pipeline. Invariant: a problem names the
field and says what to do; it never quotes a secret, a URL or a payload, nor anything long (INV-9).
"""

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Literal

import orjson
from aiohttp import web

__all__ = ["CONTENT_TYPE", "KINDS", "FieldProblem", "Problem", "ProblemError"]

CONTENT_TYPE: Final = "application/problem+json"

#: Every kind of problem: its status and its title. The kind is the last part of `type`, for programs.
KINDS: Final[dict[str, tuple[int, str]]] = {
    "request-malformed": (400, "The request is no HTTP that can be read"),
    "body-malformed": (400, "The body is not JSON"),
    "query-invalid": (400, "A query parameter is wrong"),
    "header-invalid": (400, "A header is wrong"),
    "unauthenticated": (401, "A bearer token is needed"),
    "forbidden": (403, "This is not allowed"),
    "not-found": (404, "There is nothing here"),
    "method-not-allowed": (405, "This can't be done here"),
    "body-timeout": (408, "The body did not come in time"),
    "conflict": (409, "This can't be done now"),
    "event-gone": (409, "Kafka no longer has the event"),
    "revision-differs": (412, "It was changed meanwhile"),
    "body-too-large": (413, "The body is too large"),
    "media-type-unsupported": (415, "The body is of the wrong type"),
    "body-invalid": (422, "The body breaks a rule"),
    "idempotency-key-reused": (422, "The Idempotency-Key was used for another request"),
    "internal": (500, "This is a defect"),
    "kafka-not-set": (503, "This API was not told where Kafka is"),
    "unavailable": (503, "Not now"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem:
    """What is wrong with one field. `name` is a JSON pointer (`#/url`), or the name of a parameter or header."""

    where: Literal["pointer", "parameter", "header"]
    name: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem. `detail` says what to do; `headers` go into the answer."""

    kind: str
    detail: str
    errors: tuple[FieldProblem, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return KINDS[self.kind][0]

    def response(self, request_id: str) -> web.Response:
        """The answer."""
        status, title = KINDS[self.kind]
        body: dict[str, object] = {
            "type": f"urn:outbox:problem:{self.kind}",
            "title": title,
            "status": status,
            "detail": self.detail,
            "request_id": request_id,
        }
        if self.errors:
            body["errors"] = [{error.where: error.name, "detail": error.detail} for error in self.errors]
        return web.Response(
            status=status,
            reason=HTTPStatus(status).phrase,
            body=orjson.dumps(body),
            content_type=CONTENT_TYPE,
            headers=self.headers,
        )


class ProblemError(Exception):
    """Ends an operation with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.kind)
        self.problem = problem
