"""The site of one run: its endpoints, its receiver, its workers, scheduler and recorder, and its load."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random, SystemRandom
from typing import Final, Literal

import orjson
import psycopg

from connectors.postgres.endpoints import EndpointStore, new_endpoint_id
from connectors.webhook.endpoint import Endpoint
from devstack.port import choose_ports
from outbox.event_filter import EventFilter
from streams import topics
from tests.faults.harness.facts import Commits, Partition
from tests.faults.harness.ground import Ground
from tests.faults.harness.load import Load
from tests.faults.harness.plan import ATTEMPTS, BEHAVIOURS, SCHEDULE, Behaviour, prefix_of
from tests.faults.harness.processes import Fleet, Member
from tests.faults.harness.pulse import Pulse
from tests.support.marks import URL_MARK, marked_secret
from tests.support.stepped_clock import ClockStep
from tests.support.topics import TopicTail, committed, group_is_stable, topic_ends

__all__ = ["Site", "open_site"]

_RECEIVER: Final = "tests.faults.harness.receiver"
_ALTERED: Final = "tests.faults.harness.altered"
_NORMAL_LIMIT_S: Final = 60.0
_WORKERS_READ: Final = frozenset({topics.EVENTS, topics.REDELIVERY})


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What the faults of a run may lay hands on."""

    run: str
    ground: Ground
    fleet: Fleet
    load: Load
    pulse: Pulse
    clock: ClockStep
    targets: Mapping[str, str]
    journals: tuple[Path, Path]
    logs: Path
    began_ms: float
    worker: Member
    rng: Random

    @property
    def kafka(self) -> str:
        return self.ground.stack.kafka.bootstrap_servers

    @property
    def behaviours(self) -> dict[str, Behaviour]:
        """How each target behaves, by its name on the wire."""
        return {self.targets[behaviour.name]: behaviour for behaviour in BEHAVIOURS}

    def commits(
        self, whose: Literal["worker", "scheduler", "both"], *, of: frozenset[Partition] | None = None
    ) -> Commits:
        """What the workers, the schedulers or both have committed now; `of` are the partitions that a fault hits."""
        groups = {"worker": [topics.WORKER_GROUP], "scheduler": [topics.SCHEDULER_GROUP]}
        found = {
            partition: commit
            for group in groups.get(whose, [topics.WORKER_GROUP, topics.SCHEDULER_GROUP])
            for partition, commit in committed(self.kafka, group).items()
        }
        read = {
            "worker": _WORKERS_READ,
            "scheduler": frozenset(self.ground.retry_topics),
            "both": _WORKERS_READ | set(self.ground.retry_topics),
        }
        return Commits(read[whose], found, of)

    def partitions_of(self, member: str) -> frozenset[Partition] | None:
        """What a worker was assigned last since it started, as its log says; None if nothing yet."""
        assigned: frozenset[Partition] | None = None
        for line in self.fleet.members[member].log.read_bytes().splitlines():
            if b'"endpoints_loaded"' in line:
                assigned = None
            elif b'"partitions_assigned"' in line:
                named = (text.rpartition("/") for text in orjson.loads(line)["partitions"].split())
                assigned = frozenset((topic, int(number)) for topic, _, number in named)
        return assigned

    def unlogged(self) -> int:
        """How many attempt records the recorder has not passed with a commit."""
        passed = committed(self.kafka, topics.RECORDER_GROUP)
        ends = topic_ends(self.kafka, topics.ATTEMPTS)
        found = {number: passed.get((topics.ATTEMPTS, number)) for number in ends}
        return sum(end - (commit.offset if (commit := found[number]) else 0) for number, end in ends.items())

    def has_workers(self, number: int) -> bool:
        """Has the group this many members, each of them with its partitions?"""
        return group_is_stable(self.kafka, topics.WORKER_GROUP, members=number)

    def is_normal(self) -> bool:
        """Nothing is late, and every worker has its partitions."""
        return self.pulse.late() == 0 and self.has_workers(len(self.fleet.names("worker")))

    def add_worker(self, name: str) -> None:
        """One more near worker."""
        self.fleet.add(
            Member(
                name=name,
                arguments=self.worker.arguments,
                environment=self.worker.environment,
                log=self.logs / f"{name}.log",
            )
        )


@contextmanager
def open_site(
    ground: Ground, *, seed: int, rate: float, mutant: str = "none", far: bool = True
) -> Iterator[Site]:
    """Start a run's processes and its load; when the block begins, everything flows."""
    run = secrets.token_hex(3)
    logs = ground.folder / run
    logs.mkdir(parents=True)
    journals = (logs / "receiver.journal", logs / "handlers.journal")
    port = choose_ports(["receiver"], remembered={}, rng=SystemRandom())["receiver"]
    with ExitStack() as exits:
        targets = _add_endpoints(ground, run, port=port, exits=exits)
        clock = ClockStep(logs / "clock-step")
        altered = [
            "-m",
            _ALTERED,
            mutant,
        ]
        worker = Member(
            name="worker-near",
            arguments=[*altered, str(ClockStep(logs / "clock-true").path), "worker"],
            environment=_worker_environment(ground, run, journals[1]),
            log=logs / "worker-near.log",
        )
        pulse = Pulse(journals, targets=targets)
        fleet = Fleet()
        site = Site(
            run=run,
            ground=ground,
            fleet=fleet,
            load=Load(
                lambda: ground.stack.postgres.url,
                run=run,
                rng=Random(seed),
                rate=rate,
                on_commit=pulse.on_commit,
            ),
            pulse=pulse,
            clock=clock,
            targets=targets,
            journals=journals,
            logs=logs,
            began_ms=time.time() * 1000,
            worker=worker,
            rng=Random(seed + 1),
        )
        for member in _members(site, altered=altered, port=port, far=far):
            fleet.add(member)
        fleet.begin()
        exits.callback(fleet.abort)
        site.load.begin()
        exits.callback(site.load.end)
        _wait_until_it_flows(site, workers=2 if far else 1)
        yield site


