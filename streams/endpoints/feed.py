"""The endpoint feed: the compacted topic `outbox.endpoints` becomes the directory's endpoints.

Loaded whole before the first event is taken, and followed from then on by a thread. A record that can't be
read is logged and skipped: the endpoint stays as it was, and the rest flows.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping

import structlog

from connectors.kafka.compacted import CompactedReader
from connectors.kafka.errors import TopicUnanswered
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.errors import WebhookError
from connectors.webhook.key_ring import NO_KEYS, KeyRing
from streams import topics

__all__ = ["EndpointFeed"]

_log = structlog.get_logger("streams.endpoints")

_POLL_S = 0.2
_AGAIN_S = 1.0
_LOCKED_SHOWN = 20


class EndpointFeed:
    """Feeds endpoints into a directory, on the loop's thread.

    Args:
        bootstrap_servers: where Kafka is.
        put: an endpoint was created or changed.
        remove: the endpoint with this id was deleted.
        keys: open what is sealed. An endpoint that needs another key is taken all the same, and told in the log: its
            deliveries wait, and all others go on.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        put: Callable[[Endpoint], None],
        remove: Callable[[str], None],
        keys: KeyRing = NO_KEYS,
    ) -> None:
        self._servers = bootstrap_servers
        self._put = put
        self._remove = remove
        self._keys = keys
        self._locked: dict[str, tuple[str, ...]] = {}
        self._is_loaded = False
        self._stopping = threading.Event()
        self._apply: Callable[[bytes, bytes | None], None] = self._decode
        self._reader = CompactedReader(
            bootstrap_servers,
            topic=topics.ENDPOINTS,
            client_id="outbox-endpoint-feed",
            apply=lambda key, value: self._apply(key, value),  # noqa: PLW0108 - it changes after the load
        )
        self._thread = threading.Thread(target=self._follow, name="outbox-endpoint-feed", daemon=True)

    async def start(self, *, stopping: Callable[[], bool]) -> bool:
        """Load all endpoints, then begin to follow. While no broker answers, it waits; False if it was stopped first.

        A worker that gave up instead would be started again and again, with longer and longer pauses by whoever
        supervises it, and be away long after its broker is back.

        Raises:
            TopicUnreadable: the topic is missing.
        """
        loop = asyncio.get_running_loop()
        # Nothing else runs yet, so the load may touch the directory from its thread; a hop per record would be slow.
        started_s = time.monotonic()
        count = await loop.run_in_executor(None, self._load, stopping)
        if count is None:
            return False
        duration_ms = round((time.monotonic() - started_s) * 1000)
        _log.info("endpoints_loaded", records=count, duration_ms=duration_ms)
        # Not at each record: the topic may hold an endpoint's earlier states, too.
        _tell_locked(self._locked)
        self._is_loaded = True

        def apply_on_loop(key: bytes, value: bytes | None) -> None:
            loop.call_soon_threadsafe(self._decode, key, value)

        self._apply = apply_on_loop
        self._thread.start()
        return True

    async def stop(self) -> None:
        """Stop following."""
        self._stopping.set()
        if self._thread.is_alive():
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)
        self._reader.close()

    def _load(self, stopping: Callable[[], bool]) -> int | None:
        while not stopping():
            try:
                return self._reader.load()
            except TopicUnanswered as error:
                _log.warning("waiting_for_kafka", servers=self._servers, error=str(error))
                self._stopping.wait(_AGAIN_S)  # a refusal may come at once, and again
        return None

    def _follow(self) -> None:
        while not self._stopping.is_set():
            self._reader.follow(timeout_s=_POLL_S)

    def _decode(self, key: bytes, value: bytes | None) -> None:
        endpoint_id = key.decode(errors="replace")
        if value is None:
            self._locked.pop(endpoint_id, None)
            self._remove(endpoint_id)
            return
        try:
            endpoint = Endpoint.from_json(value, self._keys)
        except WebhookError as error:
            _log.error("endpoint_unreadable", endpoint=endpoint_id[:80], error=str(error))
            return
        self._put(endpoint)
        self._locked.pop(endpoint_id, None)
        if missing := endpoint.missing_key_ids:
            self._locked[endpoint_id] = missing
            if self._is_loaded:
                _tell_locked({endpoint_id: missing})


def _tell_locked(locked: Mapping[str, tuple[str, ...]]) -> None:
    """Say which keys are missing, and for which endpoints: a line for each key, however many they are."""
    for key_id in sorted({key_id for key_ids in locked.values() for key_id in key_ids}):
        endpoints = [endpoint_id for endpoint_id, key_ids in locked.items() if key_id in key_ids]
        _log.error(
            "endpoints_locked",
            missing_key=key_id,
            count=len(endpoints),
            endpoints=endpoints[:_LOCKED_SHOWN],
            do="add the key to this worker's OUTBOX_ENCRYPTION_KEYS; their deliveries wait until then",
        )
