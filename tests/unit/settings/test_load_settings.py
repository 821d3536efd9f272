"""What a person with a wrong setting is told, and what they are never shown."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from streams.settings import Settings, SettingsError, load_settings
from streams.settings.fields import Fields, variable


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """An environment without OUTBOX_ variables, and a function that sets some."""
    for name in [name for name in os.environ if name.startswith("OUTBOX_")]:
        monkeypatch.delenv(name)

    def set_variables(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(f"OUTBOX_{name}", value)

    return set_variables


def problems(*needs: str) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        load_settings(needs=needs)
    return caught.value.problems


def test_defaults_are_consistent(environment: Callable[..., None]) -> None:
    """With nothing set, everything has a valid default, and no address is assumed."""
    environment()
    settings = load_settings()
    assert settings == Settings()
    assert settings.kafka_bootstrap_servers == ""
    assert settings.tiers[0] == timedelta(seconds=1)
    assert len(settings.tiers) == 11


def test_all_wrong_settings_are_reported_at_once(environment: Callable[..., None]) -> None:
    """Wrong values, wrong pairs, misspelled names and missing ones stand in one report, with their variables."""
    environment(
        WINDOW="many", UNROUTED="drop", TIERS="2s,1s", DRAIN_LIMIT_S="16", ENDPOINT_TIMEOUT_S="17", LANEZ="3"
    )
    report = "\n".join(problems("kafka_bootstrap_servers"))
    for part in (
        "OUTBOX_WINDOW = many: accepted is a whole number from 1 to 100000",
        "OUTBOX_UNROUTED = drop: accepted is one of dead-letter, discard",
        "OUTBOX_TIERS = 2s,1s: tiers must ascend",
        "OUTBOX_ENDPOINT_TIMEOUT_S = 17, OUTBOX_DRAIN_LIMIT_S = 16: ",
        "OUTBOX_LANEZ is no setting; did you mean OUTBOX_LANES?",
        "OUTBOX_KAFKA_BOOTSTRAP_SERVERS is not set: The Kafka brokers.",
    ):
        assert part in report
    assert len(problems("kafka_bootstrap_servers")) == 6


@pytest.mark.parametrize("name", sorted(set(Fields.model_fields) - {"handlers"}))
def test_every_setting_names_what_it_accepts(environment: Callable[..., None], name: str) -> None:
    """A value that makes no sense anywhere is reported for each setting, with what is accepted."""
    environment(**{name.upper(): "\N{SNOWMAN} ?"})
    (problem,) = problems()
    assert problem.startswith(f"{variable(name)} = ")
    assert "accepted is " in problem


@pytest.mark.parametrize("name", list(Fields.model_fields))
def test_every_setting_says_who_sets_it(name: str) -> None:
    """No setting without a person who would change it."""
    field = Fields.model_fields[name]
    assert field.description
    assert isinstance(field.json_schema_extra, dict)
    assert field.json_schema_extra["set_by"]


@pytest.mark.parametrize(
    ("variables", "part"),
    [
        ({"HANDLER_BASE_DELAY_S": "1000"}, "the base delay must not be above"),
        ({"HANDLER_MAX_ATTEMPTS": "200"}, "add up to less than its greatest age"),
        ({"ENDPOINT_CONNECT_TIMEOUT_S": "16"}, "more time than the whole"),
        ({"ENDPOINT_FIRST_BYTE_TIMEOUT_S": "16"}, "more time than the whole"),
        ({"ENDPOINT_SCHEDULE": "24h,24h,24h,25h"}, "(97h in all)"),
        ({"ENDPOINT_SCHEDULE": "0s,5s"}, "longer than 0s"),
        ({"ENDPOINT_SCHEDULE": ",".join(["999999999h"] * 30)}, "longer than any calendar in all"),
        ({"WINDOW": "10"}, "more attempts than the worker"),
        ({"ENDPOINT_TIMEOUT_S": "20"}, "below the drain limit"),
        ({"SESSION_TIMEOUT_S": "11"}, "together at most 15s"),
        ({"MIN_INSYNC_REPLICAS": "2"}, "no more copies can be demanded"),
        ({"RETENTION_HOURS": "96"}, "keep a record for its greatest age"),
        ({"LOG_RETENTION_DAYS": "3"}, "the delivery log must keep a delivery for its greatest age"),
        ({"TIERS": "500ms,1s"}, "shortest tier must be 1s"),
        ({"TIERS": "1s,1s"}, "tiers must ascend"),
    ],
)
def test_contradictions_are_found(
    environment: Callable[..., None], variables: dict[str, str], part: str
) -> None:
    """Settings that are valid alone and wrong together never start a process."""
    environment(**variables)
    assert part in "\n".join(problems())
    with pytest.raises(SettingsError):
        Settings()


def test_a_wrong_setting_hides_no_contradiction_of_others(environment: Callable[..., None]) -> None:
    """A contradiction is reported beside a wrong value, unless it looked at that very value."""
    environment(RETENTION_HOURS="never", MIN_INSYNC_REPLICAS="3")
    assert [problem.split(" = ")[0] for problem in problems()] == [
        "OUTBOX_RETENTION_HOURS",
        "OUTBOX_MIN_INSYNC_REPLICAS",
    ]


def test_no_password_is_shown(environment: Callable[..., None]) -> None:
    """Neither a wrong address nor the log line of a start shows a password (INV-9)."""
    environment(
        DATABASE_URL="postgresql://app:pa@ss/word@",
        CONNECTOR_DATABASE_URL="postgresql:/app:pass/word@",
        CONNECT_URL="ftp://app:pass/word@connect",
    )
    report = "\n".join(problems())
    assert "word" not in report.replace("password@host", "")
    environment(
        DATABASE_URL="postgresql://app:pass%2Fword@db/shop",
        CONNECTOR_DATABASE_URL="host=db dbname=shop password=pass/word",
        CONNECT_URL="http://app:pass-word@connect:8083/",
    )
    settings = load_settings()
    described = settings.describe()
    assert "word" not in str(described)
    assert "word" not in repr(settings)
    assert described["database_url"] == "set"
    assert described["connect_url"] == "http://***@connect:8083"


def test_environment_is_stronger_than_the_file(environment: Callable[..., None], tmp_path: Path) -> None:
    """The file may hold lists; a variable with the same name wins."""
    file = tmp_path / "outbox.toml"
    file.write_text('window = 50\nlanes = 3\nendpoint_concurrency = 5\ntiers = ["1s", "10s"]\n')
    environment(CONFIG=str(file), LANES="4")
    settings = load_settings()
    assert (settings.window, settings.lanes) == (50, 4)
    assert settings.tiers == (timedelta(seconds=1), timedelta(seconds=10))


def test_a_wrong_file_is_loud(environment: Callable[..., None], tmp_path: Path) -> None:
    """A missing file, a broken one and an unknown key are errors: a setting never silently does nothing."""
    file = tmp_path / "outbox.toml"
    environment(CONFIG=str(file))
    assert "can't be read" in problems()[0]
    file.write_text("window = = 3")
    assert "not a TOML file" in problems()[0]
    file.write_text("windw = 3\nlanes = 0")
    assert problems() == (
        "windw in the file is no setting; did you mean window?",
        "OUTBOX_LANES = 0: accepted is a whole number from 1 to 64",
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("tiers", value) for value in ("5", "[5]", "[]", "true", '[["1s"]]', "{a = 1}", '["1s", ""]')],
        *[("endpoint_allowed_networks", value) for value in ("5", "[5]", '["10.0.0.1/8"]')],
        *[("window", value) for value in ("1.5", "[1]", '"x"', "0", "100001")],
        *[("park_wait_s", value) for value in ("nan", "inf", "-inf", '"nan"', "0", "61")],
        *[("handlers", value) for value in ("5", '"a b"', '"a..b"', '"a-b"', '".a"')],
        *[
            ("kafka_bootstrap_servers", value)
            for value in ('"kafka"', '"kafka:0"', '"a:1;b:2"', '"kafka:99999"')
        ],
        *[
            ("connect_url", value)
            for value in ('"connect:8083"', '"http://"', '"http://[::1"', '"file:///etc"')
        ],
        *[("database_url", value) for value in ('"db"', '"postgresql://db"', '"postgresql:///shop"', "5")],
    ],
)
def test_no_value_is_more_than_a_wrong_value(
    environment: Callable[..., None], tmp_path: Path, name: str, value: str
) -> None:
    """Whatever stands in the file, the answer is the report, and no traceback."""
    file = tmp_path / "outbox.toml"
    file.write_text(f"{name} = {value}")
    environment(CONFIG=str(file))
    (problem,) = problems()
    assert problem.startswith(f"{variable(name)} = ")


def test_kubernetes_service_links_are_no_settings(environment: Callable[..., None]) -> None:
    """A Service named outbox-api in the namespace must not keep every worker from starting."""
    environment(
        API_SERVICE_HOST="10.0.0.1",
        API_SERVICE_PORT="80",
        API_SERVICE_PORT_HTTP="80",
        API_PORT="tcp://10.0.0.1:80",
        API_PORT_80_TCP="tcp://10.0.0.1:80",
        API_PORT_80_TCP_PROTO="tcp",
        API_PORT_80_TCP_ADDR="10.0.0.1",
    )
    load_settings()


def test_an_empty_variable_is_unset(environment: Callable[..., None]) -> None:
    """A manifest's empty value means the default; an empty address is missing where it is needed."""
    environment(WINDOW="", CONNECT_URL="")
    assert load_settings().window == 1000
    assert problems("connect_url")[0].startswith("OUTBOX_CONNECT_URL is not set")


