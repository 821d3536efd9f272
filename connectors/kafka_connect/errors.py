"""What can go wrong at Kafka Connect's edge.

    ConnectEdgeError
    ├── ConnectUnreachable       no answer: not started, another address, or in trouble
    ├── ConnectRefused           an answer that says no, with Connect's reason
    └── ConnectorConfigInvalid   the address of the database or the template can't make a connector

No message holds a password: addresses are shown without what stands before their "@".
"""

import re

__all__ = ["ConnectEdgeError", "ConnectRefused", "ConnectUnreachable", "ConnectorConfigInvalid"]

_CREDENTIALS = re.compile(r"//.*@")


class ConnectEdgeError(Exception):
    """Kafka Connect could not do what was asked."""


class ConnectUnreachable(ConnectEdgeError):  # noqa: N818 - it names the state that Connect is in
    """Kafka Connect gave no answer in time."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"Kafka Connect at {_CREDENTIALS.sub('//***@', url)} gave no answer: {reason}."
            " Is it running, and is that its address from here?"
        )


class ConnectRefused(ConnectEdgeError):  # noqa: N818 - it names what happened
    """Kafka Connect refused a request; `status` is its HTTP status."""

    def __init__(self, request: str, status: int, reason: str) -> None:
        super().__init__(f"Kafka Connect refused {request} with status {status}: {reason}")
        self.status = status


class ConnectorConfigInvalid(ConnectEdgeError):  # noqa: N818 - it names what was found
    """The connector's configuration can't be made."""
