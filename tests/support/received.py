"""A request as a scripted receiver saw it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

__all__ = ["Received", "body_length"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """`headers` have lower-case names; `raw_head` is what was on the wire. `connection` numbers connections from 1."""

    method: str
    target: str
    headers: Mapping[str, str]
    raw_head: bytes
    body: bytes
    at: datetime
    connection: int

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @classmethod
    def parse(cls, raw_head: bytes, body: bytes, *, at: datetime, connection: int) -> "Received":
        request_line, *lines = raw_head.decode("utf-8").removesuffix("\r\n\r\n").split("\r\n")
        method, target, version = request_line.split(" ")
        assert version == "HTTP/1.1", version
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            assert name.lower() not in headers, f"{name} came twice"
            headers[name.lower()] = value.strip()
        return cls(
            method=method,
            target=target,
            headers=headers,
            raw_head=raw_head,
            body=body,
            at=at,
            connection=connection,
        )


def body_length(raw_head: bytes) -> int:
    for line in raw_head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0
