"""Where a message that was read stands. The client's stub allows for parts that only an error lacks."""

from typing import cast

from confluent_kafka import Message

__all__ = ["place_of"]


def place_of(message: Message) -> tuple[str, int, int]:
    """Topic, partition and offset of a message without an error."""
    return cast("tuple[str, int, int]", (message.topic(), message.partition(), message.offset()))
