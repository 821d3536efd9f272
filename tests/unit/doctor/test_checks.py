"""The doctor's checks: all is well where it is, and each thing that bites has its finding."""

from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import SecretStr

from connectors.kafka.admin import Cluster
from connectors.kafka.topics import ExistingTopic
from connectors.kafka_connect.status import ConnectorStatus, State
from connectors.postgres.sealings import SealingCount
from streams.doctor import Finding, Severity
from streams.doctor.examine import check
from streams.doctor.facts import ConnectFacts, DatabaseFacts, EndpointFacts, Facts, KafkaFacts, Unreachable
from streams.settings import Settings
from streams.setup.facts import wanted
from tests.unit.setup.environment import (
    CLUSTER,
    REPLICATION,
    RUNNING,
    SETTINGS,
    SLOT,
    WANTS,
    failed,
    with_topic,
)

GIB = 1024**3
MIB = 1024**2
DATABASE = DatabaseFacts(
    pending=(), replication=REPLICATION, clock_ahead=timedelta(0), round_trip=timedelta(milliseconds=20)
)
KAFKA = KafkaFacts(cluster=CLUSTER, heartbeat_age=timedelta(seconds=4), recorders=1, unrecorded=40)
ENDPOINTS = EndpointFacts(stored=frozenset({"ep_1", "ep_2"}), untold=frozenset())
CONNECT = ConnectFacts(plugins=frozenset(), config=WANTS.connector, status=RUNNING, stored_lsn=950)
WELL = Facts(
    settings=SETTINGS, wants=WANTS, database=DATABASE, kafka=KAFKA, connect=CONNECT, endpoints=ENDPOINTS
)


def bad(facts: Facts) -> list[Finding]:
    return [finding for finding in check(facts) if finding.severity is not Severity.OK]


def postgres(**changes: object) -> Facts:
    return replace(WELL, database=replace(DATABASE, replication=replace(REPLICATION, **changes)))  # type: ignore[arg-type]  # any field


def slot(**changes: object) -> Facts:
    return postgres(slot=replace(SLOT, **changes))  # type: ignore[arg-type]  # any field


def published(**changes: object) -> Facts:
    assert REPLICATION.publication is not None
    return postgres(publication=replace(REPLICATION.publication, **changes))  # type: ignore[arg-type]  # any field


def kafka(cluster: Cluster) -> Facts:
    return replace(WELL, kafka=replace(KAFKA, cluster=cluster))


def configured(**config: str) -> Facts:
    changed = {**WANTS.connector, **{name.replace("__", "."): value for name, value in config.items()}}
    return replace(WELL, connect=replace(CONNECT, config=changed))


def status(seen: ConnectorStatus | None) -> Facts:
    return replace(WELL, connect=replace(CONNECT, status=seen))


def clock(ahead_s: float, round_trip_s: float = 0.02) -> Facts:
    database = replace(
        DATABASE, clock_ahead=timedelta(seconds=ahead_s), round_trip=timedelta(seconds=round_trip_s)
    )
    return replace(WELL, database=database)


def copies(count: int, *, in_sync: int = 2) -> Facts:
    """Topics with this many copies on three brokers."""
    topics = {name: replace(topic, replication_factor=count) for name, topic in CLUSTER.topics.items()}
    settings = SETTINGS.model_copy(update={"min_insync_replicas": in_sync})
    return replace(kafka(replace(CLUSTER, topics=topics)), settings=settings)


def without(name: str) -> Cluster:
    return replace(CLUSTER, topics={key: topic for key, topic in CLUSTER.topics.items() if key != name})


def sealed(setting: str, **counts: int) -> Facts:
    """How many secrets are stored how: `plain`, or under a key's id."""
    sealings = tuple(
        SealingCount(key_id=None if name == "plain" else name, count=count) for name, count in counts.items()
    )
    settings = SETTINGS.model_copy(update={"encryption_keys": SecretStr(setting)})
    return replace(WELL, settings=settings, database=replace(DATABASE, sealings=sealings))


KEY = "k1:MTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTE="


