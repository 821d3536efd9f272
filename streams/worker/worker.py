"""A worker: put together, started, stopped.

Needs Kafka and nothing else (INV-10). Starts in the order of need: endpoints into memory, then the Faust
app, which joins the group. Stops in reverse: nothing new is taken, what has begun ends or is parked within
the drain limit, offsets are committed, connections are closed.
"""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import structlog
from prometheus_client import CollectorRegistry

from connectors.kafka.loop_producer import LoopProducer
from connectors.kafka.producer import producer_config
from connectors.webhook.address import address_judge
from connectors.webhook.dial import AddressJudge
from connectors.webhook.limits import Limits
from connectors.webhook.sender import Sender
from outbox.handlers import Handler
from streams.commit.lease import Lease
from streams.commit.ledgers import Ledgers
from streams.dispatch.directory import Directory
from streams.dispatch.dispatcher import Dispatcher
from streams.dispatch.endpoint_target import EndpointTarget
from streams.dispatch.flood_log import log_flood
from streams.dispatch.handler_calls import HandlerCalls
from streams.dispatch.handler_target import HandlerTarget
from streams.dispatch.holding import FloodSign, Holding
from streams.dispatch.window import Window
from streams.endpoints.feed import EndpointFeed
from streams.errors import WorkerFailed
from streams.log import log_attempt
from streams.metrics.flood_metrics import FloodMetrics
from streams.metrics.serving import serving
from streams.records.outcome import ErrorCode
from streams.retry.policy import ExponentialBackoff, RetryPolicy, ScheduledBackoff
from streams.retry.tiers import RetryTiers
from streams.settings import Settings
from streams.surroundings import SystemSurroundings
from streams.worker.app import new_app
from streams.worker.interpreter import shorten_pauses

__all__ = ["run_worker"]

_log = structlog.get_logger("streams.worker")

_FLUSH_LIMIT_S = 5.0
#: What a stop may take beyond its drain: Kafka's acknowledgements, the last commit, leaving the group.
_STOP_MARGIN_S = 8.0


async def run_worker(settings: Settings, handlers: Iterable[Handler], *, stop: asyncio.Event) -> None:
    """Run until `stop` is set.

    Raises:
        WorkerFailed: it can't go on (a fatal producer error, Faust crashed). Restart the process: nothing
            is lost by it.
        TopicUnreadable: the endpoints' topic is missing.
        SettingsError: it can't listen where metrics should be served.
    """
    registry = CollectorRegistry()
    with serving(settings.metrics_listen, registry):
        await _run(settings, handlers, stop=stop, registry=registry)


async def _run(
    settings: Settings, handlers: Iterable[Handler], *, stop: asyncio.Event, registry: CollectorRegistry
) -> None:
    loop = asyncio.get_running_loop()
    failed: asyncio.Future[None] = loop.create_future()
    around = SystemSurroundings(longest_tier=settings.tiers[-1])

    def fail(error: Exception) -> None:
        if not failed.done():
            failed.set_exception(WorkerFailed(str(error)))

    producer = LoopProducer(
        producer_config(settings.kafka_bootstrap_servers, client_id="outbox-worker"), loop=loop, on_fatal=fail
    )
    sender = Sender(limits=_limits(settings), judge_address=_judge(settings))
    calls = HandlerCalls()
    directory = _directory(settings, handlers, calls=calls, sender=sender, around=around)
    lease = Lease(session_s=settings.session_timeout_s, monotonic_s=around.monotonic_s)
    tiers = RetryTiers(settings.tiers, lanes=settings.lanes)
    dispatcher = Dispatcher(
        directory=directory,
        producer=producer,
        tiers=tiers,
        window=Window(settings.window),
        park_wait_s=settings.park_wait_s,
        discard_unrouted=settings.unrouted == "discard",
        observe=log_attempt,
        surroundings=around,
        may_begin=lease.held,
        holding=_holding(settings, directory, tiers=tiers, around=around, metrics=FloodMetrics(registry)),
    )
    feed = EndpointFeed(
        settings.kafka_bootstrap_servers,
        put=directory.put_endpoint,
        remove=directory.remove_endpoint,
        keys=settings.key_ring(),
    )
    app = new_app(settings, ledgers=Ledgers(), lease=lease, dispatcher=dispatcher, on_defect=fail)
    try:
        if await feed.start(stopping=stop.is_set):
            shorten_pauses()
            await app.start()
            _log.info("worker_started", handlers=directory.handler_count, endpoints=directory.endpoint_count)
            await _until(stop, failed, app)
    finally:
        _log.info("worker_stopping", open_turns=dispatcher.window.open_turns)
        await _stop_app(app, limit_s=settings.drain_limit_s + _STOP_MARGIN_S)
        await producer.flush(timeout_s=_FLUSH_LIMIT_S)
        await feed.stop()
        await sender.close()
        calls.close()
        producer.close()
        _log.info("worker_stopped")


