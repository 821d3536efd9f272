"""The producer on an event loop: groups of records, and one callback when Kafka has acknowledged all of a group.

librdkafka is polled from a timer while something is outstanding: no thread hop per record, and nothing at
all when idle.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connectors.kafka.errors import ProducerFatal
from connectors.kafka.producer import RecordProducer
from connectors.kafka.record import OutgoingRecord

__all__ = ["LoopProducer"]

_POLL_INTERVAL_S = 0.004


class LoopProducer:
    """Produces groups of records from one loop's thread.

    Args:
        config: see `connectors.kafka.producer.producer_config`.
        loop: the event loop whose thread alone may call this object.
        on_fatal: told, on the loop, if the producer is broken for good; it may be told more than once.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        loop: asyncio.AbstractEventLoop,
        on_fatal: Callable[[ProducerFatal], None],
    ) -> None:
        self._records = RecordProducer(config, on_fatal=on_fatal)
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    @property
    def outstanding(self) -> int:
        """How many records Kafka has not acknowledged."""
        return self._records.outstanding

    def produce(self, records: Sequence[OutgoingRecord], on_acked: Callable[[], None]) -> None:
        """Send a group of records; `on_acked` is called once, on the loop, when Kafka has acknowledged all of them."""
        left = len(records)

        def acked() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                on_acked()

        for record in records:
            self._records.send(record, acked)
        if self._timer is None:
            self._timer = self._loop.call_later(_POLL_INTERVAL_S, self._poll)

    async def flush(self, *, timeout_s: float) -> bool:
        """Wait until nothing is outstanding; False if the time ran out first."""
        deadline_s = self._loop.time() + timeout_s
        while self.outstanding and self._loop.time() < deadline_s:
            self._records.poll()
            await asyncio.sleep(_POLL_INTERVAL_S)
        return not self.outstanding

    def close(self) -> None:
        """Stop polling, and drop what is outstanding: its deliveries are unsettled, and come again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._records.close()

    def _poll(self) -> None:
        self._timer = None
        try:
            self._records.poll()
        finally:
            # Also after a callback that raised: the other records are waiting still.
            if self.outstanding and self._timer is None:
                self._timer = self._loop.call_later(_POLL_INTERVAL_S, self._poll)