@pytest.mark.parametrize(
    ("facts", "severity", "said"),
    [
        (sealed(KEY, k1=3), Severity.OK, "3 secrets sealed, none stored as plain text"),
        (sealed("plain", plain=3), Severity.OK, "as OUTBOX_ENCRYPTION_KEYS chooses"),
        (sealed("", plain=3), Severity.WARNING, "OUTBOX_ENCRYPTION_KEYS is not set"),
        (sealed(KEY, plain=1, k1=3), Severity.WARNING, "1 secret stored as plain text"),
        (sealed(KEY, k0=2, k1=3), Severity.ERROR, "2 secrets sealed with the key k0"),
        (sealed("", k0=2), Severity.ERROR, "2 secrets sealed with the key k0"),
    ],
)
def test_secrets_at_rest_are_judged_by_keys_and_choice(facts: Facts, severity: Severity, said: str) -> None:
    """Plain text is told unless somebody chose it; what can't be opened is an error."""
    [finding] = [finding for finding in check(facts) if finding.check == "sealing"]
    assert (finding.severity, said in finding.what) == (severity, True)


def test_where_all_is_well_every_finding_is_ok() -> None:
    findings = check(WELL)
    assert {finding.severity for finding in findings} == {Severity.OK}
    assert {finding.check for finding in findings} == {
        *("migrations", "wal-level", "publication", "slot", "slot-wal"),
        *("connector", "connector-config", "heartbeat", "position"),
        *("topics", "partitions", "retry-topics", "retention", "topic-config", "replication", "brokers"),
        *("endpoints", "sealing", "recorder", "clock"),
    }


