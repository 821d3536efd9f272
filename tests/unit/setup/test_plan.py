"""The plan of setup: each thing that is missing has its step, and what can't be put right has its problem."""

from dataclasses import replace

import pytest

from connectors.kafka.admin import Cluster
from connectors.kafka_connect.status import ConnectorStatus, State
from connectors.postgres.replication import Publication
from streams.cli.setup import _summary
from streams.setup.facts import Facts
from streams.setup.plan import make_plan
from streams.setup.steps import (
    ChangeConnector,
    ChangeTopic,
    CreateConnector,
    CreateSlot,
    FixPublication,
    Migrate,
    RestartConnector,
    ResumeConnector,
    TellEndpoints,
)
from tests.unit.setup.environment import CLUSTER, FACTS, REPLICATION, SLOT, WANTS, failed, with_topic

EMPTY = replace(
    FACTS,
    pending=("0001", "0002"),
    replication=replace(REPLICATION, slot=None, publication=None),
    cluster=replace(CLUSTER, topics={}),
    config=None,
    status=None,
    stored_lsn=None,
)


def test_where_all_is_well_nothing_is_done() -> None:
    plan = make_plan(WANTS, FACTS)
    assert (plan.steps, plan.problems, plan.warnings) == ((), (), ())


def test_an_empty_environment_is_built_in_the_right_order() -> None:
    """Decoding needs the publication, no row may be committed before the slot, Debezium needs the topics."""
    plan = make_plan(WANTS, EMPTY)
    kinds = [type(step) for step in plan.steps]
    assert kinds == [Migrate, CreateSlot, *[ChangeTopic] * len(WANTS.topics), CreateConnector]
    assert plan.problems == ()
    assert plan.warnings == ()


def test_no_step_shows_a_password() -> None:
    """A plan is printed (INV-9)."""
    old = {**WANTS.connector, "database.password": "old-secret", "poll.interval.ms": "9"}
    plan = make_plan(WANTS, replace(FACTS, config=old))
    assert "poll.interval.ms from 9 to 5" in str(plan.steps[0])
    assert "secret" not in "".join(str(step) for step in plan.steps)
    assert "secret" not in repr(FACTS) + repr(WANTS)


def test_a_new_slot_makes_connect_forget_the_old_position() -> None:
    """Debezium would search the new slot's WAL for a position of the old one, and pass rows over."""
    plan = make_plan(WANTS, replace(FACTS, replication=replace(REPLICATION, slot=None)))
    assert plan.steps == (
        CreateSlot(name="outbox"),
        ChangeConnector(name="outbox", differences=(), forget_position=True),
    )


@pytest.mark.parametrize(
    ("stored_lsn", "status"),
    [(899, failed("no longer available")), (1_001, FACTS.status)],
    ids=["behind", "beyond"],
)
def test_a_position_that_is_not_the_slot_s_is_forgotten(stored_lsn: int, status: ConnectorStatus) -> None:
    """Behind the slot the task fails for ever; beyond the WAL's end rows are passed over in silence."""
    plan = make_plan(WANTS, replace(FACTS, stored_lsn=stored_lsn, status=status))
    assert plan.steps == (ChangeConnector(name="outbox", differences=(), forget_position=True),)
    assert "may not have been sent" in plan.warnings[0]


def test_a_position_behind_is_left_alone_while_all_runs() -> None:
    """The two positions are read one after the other: only a failure makes a difference between them one."""
    assert make_plan(WANTS, replace(FACTS, stored_lsn=899)).steps == ()


def test_a_failed_connector_is_restarted() -> None:
    plan = make_plan(WANTS, replace(FACTS, status=failed("no route to host")))
    assert plan.steps == (RestartConnector(name="outbox", reason="no route to host"),)


@pytest.mark.parametrize("state", [State.PAUSED, State.STOPPED])
def test_a_connector_at_rest_is_resumed(state: State) -> None:
    status = ConnectorStatus(name="outbox", state=state, tasks=())
    assert make_plan(WANTS, replace(FACTS, status=status)).steps == (ResumeConnector(name="outbox"),)


@pytest.mark.parametrize(
    ("facts", "part"),
    [
        (replace(FACTS, replication=replace(REPLICATION, wal_level="replica")), "ALTER SYSTEM SET wal_level"),
        (
            replace(FACTS, replication=replace(REPLICATION, slot=None, may_replicate=False)),
            "ALTER ROLE app REPLICATION",
        ),
        (
            replace(FACTS, replication=replace(REPLICATION, slot=replace(SLOT, plugin="wal2json"))),
            "not pgoutput",
        ),
        (
            replace(FACTS, replication=replace(REPLICATION, slot=replace(SLOT, database="b"))),
            "belongs to the database b",
        ),
        (replace(FACTS, replication=replace(REPLICATION, slot=replace(SLOT, wal_status="lost"))), "is lost"),
        (
            replace(FACTS, cluster=with_topic("outbox.events", partitions=9)),
            "can't shrink: set OUTBOX_PARTITIONS",
        ),
        (replace(EMPTY, cluster=Cluster(broker_ids=(1,), topics={}, broker_config={})), "there are 1"),
        (replace(FACTS, plugins=frozenset()), "has no plugin io.debezium"),
        (replace(FACTS, invalid=("database.hostname: refused",)), "OUTBOX_CONNECTOR_DATABASE_URL"),
    ],
)
def test_what_setup_can_t_solve_is_a_problem_with_what_to_do(facts: Facts, part: str) -> None:
    """Nothing is dropped and nothing guessed: the plan has a problem, and `run_setup` takes no step."""
    problems = make_plan(WANTS, facts).problems
    assert len(problems) == 1
    assert part in problems[0]


