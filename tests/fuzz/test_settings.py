"""Settings from an environment and a file of any content: settings, or one report without a secret."""

import tempfile
from collections.abc import Callable
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams.duration import format_duration, parse_duration
from streams.settings import Settings, SettingsError, load_settings, values
from streams.settings.fields import CONFIG_VARIABLE, Fields, variable
from tests.fuzz.environment import can_be_in_an_environment, environment
from tests.fuzz.mutation import TEXTS, any_text, mutated, mutated_text
from tests.fuzz.profile import FUZZ
from tests.fuzz.refusal import read_or_refused

Read = TypeVar("Read")
DURATIONS = ["1s,2s,4s", "250ms", "24h,48h", "999999999h", "0s", "15m , 1h"]
NETWORKS = ["127.0.0.0/8,::1/128", "10.1.0.0/16", "fd00:1::/32", "192.0.2.1"]
ADDRESSES = {
    "database_url": ["postgresql://app:hunter2@db:5432/shop", "host=db dbname=shop password=hunter2"],
    "connect_url": ["http://app:hunter2@connect:8083/", "https://[::1]:8083"],
    "kafka_bootstrap_servers": ["kafka-1:9092,kafka-2:9092", "[::1]:9092", "app:hunter2@kafka:9092"],
    "handlers": ["shop.handlers"],
}
WRITTEN = {
    **ADDRESSES,
    "tiers": DURATIONS,
    "endpoint_schedule": [*DURATIONS, ",".join(["999999999h"] * 30)],
    "endpoint_allowed_networks": NETWORKS,
    "window": ["1000", "1e3", "1.0"],
    "park_wait_s": ["2.5", "inf", "nan"],
    "handler_max_attempts": ["8", "200"],
    "unrouted": ["discard"],
    "retention_hours": ["168"],
}
FILES = [
    b'window = 50\ntiers = ["1s", "10s"]\n',
    b'# comment\n[table]\nlanes = 3\n"quoted key" = 1979-05-27T07:32:00Z\n',
    b'connect_url = "ftp://app:hunter2@connect"\nendpoint_allowed_networks = ["10.0.0.0/8"]\n',
    b'database_url = """postgresql://app:hunter2@db/shop"""\npark_wait_s = 1e3\nx = {a = [1, {b = 2}]}\n',
]


def loaded(variables: dict[str, str]) -> Settings | None:
    """The settings; None where they are refused in a report that can be printed and shows no password."""
    with environment(variables):
        settings = read_or_refused(load_settings, SettingsError)
        if isinstance(settings, SettingsError):
            assert settings.problems
            # Names and values are cut; the sentence around them is of ours.
            assert all(len(problem) <= 1_500 for problem in settings.problems)
            assert "hunter2" not in str(settings)
            return None
        described = settings.describe()
        assert "hunter2" not in str(described)
        assert "hunter2" not in repr(settings)
        return settings


@st.composite
def some_variables(draw: st.DrawFn) -> dict[str, str]:
    names = draw(st.lists(st.sampled_from(sorted(WRITTEN)), min_size=1, max_size=4, unique=True))
    drawn = {variable(name): draw(mutated_text(WRITTEN[name])) for name in names}
    return {name: text for name, text in drawn.items() if can_be_in_an_environment(text)}


#: A password may be garbled by a mutation, but is then no "hunter2" either.
@FUZZ
@given(some_variables())
@example({"OUTBOX_ENDPOINT_SCHEDULE": ",".join(["999999999h"] * 30)})
@example({"OUTBOX_CONNECT_URL": "ftp://app:hun\nhunter2@connect"})
@example({"OUTBOX_CONNECT_URL": "app:hunter2@connect"})
@example({"OUTBOX_KAFKA_BOOTSTRAP_SERVERS": "app:hunter2@kafka:9092"})
@example({"OUTBOX_WINDOW": "9" * 100_000})
@example({"OUTBOX_CONFIG": "\udcff"})
@example({"OUTBOX_" + "X" * 100_000: "1"})
def test_any_environment_is_settings_or_a_report(variables: dict[str, str]) -> None:
    """Every wrong value is reported, cut and without a password; a start never ends in a traceback."""
    # What stands behind the last "@" is shown, and a mutation may have put the password there.
    shown = [text.rpartition("@")[2] for name, text in variables.items() if "DATABASE" not in name]
    if any("hunter2" in text for text in shown):
        return
    settings = loaded(variables)
    if settings is not None:
        assert all(
            later > earlier for earlier, later in zip(settings.tiers, settings.tiers[1:], strict=False)
        )
        assert settings.connect_url.isprintable()


