"""`outbox setup` against the real thing: it makes what is missing, says so, and repairs what was broken."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString, TypeVar

import psycopg
import pytest
from confluent_kafka.admin import AdminClient
from pydantic import SecretStr
from structlog.testing import capture_logs
from typer import Typer
from typer.testing import CliRunner

from connectors.kafka.admin import KafkaAdmin
from connectors.kafka.errors import ClusterUnreachable
from connectors.kafka.topics import ChangeConfig
from connectors.kafka_connect.client import ConnectClient
from connectors.kafka_connect.connector import connector_config
from connectors.kafka_connect.errors import ConnectUnreachable
from connectors.kafka_connect.status import State
from connectors.postgres.capture_gaps import gap_ended_at
from connectors.postgres.connection import database_time
from connectors.postgres.endpoints import EndpointStore
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.secret import Secret
from devstack.port import LOOPBACK
from devstack.stack import EmbeddedStack
from outbox.event_filter import EventFilter
from streams.cli.setup import setup
from streams.doctor import examine
from streams.errors import SetupError
from streams.settings import Settings
from streams.setup.endpoints import untold_endpoints
from streams.setup.topics import wanted_topics
from tests.integration.connect.conftest import set_up
from tests.support.doc_examples import examples
from tests.support.eventually import eventually
from tests.support.topics import TopicTail

_T = TypeVar("_T")


def ask(settings: Settings, question: Callable[[ConnectClient], Awaitable[_T]]) -> _T:
    """Ask Kafka Connect one thing."""

    async def asked() -> _T:
        async with ConnectClient(settings.connect_url) as connect:
            return await question(connect)

    return asyncio.run(asked())


def everything(settings: Settings) -> dict[str, Any]:
    """All that setup could change."""
    with psycopg.connect(settings.database_url.get_secret_value()) as connection:
        tables = connection.execute(
            "select schemaname, tablename from pg_tables where schemaname = 'outbox' order by 2"
        )
        slots = connection.execute("select slot_name from pg_replication_slots").fetchall()
        publications = connection.execute("select pubname from pg_publication").fetchall()
        found: dict[str, Any] = {
            "tables": tables.fetchall(),
            "slots": slots,
            "publications": publications,
        }
    found["topics"] = KafkaAdmin(settings.kafka_bootstrap_servers).cluster().topics
    found["connector"] = ask(settings, lambda connect: connect.config("outbox"))
    return found


def append(connection: psycopg.Connection[Any], key: str) -> None:
    connection.execute("select outbox.append('setup.tested', 'setup', %s, '{}')", [key])


@pytest.fixture
def bare(settings: Settings) -> Settings:
    """The stack as if setup had never run."""
    ask(settings, lambda connect: connect.delete("outbox"))
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as connection:
        eventually(lambda: dropped(connection), what="the slot to be free")
        connection.execute("drop publication if exists outbox")
        connection.execute("drop schema if exists outbox cascade")
    admin = KafkaAdmin(settings.kafka_bootstrap_servers)
    admin.delete([name for name in admin.cluster().topics if name.startswith(("outbox.", "__debezium"))])
    return settings


def test_a_dry_run_changes_nothing_and_tells_what_a_run_then_does(bare: Settings) -> None:
    """On an empty stack: the plan is shown, nothing is touched; the run takes the very steps; a second one none."""
    before = everything(bare)
    planned, taken = set_up(bare, dry_run=True)
    assert everything(bare) == before
    assert taken == []
    assert len(planned.steps) == 3 + len(wanted_topics(bare))

    done, taken = set_up(bare)
    assert done == planned
    assert tuple(taken) == planned.steps
    after = everything(bare)
    assert after["slots"] == [("outbox",)]
    assert after["publications"] == [("outbox",)]

    again, taken = set_up(bare)
    assert (again.steps, again.warnings, taken) == ((), (), [])
    assert everything(bare) == after


def test_setups_that_run_at_once_don_t_disturb_each_other(bare: Settings) -> None:
    """Two deployments' jobs start together: both succeed, and there is one of everything."""
    with ThreadPoolExecutor() as pool:
        plans = [plan for plan, _ in pool.map(set_up, [bare, bare])]
    assert all(not plan.problems for plan in plans)
    again, _ = set_up(bare)
    assert again.steps == ()


