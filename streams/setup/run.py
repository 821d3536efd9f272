"""Taking the steps, in order, and waiting until Debezium streams.

Place in the data's way: the thin shell around the plan; every change that setup makes is made here.
Invariants: each step can be repeated, so a setup that was cut off is run again. What is reported as done is
done. It returns only when a row committed from then on is on its way: the task runs and holds the slot.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

import structlog

from connectors.kafka.admin import KafkaAdmin
from connectors.kafka.errors import TopicUnreadable
from connectors.kafka_connect.client import ConnectClient
from connectors.kafka_connect.connector import CONNECTOR_NAME, PUBLICATION_NAME, SLOT_NAME
from connectors.kafka_connect.status import State
from connectors.postgres.capture_gaps import note_gap
from connectors.postgres.connection import connect as connect_postgres
from connectors.postgres.endpoints import EndpointStore
from connectors.postgres.publication import put_publication_right
from connectors.postgres.replication import create_slot, read_replication
from connectors.postgres.schema import migrate
from streams.errors import SetupError
from streams.settings import Settings
from streams.setup.endpoints import stored_endpoints, untold_endpoints
from streams.setup.facts import Wanted, gather, wanted
from streams.setup.plan import Plan, make_plan
from streams.setup.steps import (
    ChangeConnector,
    ChangeTopic,
    CreateConnector,
    CreateSlot,
    FixPublication,
    Migrate,
    RestartConnector,
    ResumeConnector,
    Step,
    TellEndpoints,
)

__all__ = ["run_setup"]

_log = structlog.get_logger("streams.setup")

_LOOK_AGAIN_S = 0.2
_STOPPED_WITHIN = timedelta(seconds=30)


async def run_setup(
    settings: Settings,
    *,
    dry_run: bool,
    on_step: Callable[[Step], None],
    limit: timedelta = timedelta(seconds=90),
) -> Plan:
    """Bring everything to the wanted state, and give the plan that was carried out.

    Args:
        settings: with database, Kafka and Connect set.
        dry_run: only plan.
        on_step: called with each step when it is done (never in a dry run).
        limit: how long the connector may take until it streams.

    Raises:
        SetupError: something that setup can't put right; nothing was changed, or what was is reported.
    """
    wants = wanted(settings)
    async with ConnectClient(settings.connect_url) as connect:
        plan = make_plan(wants, await gather(settings, wants, connect))
        if plan.problems:
            raise SetupError(
                "\n".join(["setup can't go on:", *(f"  {problem}" for problem in plan.problems)])
            )
        if dry_run:
            return plan
        shell = _Shell(settings=settings, wants=wants, connect=connect, limit=limit)
        for step in plan.steps:
            await shell.take(step)
            on_step(step)
        await shell.wait_until_streaming()
    return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shell:
    """The clients that steps are taken with."""

    settings: Settings
    wants: Wanted
    connect: ConnectClient
    limit: timedelta

    @property
    def _database_url(self) -> str:
        return self.settings.database_url.get_secret_value()

    async def take(self, step: Step) -> None:
        match step:
            case Migrate():
                await asyncio.to_thread(migrate, self._database_url)
            case FixPublication(name=name, faults=faults):
                await self._note_gap()
                await asyncio.to_thread(
                    put_publication_right, self._database_url, publication=name, faults=faults
                )
            case CreateSlot(name=name):
                await self._note_gap()
                await asyncio.to_thread(create_slot, self._database_url, slot=name)
            case ChangeTopic(change=change):
                admin = KafkaAdmin(self.settings.kafka_bootstrap_servers)
                await asyncio.to_thread(admin.apply, [change])
            case CreateConnector(name=name):
                await self._create(name)
            case ChangeConnector(name=name, forget_position=forget):
                await self._change(name, forget_position=forget)
            case RestartConnector(name=name):
                await self.connect.restart_failed(name)
            case ResumeConnector(name=name):
                await self.connect.resume(name)
            case TellEndpoints():
                await self._tell_endpoints()
            case _:
                assert_never(step)

    async def _note_gap(self) -> None:
        """Rows committed up to now may never be sent: `outbox prune` leaves them to who looks for them."""
        await asyncio.to_thread(note_gap, self._database_url, slot=SLOT_NAME)

    async def _create(self, name: str) -> None:
        """Create it stopped first: positions outlive a deleted connector, and would be those of an older slot."""
        if not await self.connect.create_stopped(name, self.wants.connector):
            return  # another setup was quicker, and goes on with it
        await self._until_stopped(name)
        if await self.connect.stored_lsn(name) is not None:
            await self.connect.forget_offsets(name)
        await self.connect.resume(name)

    async def _change(self, name: str, *, forget_position: bool) -> None:
        if forget_position:
            await self._note_gap()
            await self.connect.stop(name)
            await self._until_stopped(name)
            await self.connect.forget_offsets(name)
        await self.connect.put_config(name, self.wants.connector)
        if forget_position:
            await self.connect.resume(name)

    async def _tell_endpoints(self) -> None:
        """Publish them when Debezium surely carries them, and wait until the workers' topic has them."""
        await self.wait_until_streaming()
        unreadable = await asyncio.to_thread(self._tell_all)
        try:
            async with asyncio.timeout(self.limit.total_seconds()):
                while True:
                    if await asyncio.to_thread(self._all_told, besides=unreadable):
                        return
                    await asyncio.sleep(_LOOK_AGAIN_S)
        except TimeoutError as error:
            raise SetupError(
                f"the endpoints were published again, and not all came to Kafka within"
                f" {self.limit.total_seconds():g} s: see the log of Kafka Connect, and run setup again"
            ) from error

    def _tell_all(self) -> frozenset[str]:
        """Tell what can be told, and give the ids of the others. One endpoint holds up no setup."""
        with connect_postgres(self._database_url) as connection:
            _, unreadable = EndpointStore(connection).tell_all()
        for one in unreadable:
            _log.warning("endpoint_unreadable", endpoint_id=one.id, error=one.why)
        return frozenset(one.id for one in unreadable)

    def _all_told(self, *, besides: frozenset[str]) -> bool:
        stored = stored_endpoints(self.settings) - besides
        try:
            return not untold_endpoints(self.settings, stored, has_topic=True)
        except TopicUnreadable:
            return False  # it was made a moment ago

    async def _until_stopped(self, name: str) -> None:
        """Wait until no task is left: only then does Connect let positions go."""
        try:
            async with asyncio.timeout(_STOPPED_WITHIN.total_seconds()):
                while True:
                    status = await self.connect.status(name)
                    if status is not None and status.state is State.STOPPED and not status.tasks:
                        return
                    await asyncio.sleep(_LOOK_AGAIN_S)
        except TimeoutError as error:
            raise SetupError(
                f"the connector {name} does not stop within {_STOPPED_WITHIN.total_seconds():g} s;"
                " see the log of Kafka Connect, and run setup again"
            ) from error

    async def wait_until_streaming(self) -> None:
        """Wait until the task runs and reads from the slot.

        Raises:
            SetupError: it failed, or the time ran out; with what Connect says.
        """
        last = "it has no status yet"
        try:
            async with asyncio.timeout(self.limit.total_seconds()):
                while True:
                    status = await self.connect.status(CONNECTOR_NAME)
                    if status is not None and status.failed:
                        raise SetupError(f"the connector {CONNECTOR_NAME} failed: {status.failure}")
                    if status is not None:
                        last = f"its states are {', '.join([status.state, *(task.state for task in status.tasks)])}"
                    if status is not None and status.running:
                        last = "it runs, but does not read from the replication slot"
                        if await asyncio.to_thread(self._slot_is_read):
                            return
                    await asyncio.sleep(_LOOK_AGAIN_S)
        except TimeoutError as error:
            raise SetupError(
                f"the connector {CONNECTOR_NAME} does not stream after {self.limit.total_seconds():g} s: {last}."
                " See the log of Kafka Connect, and run setup again."
            ) from error

    def _slot_is_read(self) -> bool:
        found = read_replication(self._database_url, slot=SLOT_NAME, publication=PUBLICATION_NAME)
        return found.slot is not None and found.slot.active