def test_connector_database_defaults_to_the_application_s() -> None:
    """Debezium logs in as the application does, until it is given its own address."""
    app, replica = SecretStr("postgresql://a@db/shop"), SecretStr("postgresql://b@db/shop")
    assert Settings(database_url=app).connector_database == app
    assert Settings(database_url=app, connector_database_url=replica).connector_database == replica


KEY = "k1:MTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTE="


def test_secrets_are_plain_text_only_on_this_machine_or_by_choice() -> None:
    """Who writes endpoints into a database elsewhere needs keys, or has to say that they are not wanted."""
    elsewhere = SecretStr("postgresql://u:p@db.internal/shop")
    with pytest.raises(SettingsError, match="OUTBOX_ENCRYPTION_KEYS is not set"):
        Settings(database_url=elsewhere).writing_key_ring()
    assert not Settings(database_url=elsewhere, encryption_keys=SecretStr("plain")).writing_key_ring()
    assert not Settings(database_url=SecretStr("postgresql://u:p@localhost/shop")).writing_key_ring()
    ring = Settings(database_url=elsewhere, encryption_keys=SecretStr(KEY)).writing_key_ring()
    assert ring.current_id == "k1"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OUTBOX_ENCRYPTION_KEYS", "k1:hunter2"),
        ("OUTBOX_ENCRYPTION_KEYS", f"{KEY},{KEY}"),
        ("OUTBOX_API_TOKENS", "deploy:write:hunter2"),
        ("OUTBOX_API_TOKENS", "deploy:admin:" + "0" * 64),
        ("OUTBOX_API_TOKENS", ",".join(["a:read:" + "0" * 64] * 2)),
        ("OUTBOX_API_LISTEN", "8090"),
        ("OUTBOX_API_LISTEN", "127.0.0.1:65536"),
    ],
)
def test_keys_and_tokens_are_checked_and_not_shown(
    environment: Callable[..., None], variable: str, value: str
) -> None:
    """INV-9: the report names the setting and what it accepts."""
    environment(**{variable.removeprefix("OUTBOX_"): value})
    with pytest.raises(SettingsError, match=f"{variable} = .*accepted is") as raised:
        load_settings()
    if not variable.endswith("LISTEN"):
        assert value not in str(raised.value)
