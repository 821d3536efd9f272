"""Which endpoints the workers can't know: those in Postgres that `outbox.endpoints` has no newest state of.

Place in the data's way: beside it; setup and doctor compare the two ends of the way that endpoints take. A
topic that was deleted, or a Kafka that is new, is empty, and workers deliver to nobody without an error.
Changes nothing.
"""

from time import monotonic

from connectors.kafka.compacted import CompactedReader
from connectors.postgres.connection import connect
from connectors.postgres.endpoints import EndpointStore
from connectors.postgres.errors import SchemaMissingError
from streams.settings import Settings
from streams.topics import ENDPOINTS

__all__ = ["stored_endpoints", "untold_endpoints"]

# An endpoint that was added a moment ago is still on its way.
_ON_ITS_WAY_S = 2.0


def stored_endpoints(settings: Settings) -> frozenset[str]:
    """Give the ids of the endpoints in Postgres; none where their table is still to be made.

    Raises:
        PostgresError: it can't be reached, or refuses to tell.
    """
    with connect(settings.database_url.get_secret_value()) as connection:
        try:
            return frozenset(EndpointStore(connection).ids())
        except SchemaMissingError:
            return frozenset()


def untold_endpoints(settings: Settings, stored: frozenset[str], *, has_topic: bool) -> frozenset[str]:
    """Give those of the stored endpoints that the topic lacks.

    Args:
        settings: where Kafka is.
        stored: the ids in Postgres, read before.
        has_topic: whether the topic exists; one that doesn't is not asked for, lest the broker make it.

    Raises:
        TopicUnreadable: Kafka doesn't give the topic's records.
    """
    if not stored or not has_topic:
        return stored
    told: set[str] = set()

    def take(key: bytes, value: bytes | None) -> None:
        endpoint_id = key.decode(errors="replace")
        (told.discard if value is None else told.add)(endpoint_id)

    reader = CompactedReader(
        settings.kafka_bootstrap_servers, topic=ENDPOINTS, client_id="outbox-endpoint-check", apply=take
    )
    try:
        reader.load()
        until_s = monotonic() + _ON_ITS_WAY_S
        while stored - told and (left_s := until_s - monotonic()) > 0:
            reader.follow(timeout_s=left_s)
        return stored - told
    finally:
        reader.close()