@FUZZ
@given(
    mutated(
        FILES,
        [b"hunter3", b"[" * 900, b"{a=" * 900, b"9" * 5_000, b"\n", b'"""', b"\xff", b"1e999", b"x.y.z="],
    )
)
@example(b"window = " + b"9" * 5_000)
@example(b"x = " + b"[" * 100_000)
@example(b"x" * 100_000 + b" = 1")
@example(b'connect_url = "\\ud800"')
@example(b'window = "\\u0000"\nhandlers = "\\u0000"\nconnect_url = "http://\\u0000"')
def test_any_file_is_settings_or_a_report(content: bytes) -> None:
    """Broken TOML, numbers without end, nesting without end, keys without end: the same report."""
    if b"hunter2" in content and content.count(b"hunter2@") != content.count(b"hunter2"):
        return
    with tempfile.NamedTemporaryFile(suffix=".toml") as file:
        Path(file.name).write_bytes(content)
        loaded({CONFIG_VARIABLE: file.name})


#: What a TOML file may hold in the place of a text.
ANY_TOML = st.recursive(
    any_text | st.integers() | st.floats() | st.booleans() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=2),
    max_leaves=4,
)


@FUZZ
@given(
    durations=mutated_text(DURATIONS) | ANY_TOML,
    networks=mutated_text(NETWORKS, [*TEXTS, "/0", "/33", "/255.0.0.0", "::", "%1"]) | ANY_TOML,
    servers=mutated_text(ADDRESSES["kafka_bootstrap_servers"]),
    url=mutated_text(ADDRESSES["connect_url"]),
    database=mutated_text(ADDRESSES["database_url"]),
    module=mutated_text(ADDRESSES["handlers"]),
)
def test_every_text_of_a_setting_is_its_value_or_a_value_error(
    *, durations: Any, networks: Any, servers: str, url: str, database: str, module: str
) -> None:
    """Pydantic takes a ValueError for an answer and no other; and what was read has the form that is asked for."""
    read = value_or_none(values.durations, durations)
    assert read is None or all(item >= timedelta() for item in read)
    found = value_or_none(values.networks, networks)
    assert found is None or all(isinstance(item, IPv4Network | IPv6Network) for item in found)
    checked = value_or_none(values.bootstrap_servers, servers)
    assert checked is None or value_or_none(values.bootstrap_servers, checked) == checked
    http = value_or_none(values.http_url, url)
    assert http is None or value_or_none(values.http_url, http) == http
    value_or_none(values.database_url, database)
    path = value_or_none(values.module_path, module)
    assert not path or all(part for part in path.split("."))


def value_or_none(read: Callable[[Any], Read], text: Any) -> Read | None:
    try:
        return read(text)
    except ValueError:
        return None


@FUZZ
@given(mutated_text(["1s", "250ms", "15m", "24h", "999999999h"]) | any_text)
@example("9" * 5_000 + "h")
@example("１s")  # noqa: RUF001 - a digit that is none
def test_a_duration_that_was_read_is_written_the_same(text: str) -> None:
    """A tier's name and its wait can't disagree: what was read and written is read as the same."""
    read = value_or_none(parse_duration, text)
    if read is not None:
        written = format_duration(read)
        assert parse_duration(written) == read
        assert format_duration(parse_duration(written)) == written


@pytest.mark.parametrize("name", ["connect_url", "kafka_bootstrap_servers"])
@pytest.mark.parametrize(
    "text", ["ftp://app:one\nhunter2@h", "app:hunter2@h", "//a@b:hunter2@h", "a@b//c:hunter2@h"]
)
def test_no_wrong_address_shows_what_stands_before_its_last_at_sign(name: str, text: str) -> None:
    """INV-9: over a line end, without a scheme, with several of them."""
    assert name in Fields.model_fields
    assert loaded({variable(name): text}) is None
