"""A target: what a delivery goes to, named in the `outbox-target` header.

`handler:<name>` or `endpoint:<id>`. The name is the identity by which retries, duplicates and dead letters are told
apart: two targets of one event are two deliveries, and neither knows of the other (outpost #609).
"""

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["TEST_EVENT_TYPE", "TargetName", "parse_target"]

TEST_EVENT_TYPE: Final = "endpoint.test"
"""An event of this type goes to the endpoint whose id is its aggregate id, and to nobody else."""

TargetKind = Literal["handler", "endpoint"]


@dataclass(frozen=True, slots=True)
class TargetName:
    """Kind and name of a target.

    >>> str(TargetName("endpoint", "ep_1"))
    'endpoint:ep_1'
    """

    kind: TargetKind
    name: str

    def __str__(self) -> str:
        """The form that stands on the wire, in logs and in attempt records."""
        return f"{self.kind}:{self.name}"


def parse_target(text: str) -> TargetName:
    """Read `handler:<name>` or `endpoint:<id>`; ValueError names what else it was.

    >>> parse_target("handler:billing.invoice").name
    'billing.invoice'
    """
    kind, separator, name = text.partition(":")
    if not separator or not name:
        raise ValueError(f"target {text[:80]!r} is not handler:<name> or endpoint:<id>")
    if kind == "handler":
        return TargetName("handler", name)
    if kind == "endpoint":
        return TargetName("endpoint", name)
    raise ValueError(f"target {text[:80]!r} has the unknown kind {kind[:20]!r}")
