"""A range of a topic as the client's own messages: for who looks at a header or two of a million records.

Place in the data's way: beneath verifications. As `RangeReader`, whose bounds and promises it keeps, without making a
value of each record, which costs as much as reading it. Blocking; one thread's.
"""

from collections.abc import Sequence
from typing import cast

from confluent_kafka import Message

from connectors.kafka.range_reader import RangeReader

__all__ = ["MessageReader"]


class MessageReader(RangeReader):
    """One reading of one range; made as a `RangeReader` is."""

    def messages(self, most: int) -> Sequence[Message]:
        """Give out the next messages, at most so many, none of them an error; none as `read` says.

        Raises:
            TopicUnanswered: nothing came for long, although there is something. What was given out, was.
        """
        return self._given_out(most, self._within)

    def _within(self, consumed: Sequence[Message]) -> list[Message]:
        messages: list[Message] = []
        behind: dict[int, int] = {}
        for message in consumed:
            if message.error() is None:
                number, offset = cast("tuple[int, int]", (message.partition(), message.offset()))
                if number in self._open and offset < self._ends[number]:
                    messages.append(message)
                    behind[number] = offset + 1
                    continue
            self._take(message)  # the end of a partition, beyond the range, or an error
        for number, offset in behind.items():
            self._reached(number, offset)
        return messages