ERRORS: list[tuple[str, Facts, str]] = [
    (
        "migrations",
        replace(WELL, database=replace(DATABASE, pending=("0009",))),
        "1 migration pending: 0009",
    ),
    ("wal-level", postgres(wal_level="replica"), "wal_level = replica"),
    ("publication", postgres(publication=None), "no publication"),
    ("publication", published(tables=frozenset({"outbox.outbox_p1"})), "leaves out outbox.outbox"),
    ("publication", published(inserts=False), "leaves out inserts"),
    ("slot", postgres(slot=None), "no replication slot"),
    ("slot", slot(active=False), "nobody reads"),
    ("slot", slot(wal_status="lost", retained_bytes=None), "is lost"),
    ("slot", slot(database="other"), "another's"),
    ("slot-wal", slot(retained_bytes=10 * GIB), "keeps 10.0 GiB"),
    ("slot-wal", slot(wal_status="unreserved"), "keeps"),
    (
        "slot-wal",
        postgres(max_slot_wal_keep_bytes=64 * MIB, slot=replace(SLOT, retained_bytes=64 * MIB)),
        "allows 64.0 MiB",
    ),
    ("connector", replace(WELL, connect=replace(CONNECT, config=None)), "no connector"),
    ("connector", status(None), "has no status"),
    ("connector", status(failed("the slot is gone")), "failed: the slot is gone"),
    (
        "connector",
        status(ConnectorStatus(name="outbox", state=State.STOPPED, tasks=())),
        "does not run: STOPPED",
    ),
    (
        "converters",
        configured(value__converter="org.apache.kafka.connect.json.JsonConverter"),
        "JsonConverter",
    ),
    ("connector-config", configured(extended__headers__enabled="true"), "extended.headers.enabled is true"),
    ("connector-config", configured(heartbeat__interval__ms="0"), "heartbeat.interval.ms is 0"),
    ("connector-config", configured(snapshot__mode="initial"), "snapshot.mode is initial"),
    ("connector-config", configured(transforms__outbox__route__by__field="type"), "route.by.field is type"),
    ("connector-config", configured(errors__tolerance="all"), "errors.tolerance is all"),
    ("position", replace(WELL, connect=replace(CONNECT, stored_lsn=1_001)), "beyond the end"),
    (
        "position",
        replace(WELL, connect=replace(CONNECT, stored_lsn=899, status=failed("x"))),
        "behind the replication slot",
    ),
    ("topics", kafka(without("outbox.retry-4s")), "1 of 17 topics are missing: outbox.retry-4s"),
    (
        "partitions",
        kafka(with_topic("outbox.redelivery", partitions=5)),
        "outbox.events has 6 partitions and outbox.redelivery 5",
    ),
    ("partitions", kafka(with_topic("outbox.retry-1s", partitions=5)), "outbox.retry-1s has 5 partitions"),
    ("partitions", kafka(with_topic("outbox.attempts", partitions=9)), "outbox.attempts has 9 partitions"),
    ("partitions", kafka(with_topic("outbox.endpoints", partitions=2)), "outbox.endpoints has 2 partitions"),
    (
        "endpoints",
        replace(WELL, endpoints=replace(ENDPOINTS, untold=frozenset({"ep_2"}))),
        "outbox.endpoints lacks 1 of 2 endpoints",
    ),
    (
        "retention",
        kafka(with_topic("outbox.endpoints", config={"cleanup.policy": "delete"})),
        "cleanup.policy=delete",
    ),
    (
        "retention",
        kafka(with_topic("outbox.events", config={"cleanup.policy": "compact"})),
        "cleanup.policy=compact",
    ),
    (
        "retention",
        kafka(with_topic("outbox.retry-1s", config={"retention.ms": str(96 * 3_600_000)})),
        "keeps records for 96h",
    ),
    ("clock", clock(31), "31.000 s ahead of ours"),
    ("clock", clock(-31), "31.000 s behind ours"),
]
WARNINGS: list[tuple[str, Facts, str]] = [
    ("publication", published(via_partition_root=False), "publish_via_partition_root off"),
    ("slot-wal", slot(retained_bytes=2 * GIB), "keeps 2.0 GiB"),
    (
        "slot-wal",
        postgres(max_slot_wal_keep_bytes=64 * MIB, slot=replace(SLOT, retained_bytes=32 * MIB)),
        "allows 64.0 MiB",
    ),
    ("connector-config", configured(max__batch__size="7"), "max.batch.size from unset to 7"),
    ("heartbeat", replace(WELL, kafka=replace(KAFKA, heartbeat_age=timedelta(seconds=41))), "41 s old"),
    ("heartbeat", replace(WELL, kafka=replace(KAFKA, heartbeat_age=None)), "never was a heartbeat"),
    (
        "endpoints",
        replace(WELL, endpoints=Unreachable(reason="permission denied")),
        "not be compared: permission denied",
    ),
    ("retry-topics", kafka(with_topic("outbox.retry-3s")), "outbox.retry-3s"),
    (
        "topic-config",
        kafka(with_topic("outbox.events", config={"max.message.bytes": "1000"})),
        "max.message.bytes=1000",
    ),
    ("replication", copies(2, in_sync=1), "less than 3 copies"),
    ("replication", copies(3, in_sync=1), "min.insync.replicas is 1"),
    ("replication", copies(3, in_sync=3), "min.insync.replicas is 3 of 3"),
    ("brokers", kafka(replace(CLUSTER, broker_config={"auto.create.topics.enable": "true"})), "is true"),
    (
        "recorder",
        replace(WELL, kafka=replace(KAFKA, recorders=0, unrecorded=1)),
        "no recorder runs; 1 attempt not",
    ),
    ("recorder", replace(WELL, kafka=replace(KAFKA, unrecorded=200_000)), "200000 attempts behind"),
    ("recorder", replace(WELL, database=replace(DATABASE, may_make_days=False)), "doesn't own"),
    ("endpoints", replace(WELL, database=replace(DATABASE, disabled_lately=2)), "2 endpoints disabled auto"),
    ("clock", clock(2), "2.000 s ahead of ours"),
]


@pytest.mark.parametrize(
    ("check_name", "facts", "part"), ERRORS, ids=[f"{name}: {part}" for name, _, part in ERRORS]
)
def test_what_stops_or_loses_events_is_an_error(check_name: str, facts: Facts, part: str) -> None:
    """The finding says what it is, why it bites and what to do; `outbox doctor` exits with 1."""
    found = [finding for finding in bad(facts) if finding.check == check_name and part in finding.what]
    assert [finding.severity for finding in found] == [Severity.ERROR]
    assert found[0].why
    assert found[0].do


