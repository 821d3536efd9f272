"""Asking for a replay: the checks that a request must pass, and the row that it becomes.

Place in the data's way: what the API's operations and the command line share. A request that is repeated with its key
is answered from the row, before anything is checked: what it asked for was done, whatever has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import psycopg

from connectors.kafka.read_record import RecordReader
from connectors.postgres.audit import Actor
from connectors.postgres.delivery_log import DeliveryLog
from connectors.postgres.endpoints import EndpointStore
from connectors.postgres.errors import EndpointNotFoundError
from connectors.postgres.logged_delivery import LoggedDelivery
from connectors.postgres.replays import ReplayStore
from connectors.postgres.stored_replay import NewReplay, Replay
from streams.errors import EventGone, RecordMalformed, ReplayRefused
from streams.records.delivery import Origin
from streams.records.target import TargetName, parse_target
from streams.records.wire import read_origin
from streams.replay.pace import DEFAULT_RATE_PER_S
from streams.replay.places_source import delivery_at
from streams.replay.range_selection import NEEDS_TYPES, RangeSelection, needs_types
from streams.replay.recovery_ports import disabled
from streams.replay.selection import Place, PlacesSelection, RecoverySelection

__all__ = ["check_range", "request_range", "request_recovery", "request_resend"]


def request_resend(
    connection: psycopg.Connection[Any],
    delivery_id: str,
    *,
    actor: Actor,
    idempotency_key: str | None,
    new_reader: Callable[[], RecordReader],
) -> Replay:
    """Ask for one delivery to be made again, whatever became of it.

    Raises:
        DeliveryNotFoundError: the log has none of this id.
        ReplayRefused: its endpoint is gone or disabled, or its event (`EventGone`).
        IdempotencyKeyReusedError: the key asked for something else.
        ClusterUnreachable: Kafka was to be asked for the event, and gave no answer.
    """
    store = ReplayStore(connection, actor=actor)
    known = None if idempotency_key is None else store.known("resend", idempotency_key=idempotency_key)
    if known is not None and known.selection.get("delivery_id") == delivery_id:
        return known  # even if the log has dropped the delivery since
    delivery, _ = DeliveryLog(connection).get(delivery_id, newest=0)
    target = parse_target(delivery.target)
    place = Place(at=_origin(delivery), event_id=delivery.event_id, target=target)
    new = NewReplay(
        kind="resend",
        target=delivery.target,
        selection={"delivery_id": str(delivery.id), **PlacesSelection(places=(place,)).to_json()},
        rate_per_s=DEFAULT_RATE_PER_S,
    )
    if known is None:
        _check_target(connection, target)
        _check_event(new_reader, place)
    return store.request(new, idempotency_key=idempotency_key, endpoint_ids=_endpoint_ids([target]))


def request_recovery(
    connection: psycopg.Connection[Any],
    endpoint_id: str,
    *,
    since: datetime,
    until: datetime | None,
    rate_per_s: float,
    actor: Actor,
    idempotency_key: str | None,
) -> Replay:
    """Ask for what an endpoint should have got since a time, and has not.

    Raises:
        EndpointNotFoundError: there is no such endpoint.
        ReplayRefused: it is disabled.
        IdempotencyKeyReusedError: the key asked for something else.
    """
    target = TargetName("endpoint", endpoint_id)
    store = ReplayStore(connection, actor=actor)
    new = NewReplay(
        kind="recovery",
        target=str(target),
        selection=RecoverySelection(since=since, until=until).to_json(),
        rate_per_s=rate_per_s,
    )
    is_new = idempotency_key is None or store.known("recovery", idempotency_key=idempotency_key) is None
    if is_new and not EndpointStore(connection).stored(endpoint_id).endpoint.enabled:
        raise disabled(endpoint_id)
    return store.request(new, idempotency_key=idempotency_key, endpoint_ids=[endpoint_id])


def request_range(
    connection: psycopg.Connection[Any],
    selection: RangeSelection,
    *,
    rate_per_s: float,
    actor: Actor,
    idempotency_key: str | None,
) -> Replay:
    """Ask for the events of a range to be sent to its targets, whatever was delivered before.

    Raises:
        ReplayRefused: one of the endpoints is not there, or disabled; or a handler is named, and no types.
        IdempotencyKeyReusedError: the key asked for something else.
    """
    store = ReplayStore(connection, actor=actor)
    new = NewReplay(
        kind="range",
        target=str(selection.targets[0]) if len(selection.targets) == 1 else None,
        selection=selection.to_json(),
        rate_per_s=rate_per_s,
    )
    if idempotency_key is None or store.known("range", idempotency_key=idempotency_key) is None:
        check_range(connection, selection)
    return store.request(new, idempotency_key=idempotency_key, endpoint_ids=_endpoint_ids(selection.targets))


def check_range(connection: psycopg.Connection[Any], selection: RangeSelection) -> None:
    """Check that a range's targets can be sent something.

    Raises:
        ReplayRefused: as `request_range`.
    """
    if needs_types(selection.targets, selection.types):
        raise ReplayRefused(NEEDS_TYPES)
    for endpoint_id in _endpoint_ids(selection.targets):
        try:
            endpoint = EndpointStore(connection).stored(endpoint_id).endpoint
        except EndpointNotFoundError as error:
            raise ReplayRefused(str(error)) from None
        if not endpoint.enabled:
            raise disabled(endpoint_id)


def _check_target(connection: psycopg.Connection[Any], target: TargetName) -> None:
    """Check that the delivery has somebody to go to. Which handlers there are, the workers alone know."""
    if target.kind != "endpoint":
        return
    try:
        endpoint = EndpointStore(connection).stored(target.name).endpoint
    except EndpointNotFoundError:
        raise ReplayRefused(
            f"Endpoint {target.name} was removed, so nothing can be sent to it. A new endpoint gets what it has missed "
            "by a recovery."
        ) from None
    if not endpoint.enabled:
        raise disabled(target.name)


def _check_event(new_reader: Callable[[], RecordReader], place: Place) -> None:
    """Check that Kafka still has the event."""
    with new_reader() as reader:
        try:
            delivery_at(reader, place, replay_id="")
        except RecordMalformed as error:
            raise ReplayRefused(f"The record at {place.at} can't be read: {error}.") from error


def _origin(delivery: LoggedDelivery) -> Origin:
    try:
        return read_origin({"outbox-origin": delivery.origin.encode()})
    except RecordMalformed:
        # Written by a worker that read a record which said so.
        raise EventGone(f"Delivery {delivery.id} does not say where on Kafka its event stands.") from None


def _endpoint_ids(targets: Sequence[TargetName]) -> list[str]:
    return [target.name for target in targets if target.kind == "endpoint"]
