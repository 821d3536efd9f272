"""Kafka: are the topics there, with the sizes and the patience that deliveries need? Pure.

Place in the data's way: after the facts.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from connectors.counted import counted
from connectors.kafka.topics import ExistingTopic, Topic
from streams.doctor.facts import Facts, KafkaFacts, Unreachable
from streams.doctor.finding import Finding, error, ok, warning
from streams.duration import format_duration
from streams.setup.partitions import too_few, too_many
from streams.setup.topics import HEARTBEAT, partitions_setting
from streams.topics import ENDPOINTS, EVENTS, REDELIVERY

__all__ = ["check"]

_SETUP = "Run outbox setup."
_RETRY = "outbox.retry-"
_SAFE_COPIES = 3


def check(facts: Facts) -> Iterator[Finding]:
    """Check topics and brokers."""
    match facts.kafka:
        case Unreachable(reason=reason):
            yield error(
                "kafka",
                reason,
                why="Nothing of Kafka could be checked, and nothing is delivered without it.",
                do="Check that the brokers run, and OUTBOX_KAFKA_BOOTSTRAP_SERVERS.",
            )
        case KafkaFacts() as kafka:
            yield from _checked(facts, kafka)


def _checked(facts: Facts, kafka: KafkaFacts) -> Iterator[Finding]:
    topics = kafka.cluster.topics
    wanted = facts.wants.topics
    there = [(topic, topics[topic.name]) for topic in wanted if topic.name in topics]
    yield _missing(wanted, topics)
    if not there:
        return
    for name, findings in (
        ("partitions", [*_partitions(wanted, topics)]),
        ("retry-topics", [*_strangers(wanted, topics)]),
        ("retention", [f for topic, found in there for f in _retention(facts, topic, found)]),
        ("topic-config", [f for topic, found in there for f in _config(topic, found)]),
        ("replication", [*_copies(facts, kafka, [found for _, found in there])]),
        ("brokers", [*_brokers(kafka)]),
    ):
        yield from findings or [ok(name, f"{name} as wanted")]


def _missing(wanted: tuple[Topic, ...], topics: Mapping[str, ExistingTopic]) -> Finding:
    missing = [topic.name for topic in wanted if topic.name not in topics]
    if not missing:
        return ok("topics", f"all {len(wanted)} topics are there")
    return error(
        "topics",
        f"{len(missing)} of {len(wanted)} topics are missing: {', '.join(missing)}",
        why="What should be written to them waits, and holds up everything behind it.",
        do=_SETUP,
    )


def _partitions(wanted: tuple[Topic, ...], topics: Mapping[str, ExistingTopic]) -> Iterator[Finding]:
    """Compare partition counts with the settings; one finding for each setting."""
    said = None
    events, redelivery = topics.get(EVENTS), topics.get(REDELIVERY)
    if events is not None and redelivery is not None and events.partitions != redelivery.partitions:
        said = partitions_setting(EVENTS)
        yield _parity(events, redelivery, wanted, topics)
    for mismatch in too_few(wanted, topics):
        if mismatch.setting is None or mismatch.setting != said:
            why = "Records are meant for partitions that aren't there."
            yield error("partitions", str(mismatch), why=why, do=_SETUP)
    for mismatch in too_many(wanted, topics):
        if mismatch.setting is None or mismatch.setting != said:
            yield error(
                "partitions",
                str(mismatch),
                why="Processes with these settings use some of them only, and setup refuses: topics can't shrink.",
                do=f"Set {mismatch.setting} to {mismatch.most}, in every process."
                if mismatch.setting
                else "Stop the workers, delete the topic, run outbox setup.",
            )


def _parity(
    events: ExistingTopic,
    redelivery: ExistingTopic,
    wanted: tuple[Topic, ...],
    topics: Mapping[str, ExistingTopic],
) -> Finding:
    setting = partitions_setting(EVENTS)
    asked = [topic for topic in wanted if partitions_setting(topic.name) == setting]
    most = max(topics[topic.name].partitions for topic in asked if topic.name in topics)
    is_set = all(most <= topic.partitions for topic in asked)
    return error(
        "partitions",
        f"{EVENTS} has {counted(events.partitions, 'partition')} and {REDELIVERY} {redelivery.partitions}",
        why="A key's retries come to another worker than its first attempts, or to a partition that isn't there.",
        do=_SETUP if is_set else f"Set {setting} to {most}, in every process, and run outbox setup.",
    )


def _strangers(wanted: tuple[Topic, ...], topics: Mapping[str, ExistingTopic]) -> Iterator[Finding]:
    known = {topic.name for topic in wanted}
    strangers = sorted(name for name in topics if name.startswith(_RETRY) and name not in known)
    if strangers:
        yield warning(
            "retry-topics",
            f"{', '.join(strangers)}: no tier of OUTBOX_TIERS has this name",
            why="The scheduler does not read it: deliveries that wait in it are never made.",
            do="Keep the tier in OUTBOX_TIERS until the topic is empty, then delete the topic.",
        )


def _retention(facts: Facts, topic: Topic, found: ExistingTopic) -> Iterator[Finding]:
    """Compare the topic's real retention with the greatest age and the longest wait."""
    policy = found.config.get("cleanup.policy", "")
    if topic.name == ENDPOINTS:
        if policy != "compact":
            yield error(
                "retention",
                f"{ENDPOINTS} has cleanup.policy={policy}, not compact",
                why="An endpoint that nobody changes is forgotten, and its events are delivered to nobody.",
                do=f"{_SETUP} It also publishes again the endpoints that are forgotten already.",
            )
        return
    if "compact" in policy:
        yield error(
            "retention",
            f"{topic.name} has cleanup.policy={policy}, not delete",
            why="Of several events of one aggregate only the last would stay.",
            do=_SETUP,
        )
    kept_ms = int(found.config.get("retention.ms", "-1"))
    if kept_ms < 0 or topic.name == HEARTBEAT:
        return
    settings = facts.settings
    age = timedelta(hours=max(settings.handler_max_age_hours, settings.endpoint_max_age_hours))
    if timedelta(milliseconds=kept_ms) < age + max(settings.tiers):
        yield error(
            "retention",
            f"{topic.name} keeps records for {format_duration(timedelta(milliseconds=kept_ms))},"
            f" and a delivery may take {format_duration(age)}",
            why="Kafka may delete a record before its delivery is given up: it is lost without a dead letter.",
            do=_SETUP,
        )