def test_a_row_committed_right_after_setup_arrives(
    database: psycopg.Connection[Any], events: TopicTail
) -> None:
    append(database, "first")
    events.wait_until(lambda records: any(r.key == b"first" for r in records), what="the first row")


def test_what_somebody_changed_is_put_back(ready: Settings, events: TopicTail) -> None:
    """Topic configuration, connector configuration and a stopped connector; the rest is left alone."""
    admin = KafkaAdmin(ready.kafka_bootstrap_servers)
    admin.apply(
        [
            ChangeConfig(
                name="outbox.events", before={}, after={"retention.ms": "1000", "segment.ms": "999999"}
            )
        ]
    )
    url = ready.database_url.get_secret_value()
    wrong = {**connector_config(url, poll_interval_ms=5), "extended.headers.enabled": "true"}
    ask(ready, lambda connect: connect.put_config("outbox", wrong))
    ask(ready, lambda connect: connect.stop("outbox"))

    plan, _ = set_up(ready)

    assert [str(step) for step in plan.steps] == [
        "change topic outbox.events: retention.ms from 1000 to 604800000",
        "change connector outbox: extended.headers.enabled from true to false",
        "resume connector outbox",
    ]
    config = admin.cluster(with_config_of=["outbox.events"]).topics["outbox.events"].config
    assert (config["retention.ms"], config["segment.ms"]) == ("604800000", "999999")
    with psycopg.connect(url, autocommit=True) as connection:
        append(connection, "after")
    events.wait_until(lambda records: any(r.key == b"after" for r in records), what="row after the repair")


def test_a_slot_that_was_dropped_is_made_anew(
    ready: Settings, database: psycopg.Connection[Any], events: TopicTail
) -> None:
    """Setup makes Connect forget the old slot's position, and tells of the rows that nobody will send.

    With the position kept, Debezium would fail on it or pass over rows.
    """
    append(database, "before")
    events.wait_until(lambda records: any(r.key == b"before" for r in records), what="row before")
    ask(ready, lambda connect: connect.stop("outbox"))
    eventually(lambda: dropped(database), what="the slot to be free")
    append(database, "in between")

    plan, _ = set_up(ready)

    assert [type(step).__name__ for step in plan.steps] == ["CreateSlot", "ChangeConnector"]
    assert "in outbox.outbox from before the slot" in plan.warnings[0]
    append(database, "behind")
    records = events.wait_until(lambda records: any(r.key == b"behind" for r in records), what="row behind")
    assert [r.key for r in records] == [b"before", b"behind"]

    (page_says,) = examples("sql again")["docs/howto/recover-a-lost-slot.md"]
    database.execute(page_says.code)
    events.wait_until(
        lambda records: any(r.key == b"in between" for r in records), what="row that the page sends again"
    )


def dropped(connection: psycopg.Connection[Any]) -> bool:
    """Drop the slot, if there is one; False while Debezium still holds it."""
    try:
        connection.execute(
            "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = 'outbox'"
        )
    except psycopg.errors.ObjectInUse:
        return False
    return True


def test_a_position_behind_the_slot_is_forgotten(
    ready: Settings, database: psycopg.Connection[Any], events: TopicTail
) -> None:
    """A slot that was made anew by hand lets the task fail at each start; setup finds the cause and ends it."""
    append(database, "known")
    events.wait_until(lambda records: any(r.key == b"known" for r in records), what="known row")
    ask(ready, lambda connect: connect.stop("outbox"))
    append(database, "skipped")
    eventually(lambda: dropped(database), what="the slot to be free")
    database.execute("select pg_create_logical_replication_slot('outbox', 'pgoutput')")
    ask(ready, lambda connect: connect.resume("outbox"))
    eventually(lambda: task_failed(ready), what="the task to fail")
    before = database_time(database)

    plan, _ = set_up(ready)

    gap = gap_ended_at(database, slot="outbox")
    assert gap is not None
    assert gap > before

    assert "may not have been sent" in plan.warnings[0]
    append(database, "on again")
    events.wait_until(lambda records: any(r.key == b"on again" for r in records), what="row after")