def test_rows_from_before_the_slot_are_told_of() -> None:
    """Some may never be sent, and nobody would find out otherwise; that none is sent would be untrue."""
    plan = make_plan(WANTS, replace(FACTS, replication=replace(REPLICATION, slot=None, outbox_rows=7)))
    assert plan.warnings[0].startswith("7 rows in outbox.outbox from before the slot")
    assert "at most those after the newest event in outbox.events" in plan.warnings[0]


def test_growing_the_events_topic_warns_of_order() -> None:
    plan = make_plan(WANTS, replace(FACTS, cluster=with_topic("outbox.events", partitions=3)))
    assert [str(step) for step in plan.steps] == ["grow topic outbox.events from 3 to 6 partitions"]
    assert "overtake" in plan.warnings[0]


def test_endpoints_that_the_workers_topic_lacks_are_published_again_last() -> None:
    """A topic made anew is empty: workers would know nobody. Last, because Debezium has to carry it there."""
    lost = {name: topic for name, topic in CLUSTER.topics.items() if name != "outbox.endpoints"}
    facts = replace(
        FACTS, cluster=replace(CLUSTER, topics=lost), untold=frozenset({"ep_1", "ep_2"}), config=None
    )
    steps = make_plan(WANTS, facts).steps
    assert [type(step) for step in steps] == [ChangeTopic, CreateConnector, TellEndpoints]
    assert str(steps[-1]) == "publish all endpoints again: outbox.endpoints lacks 2 endpoints"
    (alone,) = make_plan(WANTS, replace(FACTS, untold=frozenset({"ep_1"}))).steps
    assert str(alone) == "publish all endpoints again: outbox.endpoints lacks 1 endpoint"


def test_a_publication_that_leaves_something_out_is_put_right() -> None:
    """No migration is pending that would do it, and the rows meanwhile are told of."""
    nothing = Publication(tables=frozenset(), inserts=False, via_partition_root=False)
    plan = make_plan(
        WANTS, replace(FACTS, replication=replace(REPLICATION, publication=nothing, outbox_rows=1))
    )
    (step,) = map(str, plan.steps)
    assert step.startswith("put publication outbox right: add table outbox.outbox, publish inserts, publish")
    assert "while the publication outbox left them out" in plan.warnings[0]
    plan = make_plan(WANTS, replace(FACTS, replication=replace(REPLICATION, publication=None)))
    assert plan.steps == (FixPublication(name="outbox", faults=("create it for table outbox.outbox",)),)


def test_a_migration_that_makes_the_publication_is_not_forestalled() -> None:
    assert [type(step) for step in make_plan(WANTS, replace(EMPTY, pending=("0002.x",))).steps][:2] == [
        Migrate,
        CreateSlot,
    ]


@pytest.mark.parametrize(
    ("prefix", "setting"), [("outbox.retry-", "OUTBOX_LANES"), ("outbox.", "OUTBOX_PARTITIONS")]
)
def test_topics_that_can_t_shrink_name_their_setting_once(prefix: str, setting: str) -> None:
    """Not one problem for each topic, and not a setting that has nothing to do with it."""
    fixed = {"outbox.endpoints"}
    grown = {
        name: replace(topic, partitions=8)
        if name.startswith(prefix) and name not in fixed and (len(prefix) > 7 or "retry" not in name)
        else topic
        for name, topic in CLUSTER.topics.items()
    }
    (problem,) = make_plan(WANTS, replace(FACTS, cluster=replace(CLUSTER, topics=grown))).problems
    assert problem.startswith(f"{setting} is 6, and ")
    assert problem.endswith(f"set {setting} to 8, in every process")


def test_a_topic_of_fixed_size_blames_no_setting() -> None:
    (problem,) = make_plan(
        WANTS, replace(FACTS, cluster=with_topic("outbox.endpoints", partitions=2))
    ).problems
    assert "OUTBOX_" not in problem
    assert "delete the topic" in problem


def test_one_change_is_no_changes() -> None:
    """The last line that a person reads, and the line of a topic with one partition."""
    one = make_plan(WANTS, replace(FACTS, untold=frozenset({"ep_1"})))
    assert _summary(one, dry_run=False) == "1 change made; Debezium streams"
    assert _summary(one, dry_run=True) == "1 change planned, nothing changed"
    texts = [str(step) for step in make_plan(WANTS, EMPTY).steps]
    assert any("create topic outbox.endpoints: 1 partition, " in text for text in texts)
