"""The connector's configuration: what the rest of the system counts on, and what is never shown."""

import pytest

from connectors.kafka_connect.connector import config_difference, connector_config
from connectors.kafka_connect.errors import ConnectorConfigInvalid
from outbox import MAX_PAYLOAD_BYTES
from streams.setup.topics import MAX_MESSAGE_BYTES

URL = "postgresql://cdc:s%2Fecret@db.internal:6432/shop?sslmode=verify-full&sslrootcert=/ca.pem"


def test_the_database_comes_from_the_address() -> None:
    config = connector_config(URL, poll_interval_ms=7)
    assert {name: value for name, value in config.items() if name.startswith(("database.", "poll"))} == {
        "database.hostname": "db.internal",
        "database.port": "6432",
        "database.user": "cdc",
        "database.password": "s/ecret",
        "database.dbname": "shop",
        "database.sslmode": "verify-full",
        "database.sslrootcert": "/ca.pem",
        "poll.interval.ms": "7",
    }


def test_a_reference_to_a_password_goes_through() -> None:
    """A password that Connect looks up itself never comes into our hands."""
    reference = "${file:/run/secrets/db:password}"
    config = connector_config(f"host=db dbname=shop user=cdc password={reference}", poll_interval_ms=5)
    assert config["database.password"] == reference


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://u:secret@/shop?host=/var/run", "TCP only"),
        ("postgresql://u:secret@/shop", "TCP only"),
        ("postgresql://:secret@db/shop", "no user"),
        ("postgresql://u:secret@db", "no dbname"),
        ("postgresql://u:secret@db:port/shop?x=secret", "libpq can read"),
    ],
)
def test_what_debezium_can_t_use_is_refused(url: str, message: str) -> None:
    """The error says what is missing, and never quotes the address (INV-9)."""
    with pytest.raises(ConnectorConfigInvalid, match=message) as caught:
        connector_config(url, poll_interval_ms=5)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_password_is_not_shown_as_a_difference() -> None:
    before, after = ({"database.password": text, "a": "1"} for text in ("old-secret", "new-secret"))
    assert config_difference(before, after) == ("database.password from (hidden) to (hidden)",)
    assert config_difference(before, {"name": "outbox", **before}) == ()


def test_what_was_appended_passes_untouched() -> None:
    """Bytes go through as they are: StringConverter everywhere, and no headers that nobody asked for (INV-5)."""
    config = connector_config(URL, poll_interval_ms=5)
    converters = {config[f"{part}.converter"] for part in ("key", "value", "header")}
    assert converters == {"org.apache.kafka.connect.storage.StringConverter"}
    assert config["extended.headers.enabled"] == "false"


def test_the_producer_takes_what_the_topics_take() -> None:
    """A row that Postgres took must never be one that the connector's producer refuses: it would stop there."""
    config = connector_config(URL, poll_interval_ms=5)
    assert 2 * MAX_PAYLOAD_BYTES <= int(config["producer.override.max.request.size"]) <= MAX_MESSAGE_BYTES


def test_no_payload_is_logged() -> None:
    """Kafka Connect can write failed records into its log; it must not (INV-9)."""
    assert connector_config(URL, poll_interval_ms=5)["errors.log.include.messages"] == "false"