async def _stop_app(app: Any, *, limit_s: float) -> None:
    """Drain, commit and leave the group. Without a broker there is no leaving: then the time limit ends it."""
    try:
        await asyncio.wait_for(app.stop(), timeout=limit_s)
    except TimeoutError:
        _log.error("stop_cut_short", limit_s=limit_s)
    except Exception:  # noqa: BLE001 - Faust's stop after a crash may raise anything; the rest must be closed
        _log.exception("stop_failed")


async def _until(stop: asyncio.Event, failed: "asyncio.Future[None]", app: Any) -> None:
    """Wait for the stop, or for what makes going on impossible."""
    stopping = asyncio.ensure_future(stop.wait())
    crashed = asyncio.ensure_future(app.wait_until_stopped())
    await asyncio.wait((stopping, failed, crashed), return_when=asyncio.FIRST_COMPLETED)
    if failed.done():
        failed.result()
    if crashed.done() and not stopping.done():
        raise WorkerFailed(
            "Faust stopped by itself; the lines above say why. The process should be restarted."
        )
    stopping.cancel()
    crashed.cancel()


def _directory(
    settings: Settings,
    handlers: Iterable[Handler],
    *,
    calls: HandlerCalls,
    sender: Sender,
    around: SystemSurroundings,
) -> Directory:
    handler_policy = RetryPolicy(
        max_attempts=settings.handler_max_attempts,
        max_age=timedelta(hours=settings.handler_max_age_hours),
        backoff=ExponentialBackoff(
            base=timedelta(seconds=settings.handler_base_delay_s),
            cap=timedelta(seconds=settings.handler_max_delay_s),
        ),
        exhausted_code=ErrorCode.HANDLER_TEMPORARY_FAILURE,
    )
    endpoint_policy = RetryPolicy(
        max_attempts=len(settings.endpoint_schedule) + 1,
        max_age=timedelta(hours=settings.endpoint_max_age_hours),
        backoff=ScheduledBackoff(delays=settings.endpoint_schedule),
        exhausted_code=ErrorCode.ENDPOINT_EXHAUSTED,
    )
    return Directory(
        (HandlerTarget(handler, calls=calls, policy=handler_policy) for handler in handlers),
        new_endpoint_target=lambda endpoint_id: EndpointTarget(
            endpoint_id,
            sender=sender,
            policy=endpoint_policy,
            concurrency=settings.endpoint_concurrency,
            now=around.now,
            monotonic_s=around.monotonic_s,
        ),
    )


def _holding(
    settings: Settings,
    directory: Directory,
    *,
    tiers: RetryTiers,
    around: SystemSurroundings,
    metrics: FloodMetrics,
) -> Holding:
    def tell(sign: FloodSign) -> None:
        log_flood(sign)
        metrics.tell(sign)

    return Holding(
        share=settings.flood_share,
        window=timedelta(seconds=settings.flood_window_s),
        longest=timedelta(hours=settings.flood_hold_hours),
        known_targets=lambda: directory.handler_count + directory.endpoint_count,
        tell=tell,
        tiers=tiers,
        surroundings=around,
    )


def _judge(settings: Settings) -> AddressJudge:
    return address_judge(
        settings.endpoint_allowed_networks, plain_http=settings.endpoint_plain_http == "allow"
    )


def _limits(settings: Settings) -> Limits:
    return Limits(
        connect=timedelta(seconds=settings.endpoint_connect_timeout_s),
        first_byte=timedelta(seconds=settings.endpoint_first_byte_timeout_s),
        total=timedelta(seconds=settings.endpoint_timeout_s),
    )