def task_failed(settings: Settings) -> bool:
    status = ask(settings, lambda connect: connect.status("outbox"))
    return status is not None and any(task.state is State.FAILED for task in status.tasks)


def test_a_lost_endpoints_topic_is_filled_again(ready: Settings, database: psycopg.Connection[Any]) -> None:
    """Workers know endpoints from the topic alone; the doctor sees what it lacks, and setup publishes all again."""
    store = EndpointStore(database)
    store.add(an_endpoint("ep_lost1"))
    store.add(an_endpoint("ep_lost2"))
    stored = frozenset({"ep_lost1", "ep_lost2"})
    eventually(
        lambda: not untold_endpoints(ready, stored, has_topic=True), what="the endpoints to come to Kafka"
    )
    assert set_up(ready)[0].steps == ()
    KafkaAdmin(ready.kafka_bootstrap_servers).delete(["outbox.endpoints"])
    try:
        found = {finding.check: finding for finding in asyncio.run(examine(ready))}
        assert found["endpoints"].what == "outbox.endpoints lacks 2 of 2 endpoints"

        plan, _ = set_up(ready)

        assert [type(step).__name__ for step in plan.steps] == ["ChangeTopic", "TellEndpoints"]
        assert untold_endpoints(ready, stored, has_topic=True) == frozenset()
        assert set_up(ready)[0].steps == ()
    finally:
        for endpoint_id in stored:
            store.remove(endpoint_id)


def test_an_endpoint_that_cannot_be_read_holds_up_no_setup(
    ready: Settings, database: psycopg.Connection[Any]
) -> None:
    """The others are published again; the one that today's rules refuse is named in the log, by its id."""
    store = EndpointStore(database)
    for endpoint_id in ("ep_kept", "ep_refused"):
        store.add(an_endpoint(endpoint_id))
    stored = frozenset({"ep_kept", "ep_refused"})
    eventually(
        lambda: not untold_endpoints(ready, stored, has_topic=True), what="the endpoints to come to Kafka"
    )
    database.execute("update outbox.endpoints set url = 'https://[::1]beside/' where id = 'ep_refused'")
    KafkaAdmin(ready.kafka_bootstrap_servers).delete(["outbox.endpoints"])
    try:
        with capture_logs() as lines:
            set_up(ready)
        assert untold_endpoints(ready, stored, has_topic=True) == {"ep_refused"}
        told = [line for line in lines if line["event"] == "endpoint_unreadable"]
        assert [line["endpoint_id"] for line in told] == ["ep_refused"]
    finally:
        for endpoint_id in stored:
            store.remove(endpoint_id)


def an_endpoint(endpoint_id: str) -> Endpoint:
    return Endpoint(
        id=endpoint_id,
        url="https://shop.example/hooks",
        event_types=(EventFilter("*"),),
        secrets=(Secret.generate(),),
        enabled=True,
        description="",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("break_it", "step"),
    [
        ("alter publication outbox drop table outbox.outbox", "add table outbox.outbox"),
        ("alter publication outbox set (publish = 'update')", "publish inserts"),
    ],
)
def test_a_publication_that_leaves_rows_out_is_put_right(
    ready: Settings,
    database: psycopg.Connection[Any],
    events: TopicTail,
    break_it: LiteralString,
    step: str,
) -> None:
    """The schema is migrated, so no migration would do it; rows committed afterwards arrive.

    That rows may have been missed is noted for `outbox prune`, once.
    """
    database.execute(break_it)
    before = database_time(database)
    plan, _ = set_up(ready)
    gap = gap_ended_at(database, slot="outbox")
    assert gap is not None
    assert gap > before
    assert [str(taken) for taken in plan.steps] == [f"put publication outbox right: {step}"]
    append(database, "published")
    events.wait_until(lambda records: any(r.key == b"published" for r in records), what="the row")
    assert set_up(ready)[0].steps == ()
    assert gap_ended_at(database, slot="outbox") == gap


