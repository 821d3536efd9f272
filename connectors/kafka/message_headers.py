"""The headers of a message, whatever stands in them.

Place in the data's way: where records are read with confluent_kafka. A header's name that is no UTF-8 makes the client
raise instead of giving the headers: such a record counts as one without any, and its reader says that it can't be read.
"""

from typing import cast

from confluent_kafka import Message

__all__ = ["message_headers"]


def message_headers(message: Message) -> list[tuple[str, bytes | None]]:
    """As they came, repeated ones and null values included; none if the client can't read them."""
    try:
        headers = message.headers()
    except (SystemError, UnicodeDecodeError):
        return []
    return cast("list[tuple[str, bytes | None]]", headers or [])  # the stub knows of no null value