@pytest.mark.parametrize(
    ("check_name", "facts", "part"), WARNINGS, ids=[f"{name}: {part}" for name, _, part in WARNINGS]
)
def test_what_bites_in_a_bad_hour_is_a_warning(check_name: str, facts: Facts, part: str) -> None:
    found = [finding for finding in bad(facts) if finding.check == check_name and part in finding.what]
    assert [finding.severity for finding in found] == [Severity.WARNING]
    assert found[0].why
    assert found[0].do


@pytest.mark.parametrize("part", ["database", "kafka", "connect"])
def test_what_can_t_be_reached_doesn_t_hide_the_rest(part: str) -> None:
    """In a bad hour the half that answers is what there is."""
    facts = replace(WELL, **{part: Unreachable(reason="no answer")})  # type: ignore[arg-type]  # one of three
    findings = check(facts)
    assert [finding.what for finding in findings if finding.severity is Severity.ERROR] == ["no answer"]
    assert len(findings) > 8


def test_one_broker_is_for_development() -> None:
    """A laptop is no production cluster: one copy is said, not warned of."""
    settings = Settings(database_url=SETTINGS.database_url)
    topics = {
        topic.name: ExistingTopic(
            name=topic.name, partitions=topic.partitions, replication_factor=1, config=topic.config
        )
        for topic in wanted(settings).topics
    }
    cluster = Cluster(broker_ids=(1,), topics=topics, broker_config={})
    facts = replace(kafka(cluster), settings=settings, wants=wanted(settings))
    assert bad(facts) == []


def test_a_deployment_without_a_recorder_is_well() -> None:
    """The delivery log is not needed to deliver: who never started a recorder is told so, and not warned."""
    facts = replace(WELL, kafka=replace(KAFKA, recorders=0, unrecorded=None))
    assert bad(facts) == []
    assert any("no delivery log" in finding.what for finding in check(facts))


def test_a_slow_answer_is_no_wrong_clock() -> None:
    """What is only the time of the round trip must not look like a skew."""
    assert bad(clock(1.4, round_trip_s=2.0)) == []


def test_no_password_is_in_a_finding() -> None:
    """A configuration with a password differs, and the finding hides both (INV-9)."""
    facts = replace(
        WELL, connect=replace(CONNECT, config={**WANTS.connector, "database.password": "old-secret"})
    )
    assert "old-secret" not in str(check(facts))
    assert "secret" not in repr(facts)


@pytest.mark.parametrize("state", [State.PAUSED, State.STOPPED])
def test_a_connector_at_rest_is_resumed_by_setup_alone(state: State) -> None:
    """The scheduler restarts what failed, and leaves alone what somebody stopped."""
    (finding,) = bad(status(ConnectorStatus(name="outbox", state=state, tasks=())))
    assert "Run outbox setup, which resumes it" in finding.do
    assert "restarts what failed" not in finding.do
    (finding,) = bad(status(failed("no route to host")))
    assert "restarts what failed" in finding.do


@pytest.mark.parametrize("partitions", [5, 8], ids=["too few", "too many"])
def test_partition_counts_are_found_once_for_each_setting(partitions: int) -> None:
    """All topics differ: two settings, two findings, each naming its own."""
    fixed = {"outbox.endpoints", "__debezium-heartbeat.outbox"}
    topics = {
        name: topic if name in fixed else replace(topic, partitions=partitions)
        for name, topic in CLUSTER.topics.items()
    }
    found = bad(kafka(replace(CLUSTER, topics=topics)))
    assert [finding.what.split(", and ")[0] for finding in found] == [
        "OUTBOX_PARTITIONS is 6",
        "OUTBOX_LANES is 6",
    ]
    assert {finding.severity for finding in found} == {Severity.ERROR}


def test_unequal_partitions_are_said_once() -> None:
    """The setting must hold for the largest of its topics, which can't shrink."""
    (finding,) = bad(kafka(with_topic("outbox.redelivery", partitions=9)))
    assert finding.do == "Set OUTBOX_PARTITIONS to 9, in every process, and run outbox setup."
    (finding,) = bad(kafka(with_topic("outbox.redelivery", partitions=5)))
    assert finding.do == "Run outbox setup."
