"""The Faust app of a worker: two topics, one agent each, and Faust's own machinery turned off.

The agents do three things with each record: note it in its partition's ledger, wait for room in the window,
hand it to the dispatcher. No table, no ack, no Faust producer in the data's way (docs/adr/0002).
"""

import asyncio
from collections.abc import Callable
from typing import Any

import faust
import structlog
from faust.sensors.monitor import Monitor

from streams import topics
from streams.commit.consumer import settled_transport
from streams.commit.known_topics import METADATA_MAX_AGE_S
from streams.commit.lease import Lease
from streams.commit.ledger import PartitionLedger
from streams.commit.ledgers import Ledgers
from streams.commit.lost_offsets import receive
from streams.dispatch.dispatcher import Dispatcher
from streams.settings import Settings

__all__ = ["new_app"]

_log = structlog.get_logger("streams.worker")

_CONGESTION_PAUSE_S = 0.05
#: So many records an agent takes before others have their turn on the loop: a stream that has records doesn't yield.
_AT_ONCE = 8
_MAX_POLL_INTERVAL_S = 86_400.0


def new_app(
    settings: Settings,
    *,
    ledgers: Ledgers,
    lease: Lease,
    dispatcher: Dispatcher,
    on_defect: Callable[[Exception], None],
) -> Any:
    """A Faust app, not started. `on_defect` is told of an exception that no record should be able to cause."""
    rebalance_limit_s = settings.rebalance_drain_limit_s

    async def drain() -> None:
        # On a stop there is more time than on a rebalance: no partition waits for us.
        limit_s = rebalance_limit_s if app.rebalancing else settings.drain_limit_s
        await dispatcher.drain(limit_s=limit_s)

    app = _App(
        topics.WORKER_GROUP,
        broker=[f"kafka://{server}" for server in settings.kafka_bootstrap_servers.split(",")],
        autodiscover=False,
        broker_commit_interval=settings.commit_interval_ms / 1000,
        broker_commit_every=None,
        broker_session_timeout=settings.session_timeout_s,
        broker_heartbeat_interval=settings.session_timeout_s / 3,
        # The others wait for our drain before they get their partitions: its limit and what Kafka needs to
        # acknowledge it.
        broker_rebalance_timeout=rebalance_limit_s + 10.0,
        # aiokafka leaves the group when nobody has fetched for this long. A full window is not a dead worker.
        broker_max_poll_interval=_MAX_POLL_INTERVAL_S,
        consumer_auto_offset_reset="earliest",
        consumer_metadata_max_age_ms=METADATA_MAX_AGE_S * 1000,
        key_serializer="raw",
        value_serializer="raw",
        monitor=_QuietMonitor(),
        store="memory://",
        stream_buffer_maxsize=256,
        stream_wait_empty=True,
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
    )
    transport = settled_transport(
        ledgers, lease=lease, drain=drain, resume=dispatcher.resume, share=dispatcher.set_share
    )
    app.transport = transport(app.conf.broker_consumer, app)
    _add_agent(app, topics.EVENTS, ledgers, dispatcher, dispatcher.take_event, on_defect)
    _add_agent(app, topics.REDELIVERY, ledgers, dispatcher, dispatcher.take_redelivery, on_defect)
    return app


def _add_agent(
    app: Any,
    topic: str,
    ledgers: Ledgers,
    dispatcher: Dispatcher,
    take: Callable[[Any, PartitionLedger], None],
    on_defect: Callable[[Exception], None],
) -> None:
    async def agent(stream: Any) -> None:
        taken = 0
        async for event in stream.noack().events():
            taken += 1
            if taken % _AT_ONCE == 0:
                await asyncio.sleep(0)
            message = event.message
            ledger = ledgers.get((message.topic, message.partition))
            if ledger is None or dispatcher.draining or message.generation_id != ledger.generation:
                continue  # of an earlier assignment: whoever has the partition now reads it again
            if not receive(ledger, (message.topic, message.partition), message.offset):
                continue
            await _room(dispatcher, ledger)
            if ledger.closed or dispatcher.draining:
                continue
            try:
                take(message, ledger)
            except Exception as error:  # noqa: BLE001 - the agent boundary
                # The record stays unsettled: a worker that went on would hold its commit for ever, in silence.
                _log.exception(
                    "record_not_taken",
                    topic=message.topic,
                    partition=message.partition,
                    offset=message.offset,
                )
                on_defect(error)

    app.agent(app.topic(topic, key_type=bytes, value_type=bytes), name=f"agent-{topic}")(agent)


async def _room(dispatcher: Dispatcher, ledger: PartitionLedger) -> None:
    """Wait for room in the window, and for a commit whose metadata is not about to overflow."""
    while dispatcher.window.full:
        await dispatcher.window.room()
    while ledger.congested and not ledger.closed and not dispatcher.draining:  # noqa: ASYNC110 - a commit ends it
        await asyncio.sleep(_CONGESTION_PAUSE_S)


class _App(faust.App):  # type: ignore[misc]  # faust ships no types
    """Faust, without its folder for tables in the current directory: a container's disk may be read-only."""

    def _create_directories(self) -> None:
        """No tables, no folder."""


class _QuietMonitor(Monitor):  # type: ignore[misc]  # faust ships no types
    """Faust's sensor without its bookkeeping per message: nobody reads it, and it costs as much as a dispatch."""

    def on_message_in(self, tp: Any, offset: int, message: Any) -> None:
        """Not kept."""

    def on_stream_event_in(self, tp: Any, offset: int, stream: Any, event: Any) -> None:
        """Not kept."""

    def on_stream_event_out(self, tp: Any, offset: int, stream: Any, event: Any, state: Any = None) -> None:
        """Not kept."""

    def on_message_out(self, tp: Any, offset: int, message: Any) -> None:
        """Not kept."""

    def track_tp_end_offset(self, tp: Any, offset: int) -> None:
        """Not kept."""