def _config(topic: Topic, found: ExistingTopic) -> Iterator[Finding]:
    looked_at = {"cleanup.policy"}  # by `_retention`, as an error
    differing = [
        f"{key}={found.config.get(key)} instead of {value}"
        for key, value in sorted(topic.config.items())
        if key not in looked_at and found.config.get(key) != value
    ]
    if differing:
        yield warning(
            "topic-config",
            f"{topic.name} has {', '.join(differing)}",
            why="The settings ask for something else.",
            do=_SETUP,
        )


def _copies(facts: Facts, kafka: KafkaFacts, topics: list[ExistingTopic]) -> Iterator[Finding]:
    brokers = len(kafka.cluster.broker_ids)
    least = min((topic.replication_factor for topic in topics), default=0)
    if not topics:
        return
    if brokers < _SAFE_COPIES:
        yield ok(
            "replication",
            f"each topic is kept {counted(least, 'time')} on {counted(brokers, 'broker')}: for development only",
        )
        return
    if least < _SAFE_COPIES:
        few = sorted(topic.name for topic in topics if topic.replication_factor < _SAFE_COPIES)
        yield warning(
            "replication",
            f"{counted(len(few), 'topic')} with less than {_SAFE_COPIES} copies: {', '.join(few)}",
            why="The loss of a broker loses events, or stops everything while it is away.",
            do=f"Set OUTBOX_REPLICATION_FACTOR = {_SAFE_COPIES} and move replicas: kafka-reassign-partitions.",
        )
    in_sync = facts.settings.min_insync_replicas
    if in_sync == 1:
        yield warning(
            "replication",
            "min.insync.replicas is 1",
            why="A record that one broker has counts as written, and is lost with that broker.",
            do="Set OUTBOX_MIN_INSYNC_REPLICAS = 2 and run outbox setup.",
        )
    elif in_sync >= least:
        yield warning(
            "replication",
            f"min.insync.replicas is {in_sync} of {least} copies",
            why="Everything stops as soon as one broker is away.",
            do="Set OUTBOX_MIN_INSYNC_REPLICAS below OUTBOX_REPLICATION_FACTOR and run outbox setup.",
        )


def _brokers(kafka: KafkaFacts) -> Iterator[Finding]:
    if kafka.cluster.broker_config.get("auto.create.topics.enable") == "true":
        yield warning(
            "brokers",
            "auto.create.topics.enable is true",
            why="A topic that is asked for before setup is made with the broker's partitions and retention.",
            do="Set auto.create.topics.enable=false on the brokers.",
        )
