"""The headers of a message, where the client gives them and where it can't."""

from typing import Any, cast

import pytest
from confluent_kafka import Message

from connectors.kafka.message_headers import message_headers


class Asked:
    """A message as far as its headers go. The client raises on a name that is no UTF-8 (confluent-kafka 2.16)."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def headers(self) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (None, []),
        ([("id", b"1"), ("id", None)], [("id", b"1"), ("id", None)]),
        (SystemError("returned a result with an exception set"), []),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), []),
    ],
)
def test_what_the_client_cannot_read_is_no_header_and_no_end_of_the_process(answer: Any, found: Any) -> None:
    """One record of somebody else's must not stop the recorder, the scheduler or a replay (CASES 41)."""
    assert message_headers(cast("Message", Asked(answer))) == found
