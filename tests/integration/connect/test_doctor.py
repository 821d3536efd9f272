"""`outbox doctor` against the real thing: well where setup has run, and each thing that is broken is found."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr
from typer import Typer
from typer.testing import CliRunner

from connectors.kafka.admin import KafkaAdmin
from connectors.kafka.topics import ChangeConfig, GrowTopic
from connectors.kafka_connect.client import ConnectClient
from connectors.kafka_connect.connector import connector_config
from devstack.port import LOOPBACK
from devstack.stack import EmbeddedStack
from streams.cli.doctor import doctor
from streams.doctor import Finding, Severity, examine
from streams.settings import Settings
from tests.support.eventually import eventually


def errors(settings: Settings) -> dict[str, str]:
    """What the doctor calls an error, by the name of the check."""
    return {found.check: found.what for found in findings(settings) if found.severity is Severity.ERROR}


def findings(settings: Settings) -> tuple[Finding, ...]:
    return asyncio.run(examine(settings))


def test_where_setup_has_run_all_is_well(ready: Settings) -> None:
    """No error; of warnings only the heartbeat that is still to come."""
    assert {found.check for found in findings(ready) if found.severity is not Severity.OK} <= {"heartbeat"}


def test_a_publication_without_the_table_is_found(ready: Settings, database: psycopg.Connection[Any]) -> None:
    database.execute("alter publication outbox drop table outbox.outbox")
    try:
        assert errors(ready) == {"publication": "the publication outbox leaves out outbox.outbox"}
    finally:
        database.execute("alter publication outbox add table outbox.outbox")


def test_a_publication_with_other_operations_is_found(
    ready: Settings, database: psycopg.Connection[Any]
) -> None:
    database.execute("alter publication outbox set (publish = 'update', publish_via_partition_root = false)")
    try:
        bad = {found.what: found.severity for found in findings(ready) if found.check == "publication"}
        assert bad == {
            "the publication outbox leaves out inserts": Severity.ERROR,
            "the publication outbox has publish_via_partition_root off": Severity.WARNING,
        }
    finally:
        database.execute(
            "alter publication outbox set (publish = 'insert', publish_via_partition_root = true)"
        )


def test_a_connector_at_rest_and_its_slot_are_found(ready: Settings) -> None:
    """Nobody reads the slot: WAL grows, and events stay in Postgres."""

    async def stop() -> None:
        async with ConnectClient(ready.connect_url) as connect:
            await connect.stop("outbox")

    asyncio.run(stop())
    found = eventually(lambda: both(errors(ready)), what="the slot to be free")
    assert found["slot"] == "nobody reads from the replication slot outbox"
    assert found["connector"] == "the connector outbox does not run: STOPPED"


def both(found: dict[str, str]) -> dict[str, str] | None:
    return found if {"slot", "connector"} <= found.keys() else None


def test_a_connector_that_encodes_again_is_found(ready: Settings) -> None:
    url = ready.database_url.get_secret_value()
    converter = "org.apache.kafka.connect.json.JsonConverter"

    async def change() -> None:
        async with ConnectClient(ready.connect_url) as connect:
            wrong = {**connector_config(url, poll_interval_ms=5), "value.converter": converter}
            await connect.put_config("outbox", wrong)

    asyncio.run(change())
    assert converter in errors(ready)["converters"]


@pytest.fixture
def changed_topics(ready: Settings) -> Iterator[Settings]:
    """Topics that somebody grew and reconfigured; made anew afterwards."""
    admin = KafkaAdmin(ready.kafka_bootstrap_servers)
    admin.apply(
        [
            GrowTopic(name="outbox.redelivery", from_partitions=2, to_partitions=3),
            ChangeConfig(name="outbox.retry-1s", before={}, after={"retention.ms": "60000"}),
            ChangeConfig(name="outbox.endpoints", before={}, after={"cleanup.policy": "delete"}),
        ]
    )
    yield ready
    admin.delete(["outbox.redelivery"])


def test_topics_that_somebody_changed_are_found(changed_topics: Settings) -> None:
    bad = errors(changed_topics)
    assert bad["partitions"] == "outbox.events has 2 partitions and outbox.redelivery 3"
    retention = [found.what for found in findings(changed_topics) if found.check == "retention"]
    assert any("outbox.retry-1s keeps records for 1m" in what for what in retention)
    assert any("outbox.endpoints has cleanup.policy=delete" in what for what in retention)


def test_the_command_exits_with_one_on_an_error(
    own_stack: EmbeddedStack, ready: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deployment stops on it; the JSON has each finding with what to do, and no password (INV-9)."""
    for name, value in own_stack.settings.as_env().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OUTBOX_PARTITIONS", str(ready.partitions))
    monkeypatch.setenv("OUTBOX_LANES", str(ready.lanes))
    monkeypatch.setenv("OUTBOX_TIERS", "1s,15m")
    app = Typer()
    app.command()(doctor)
    well = CliRunner().invoke(app, ["--json"])
    assert well.exit_code == 0
    monkeypatch.setenv("OUTBOX_TIERS", "1s,2s,15m")
    missing = CliRunner().invoke(app, ["--json"])
    assert missing.exit_code == 1
    (found,) = [each for each in json.loads(missing.stdout) if each["severity"] == "error"]
    assert found["what"] == "1 of 9 topics are missing: outbox.retry-2s"
    assert found["do"] == "Run outbox setup."
    assert "0 errors" in CliRunner().invoke(app, [], env={"OUTBOX_TIERS": "1s,15m"}).stdout


def test_what_doesn_t_answer_doesn_t_hide_the_rest(ready: Settings) -> None:
    """Postgres and Connect are away, Kafka is not: its findings are there, and no password is shown (INV-9)."""
    away = ready.model_copy(
        update={
            "database_url": SecretStr(f"postgresql://app:secret@{LOOPBACK}:9/shop"),
            "connect_url": f"http://app:secret@{LOOPBACK}:9",
        }
    )
    found = findings(away)
    assert {each.check for each in found if each.severity is Severity.ERROR} == {"postgres", "connect"}
    assert {"topics", "partitions", "retention"} <= {
        each.check for each in found if each.severity is Severity.OK
    }
    assert "secret" not in str(found)
