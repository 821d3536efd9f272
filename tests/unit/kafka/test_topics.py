"""The plan for Kafka's topics: what is created, grown and configured, and what is never done."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from connectors.kafka.topics import (
    ChangeConfig,
    CreateTopic,
    ExistingTopic,
    GrowTopic,
    TooManyPartitions,
    Topic,
    TopicChange,
    plan_topics,
)

NAMES = st.sampled_from(["a", "b", "c"])
CONFIGS = st.dictionaries(st.sampled_from(["retention.ms", "cleanup.policy"]), st.sampled_from(["1", "2"]))
SIZES = st.integers(min_value=1, max_value=9)


def topic(name: str = "t", partitions: int = 6, **config: str) -> Topic:
    return Topic(name=name, partitions=partitions, replication_factor=1, config=config)


def existing(name: str = "t", partitions: int = 6, **config: str) -> ExistingTopic:
    return ExistingTopic(name=name, partitions=partitions, replication_factor=1, config=config)


def test_a_missing_topic_is_created() -> None:
    plan = plan_topics([topic()], {})
    assert plan.changes == (CreateTopic(topic()),)


def test_a_topic_as_wanted_is_left_alone() -> None:
    """Nothing to change means nothing is touched, keys that nobody named here included."""
    plan = plan_topics([topic(policy="x")], {"t": existing(policy="x", other="y")})
    assert plan.changes == ()
    assert plan.conflicts == ()


def test_a_small_topic_grows() -> None:
    plan = plan_topics([topic()], {"t": existing(partitions=4)})
    assert plan.changes == (GrowTopic(name="t", from_partitions=4, to_partitions=6),)


def test_a_large_topic_never_shrinks() -> None:
    """Fewer partitions would lose the records of the others: it is a conflict, and no change."""
    plan = plan_topics([topic()], {"t": existing(partitions=7)})
    assert plan.changes == ()
    assert plan.conflicts == (TooManyPartitions(name="t", partitions=7, wanted=6),)


def test_only_what_differs_is_configured() -> None:
    plan = plan_topics([topic(a="1", b="2", c="3")], {"t": existing(a="1", b="9", d="4")})
    assert plan.changes == (ChangeConfig(name="t", before={"b": "9", "c": None}, after={"b": "2", "c": "3"}),)
    assert str(plan.changes[0]) == "change topic t: b from 9 to 2, c from None to 3"


def carry_out(changes: Sequence[TopicChange], cluster: dict[str, ExistingTopic]) -> dict[str, ExistingTopic]:
    """What Kafka would make of the changes."""
    after: dict[str, dict[str, Any]] = {
        name: {"partitions": t.partitions, "config": dict(t.config)} for name, t in cluster.items()
    }
    for change in changes:
        match change:
            case CreateTopic(wanted):
                after[wanted.name] = {"partitions": wanted.partitions, "config": dict(wanted.config)}
            case GrowTopic(name=name, to_partitions=count):
                after[name]["partitions"] = count
            case ChangeConfig(name=name, after=config):
                after[name]["config"].update(config)
    return {name: ExistingTopic(name=name, replication_factor=1, **facts) for name, facts in after.items()}


@given(
    wanted=st.dictionaries(NAMES, st.tuples(SIZES, CONFIGS)),
    found=st.dictionaries(NAMES, st.tuples(SIZES, CONFIGS)),
)
def test_a_plan_that_was_carried_out_leaves_nothing_to_do(
    wanted: dict[str, tuple[int, dict[str, str]]], found: dict[str, tuple[int, dict[str, str]]]
) -> None:
    """Setup is idempotent, and no topic ever has fewer partitions, or another's configuration, than before."""
    topics = [topic(name, count, **config) for name, (count, config) in wanted.items()]
    cluster = {name: existing(name, count, **config) for name, (count, config) in found.items()}
    after = carry_out(plan_topics(topics, cluster).changes, cluster)
    assert plan_topics(topics, after).changes == ()
    assert all(after[name].partitions >= before.partitions for name, before in cluster.items())
    assert all(after[name] == before for name, before in cluster.items() if name not in wanted)