def _wait_until_it_flows(site: Site, *, workers: int) -> None:
    pulse, logs = site.pulse, site.logs
    if not pulse.wait(lambda: site.has_workers(workers), limit_s=_NORMAL_LIMIT_S):
        raise AssertionError(f"the workers did not join their group; see the logs in {logs}")
    if not pulse.wait(lambda: pulse.late() == 0 and pulse.arrived > 0, limit_s=_NORMAL_LIMIT_S):
        raise AssertionError(
            f"{pulse.late()} deliveries of {pulse.committed} are late; see the logs in {logs}"
        )


def _members(site: Site, *, altered: list[str], port: int, far: bool) -> Iterator[Member]:
    names = [
        f"{b.name}={site.targets[b.name]}={marked_secret(number).reveal()}"
        for number, b in enumerate(BEHAVIOURS)
        if b.kind == "endpoint"
    ]
    ground = site.ground
    yield Member(
        name="receiver",
        arguments=[
            "-m",
            _RECEIVER,
            ground.host,
            str(port),
            str(site.journals[0]),
            *names,
        ],
        environment={},
        log=site.logs / "receiver.log",
    )
    yield site.worker
    if far:
        yield Member(
            name="worker-far",
            arguments=site.worker.arguments,
            environment={**site.worker.environment, "OUTBOX_KAFKA_BOOTSTRAP_SERVERS": ground.far_bootstrap},
            log=site.logs / "worker-far.log",
            inside=ground.inside,
        )
    yield Member(
        name="recorder",
        arguments=[*altered, str(ClockStep(site.logs / "clock-true").path), "recorder"],
        environment={
            "OUTBOX_KAFKA_BOOTSTRAP_SERVERS": site.kafka,
            "OUTBOX_DATABASE_URL": ground.stack.postgres.url,
            "FAULTS_FOLDER": str(site.logs),
        },
        log=site.logs / "recorder.log",
    )
    yield Member(
        name="scheduler",
        arguments=[*altered, str(site.clock.path), "scheduler"],
        environment={
            "OUTBOX_KAFKA_BOOTSTRAP_SERVERS": site.kafka,
            "OUTBOX_TIERS": ground.tiers_setting,
            "OUTBOX_CONNECT_URL": ground.stack.settings.connect_url,
            "FAULTS_FOLDER": str(site.logs),
        },
        log=site.logs / "scheduler.log",
    )


def _worker_environment(ground: Ground, run: str, journal: Path) -> dict[str, str]:
    return {
        "OUTBOX_KAFKA_BOOTSTRAP_SERVERS": ground.stack.kafka.bootstrap_servers,
        "OUTBOX_TIERS": ground.tiers_setting,
        "OUTBOX_ENDPOINT_ALLOWED_NETWORKS": f"127.0.0.0/8,{ground.host}/32",
        "OUTBOX_ENDPOINT_SCHEDULE": SCHEDULE,
        "OUTBOX_ENDPOINT_CONNECT_TIMEOUT_S": "2",
        "OUTBOX_ENDPOINT_FIRST_BYTE_TIMEOUT_S": "3",
        "OUTBOX_ENDPOINT_TIMEOUT_S": "4",
        "OUTBOX_HANDLERS": "tests.faults.harness.handlers",
        "OUTBOX_HANDLER_MAX_ATTEMPTS": str(ATTEMPTS),
        "OUTBOX_HANDLER_MAX_DELAY_S": "4",
        "FAULTS_JOURNAL": str(journal),
        "FAULTS_FOLDER": str(journal.parent),
        "FAULTS_PREFIX": prefix_of(run),
        "FAULTS_RUN": run,
    }


def _add_endpoints(ground: Ground, run: str, *, port: int, exits: ExitStack) -> dict[str, str]:
    """The endpoints of the run; they go with it, and what still waits for them is cancelled."""
    targets = {b.name: f"handler:{b.name}-{run}" for b in BEHAVIOURS if b.kind == "handler"}
    with psycopg.connect(ground.stack.postgres.url) as connection:
        for number, behaviour in enumerate(BEHAVIOURS):
            if behaviour.kind == "endpoint":
                endpoint_id = new_endpoint_id()
                targets[behaviour.name] = f"endpoint:{endpoint_id}"
                EndpointStore(connection).add(
                    Endpoint(
                        id=endpoint_id,
                        url=f"http://{ground.host}:{port}/in/{behaviour.name}?token={URL_MARK}",
                        event_types=(EventFilter(f"{prefix_of(run)}.{behaviour.wants}"),),
                        secrets=(marked_secret(number),),
                        created_at=datetime.now(UTC),
                    )
                )
                exits.callback(_remove_endpoint, ground, endpoint_id)
    _wait_until_published(ground, targets[BEHAVIOURS[-1].name])
    return targets


def _wait_until_published(ground: Ground, target: str) -> None:
    """A worker that starts now loads all of them before it takes its first event."""
    key = target.removeprefix("endpoint:").encode()
    tail = TopicTail(ground.stack.kafka.bootstrap_servers, topics.ENDPOINTS, from_beginning=True)
    tail.wait_until(lambda records: any(record.key == key for record in records), what=target)
    tail.close()


def _remove_endpoint(ground: Ground, endpoint_id: str) -> None:
    with psycopg.connect(ground.stack.postgres.url) as connection:
        EndpointStore(connection).remove(endpoint_id)
