"""What a started stack is, seen from outside. Uses the stack of the whole run, and breaks nothing of it."""

import http.client
import json
from urllib.parse import urlsplit

import psutil
import psycopg
import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient

from devstack.child import marked_processes
from devstack.stack import EmbeddedStack


def test_postgres_is_ready_for_logical_decoding(database_url: str) -> None:
    """Debezium finds logical WAL and `pgoutput`, and no slot can fill the developer's disk."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT pg_create_logical_replication_slot('devstack_test', 'pgoutput', true)")
        limit = connection.execute("SHOW max_slot_wal_keep_size").fetchone()
    assert limit == ("1GB",)


def test_postgres_asks_for_a_password(database_url: str) -> None:
    """Nobody else on the machine becomes a superuser of our database, and with it us."""
    parts = urlsplit(database_url)
    without = f"postgresql://{parts.username}:wrong@{parts.hostname}:{parts.port}{parts.path}"
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(without)


def test_a_topic_never_comes_into_being_by_accident(kafka_bootstrap_servers: str) -> None:
    """Producing to a topic that nobody made fails; it does not make one with the wrong partitions."""
    client = AdminClient({"bootstrap.servers": kafka_bootstrap_servers})
    errors: list[KafkaError | None] = []
    producer = Producer(
        # Without the second line the client itself would go on hoping for the topic for 30 s.
        {"bootstrap.servers": kafka_bootstrap_servers, "topic.metadata.propagation.max.ms": 0}
    )
    producer.produce("devstack-nobody-made-this", b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush()
    assert [error.code() for error in errors if error is not None] == [KafkaError.UNKNOWN_TOPIC_OR_PART]
    assert "devstack-nobody-made-this" not in client.list_topics(timeout=10).topics


def test_connect_has_what_the_outbox_connector_needs(connect_url: str) -> None:
    """Found through the service loader: the Postgres connector, the EventRouter, and the converter of strings."""
    parts = urlsplit(connect_url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
    connection.request("GET", "/connector-plugins?connectorsOnly=false")
    plugins = {plugin["class"] for plugin in json.load(connection.getresponse())}
    connection.close()
    assert plugins >= {
        "io.debezium.connector.postgresql.PostgresConnector",
        "io.debezium.transforms.outbox.EventRouter",
        "org.apache.kafka.connect.storage.StringConverter",
    }


def test_everything_listens_on_loopback_only(stack: EmbeddedStack) -> None:
    """Nobody on the network reaches a developer's stack."""
    pids = [identity.pid for mark, identity in marked_processes() if mark.endswith(f"@{stack.state_dir}")]
    assert {stack.service(name).pid for name in ("postgres", "kafka", "connect")} == set(pids)
    listening = {
        (connection.laddr.ip, connection.laddr.port)
        for pid in pids
        for connection in psutil.Process(pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert {port for _, port in listening} == {port for service in stack.services for port in service.ports}
    assert {address.removeprefix("::ffff:") for address, _ in listening} == {"127.0.0.1"}


def test_another_start_finds_it_up(stack: EmbeddedStack) -> None:
    """A second object for the same folder, as in another process, sees and keeps what runs."""
    before = stack.status()
    again = EmbeddedStack(stack.state_dir)
    assert again.start() == stack.settings
    assert again.status() == before == stack.status()


def test_a_log_can_be_read_where_the_status_says(stack: EmbeddedStack) -> None:
    """Who looks for the reason of something finds the log of that service."""
    assert all(service.state == "running" and service.log.stat().st_size > 0 for service in stack.status())