def test_topics_grow_and_never_shrink(ready: Settings) -> None:
    plan, _ = set_up(ready.model_copy(update={"lanes": 3}))
    assert [str(step) for step in plan.steps] == [
        "grow topic outbox.retry-1s from 2 to 3 partitions",
        "grow topic outbox.retry-15m from 2 to 3 partitions",
    ]
    with pytest.raises(SetupError, match=r"OUTBOX_LANES is 2, and outbox\.retry-1s has 3 partitions"):
        set_up(ready)
    client = AdminClient({"bootstrap.servers": ready.kafka_bootstrap_servers})
    for future in client.delete_topics(["outbox.retry-1s", "outbox.retry-15m"]).values():
        future.result(15)


def test_what_can_t_be_reached_is_named(settings: Settings) -> None:
    """One clear error for each: which address, and what to check."""
    nobody = f"{LOOPBACK}:9"
    with pytest.raises(ConnectUnreachable, match=f"Kafka Connect at http://{nobody} gave no answer"):
        set_up(settings.model_copy(update={"connect_url": f"http://{nobody}"}))
    with pytest.raises(ClusterUnreachable, match=f"Kafka at {nobody} gave no answer"):
        KafkaAdmin(nobody, timeout=timedelta(seconds=1)).cluster()


def test_a_database_that_connect_can_t_reach_is_found_before_anything_changes(ready: Settings) -> None:
    """The usual trap: an address that is right here and wrong from Kafka Connect's network."""
    url = ready.database_url.get_secret_value()
    elsewhere = psycopg.conninfo.make_conninfo(url, port="9", connect_timeout="2")
    with pytest.raises(SetupError, match="OUTBOX_CONNECTOR_DATABASE_URL") as caught:
        set_up(ready.model_copy(update={"connector_database_url": SecretStr(elsewhere)}))
    password = psycopg.conninfo.conninfo_to_dict(url)["password"]
    assert str(password) not in str(caught.value)


def test_a_role_with_replication_alone_is_enough_for_debezium(
    ready: Settings, database: psycopg.Connection[Any], events: TopicTail, own_stack: EmbeddedStack
) -> None:
    """No ownership, no SELECT; and neither its password nor a payload gets into Connect's log (INV-9)."""
    database.execute("create role reader login replication password 'reader-secret'")
    url = psycopg.conninfo.make_conninfo(
        ready.database_url.get_secret_value(), user="reader", password="reader-secret"
    )
    set_up(ready.model_copy(update={"connector_database_url": SecretStr(url)}))
    database.execute(
        "select outbox.append('setup.tested', 'setup', 'by role', '{\"card\": \"4000-secret\"}')"
    )
    events.wait_until(lambda records: any(r.key == b"by role" for r in records), what="row by the role")
    (log,) = (service.log for service in own_stack.status() if service.name == "connect")
    assert "secret" not in log.read_text(encoding="utf-8")


def test_the_command_tells_in_json(
    own_stack: EmbeddedStack, ready: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in own_stack.settings.as_env().items():
        monkeypatch.setenv(name, value)
    for name in ("partitions", "lanes"):
        monkeypatch.setenv(f"OUTBOX_{name.upper()}", str(getattr(ready, name)))
    monkeypatch.setenv("OUTBOX_TIERS", "1s,3s")
    app = Typer()
    app.command()(setup)
    result = CliRunner().invoke(app, ["--dry-run", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "dry_run": True,
        "changes": [
            {
                "kind": "ChangeTopic",
                "change": "create topic outbox.retry-3s: 2 partitions, replication 1, kept 168 h",
            }
        ],
        "warnings": [],
    }


def test_the_command_tells_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every missing address at once, on standard error, with exit code 1."""
    for name in ("DATABASE_URL", "KAFKA_BOOTSTRAP_SERVERS", "CONNECT_URL"):
        monkeypatch.delenv(f"OUTBOX_{name}", raising=False)
    app = Typer()
    app.command()(setup)
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 1
    assert result.stderr.count("is not set") == 3
    assert result.stdout == ""
