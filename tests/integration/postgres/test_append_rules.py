r"""One set of rules, three doors: the library, the SQL function, and the table itself refuse the same events.

Programs in other languages have the table for their contract (`docs/reference/outbox-table.md`). What one
door takes and another refuses would be a fault found in production; so every case here goes through all
three.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import outbox
from outbox import AppendError
from outbox.event_type import RESERVED_EVENT_TYPES
from outbox.headers import RESERVED_HEADER_NAMES
from outbox.payload import MAX_PAYLOAD_BYTES

VALID: dict[str, Any] = {
    "type": "order.created",
    "aggregate_type": "order",
    "aggregate_id": "42",
    "payload": "{}",
    "headers": {},
    "content_type": "application/json",
}

ACCEPTED: list[dict[str, Any]] = [
    {},
    {"type": "a"},
    {"type": "Order_Created-2.v1"},
    {"type": "a" * 200},
    {"type": ".".join("a" * 100)},
    {"aggregate_type": "ö" * 100},
    {"aggregate_type": r"App\Models\Order <x> $1"},
    {"aggregate_id": "4/2 é€😀\u2028"},
    {"aggregate_id": "x" * 512},
    {"aggregate_id": "é" * 256},
    {"aggregate_id": " "},
    {"aggregate_id": "\x80\x9f"},
    {"payload": "x"},
    {"payload": " \n!"},
    {"payload": "\x7f"},
    {"payload": "\x80"},
    {"payload": "\u00a0"},
    {"payload": "\u2003"},
    {"payload": "\ufeff{}"},
    {"payload": "\uffff\U0010ffff"},
    {"payload": "x" * MAX_PAYLOAD_BYTES},
    {"payload": "é" * (MAX_PAYLOAD_BYTES // 2)},
    {"content_type": "text/plain"},
    {"content_type": "text/csv; charset=utf-8"},
    {"content_type": 'application/vnd.acme.order+json;v=2; q="a b"'},
    {"content_type": "a/" + "b" * 198},
    {"headers": {"traceparent": "00-4bf92f35-00f067aa-01"}},
    {"headers": {"a": ""}},
    {"headers": {"a": "b c"}},
    {"headers": {"0-a-": "~!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}"}},
    {"headers": {"a" * 100: "b"}},
    {"headers": {"a": "b" * 4087}},
    {"headers": {"a": "\\" * 2043}},
    {"headers": {f"h{number}": "" for number in range(64)}},
    {"headers": {"outboxes": "a", "webhook": "b", "hosts": "c"}},
]

REFUSED: list[dict[str, Any]] = [
    {"type": None},
    {"type": ""},
    {"type": " "},
    {"type": "."},
    {"type": "a."},
    {"type": ".a"},
    {"type": "a..b"},
    {"type": "a b"},
    {"type": "a.*"},
    {"type": "*"},
    {"type": "a/b"},
    {"type": "a\n"},
    {"type": "a\nb"},
    {"type": "é"},
    {"type": "٣"},
    {"type": "a" * 201},
    {"aggregate_type": None},
    {"aggregate_type": ""},
    {"aggregate_type": "a\tb"},
    {"aggregate_type": "a\x7f"},
    {"aggregate_type": "a" * 201},
    {"aggregate_type": "é" * 101},
    {"aggregate_id": None},
    {"aggregate_id": ""},
    {"aggregate_id": "a\n"},
    {"aggregate_id": "\x1f"},
    {"aggregate_id": "a" * 513},
    {"aggregate_id": "é" * 257},
    {"payload": None},
    {"payload": ""},
    {"payload": " "},
    {"payload": "\r\n\t \x01\x1f"},
    {"payload": "x" * (MAX_PAYLOAD_BYTES + 1)},
    {"payload": "é" * (MAX_PAYLOAD_BYTES // 2) + "x"},
    {"content_type": ""},
    {"content_type": "json"},
    {"content_type": "text/"},
    {"content_type": "/plain"},
    {"content_type": "text/plain;"},
    {"content_type": "text/plain; "},
    {"content_type": "text/plain; a\r\nb: c"},
    {"content_type": "text/plain\n"},
    {"content_type": "téxt/plain"},
    {"content_type": "text/plain; é"},
    {"content_type": "a/" + "b" * 199},
    {"headers": []},
    {"headers": [{"a": "b"}]},
    {"headers": "a"},
    {"headers": 1},
    {"headers": {"": "a"}},
    {"headers": {"A": "a"}},
    {"headers": {"-a": "a"}},
    {"headers": {"a_b": "a"}},
    {"headers": {"a b": "a"}},
    {"headers": {"a\n": "a"}},
    {"headers": {"a:": "a"}},
    {"headers": {"é": "a"}},
    {"headers": {"a" * 101: "a"}},
    {"headers": {"a": None}},
    {"headers": {"a": 1}},
    {"headers": {"a": True}},
    {"headers": {"a": ["b"]}},
    {"headers": {"a": {"b": "c"}}},
    {"headers": {"a": " "}},
    {"headers": {"a": " b"}},
    {"headers": {"a": "b "}},
    {"headers": {"a": "b\n"}},
    {"headers": {"a": "b\r\nc: d"}},
    {"headers": {"a": "b\tc"}},
    {"headers": {"a": "é"}},
    {"headers": {"a": "\x7f"}},
    {"headers": {"good": "a", "bad": "é"}},
    {"headers": {"a": "b" * 4088}},
    {"headers": {"a": "\\" * 2044}},
    {"headers": {f"h{number}": "" for number in range(65)}},
    {"headers": {"outbox-attempt": "1"}},
    {"headers": {"webhook-id": "1"}},
    *({"headers": {name: "a"}} for name in RESERVED_HEADER_NAMES),
]


def label(case: dict[str, Any]) -> str:
    return json.dumps(case)[:40]


@pytest.fixture
def connection(outbox_database_url: str) -> Iterator[psycopg.Connection[Any]]:
    """Give a connection in a transaction that is rolled back."""
    with (
        psycopg.connect(outbox_database_url) as connection,
        connection.transaction(force_rollback=True),
    ):
        yield connection


def library_takes(connection: psycopg.Connection[Any], event: dict[str, Any]) -> bool:
    aggregate = (event["aggregate_type"], event["aggregate_id"])
    rest = {name: event[name] for name in ("type", "payload", "headers", "content_type")}
    try:
        with connection.transaction():
            outbox.append(connection, aggregate=aggregate, **rest)
    except AppendError:
        return False
    return True


def function_takes(connection: psycopg.Connection[Any], event: dict[str, Any]) -> bool:
    arguments = event | {"headers": json.dumps(event["headers"])}
    try:
        with connection.transaction():
            connection.execute(
                "select outbox.append(%(type)s, %(aggregate_type)s, %(aggregate_id)s, %(payload)s, %(headers)s, "
                "%(content_type)s)",
                arguments,
            )
    except psycopg.errors.CheckViolation as error:
        # The table's own checks have a detail, which quotes the row; those of the function, a hint.
        if error.diag.message_detail is not None or not error.diag.message_hint:
            raise
        return False
    return True


def table_takes(connection: psycopg.Connection[Any], event: dict[str, Any]) -> bool:
    try:
        with connection.transaction():
            connection.execute(
                "insert into outbox.outbox (type, aggregate_type, aggregate_id, payload, headers, "
                "content_type) values (%(type)s, %(aggregate_type)s, %(aggregate_id)s, %(payload)s, "
                "%(headers)s, %(content_type)s)",
                event | {"headers": json.dumps(event["headers"])},
            )
    except (psycopg.errors.CheckViolation, psycopg.errors.NotNullViolation):
        return False
    return True


def doors(connection: psycopg.Connection[Any], event: dict[str, Any]) -> tuple[bool, bool, bool]:
    return (
        library_takes(connection, event),
        function_takes(connection, event),
        table_takes(connection, event),
    )


@pytest.mark.parametrize("case", ACCEPTED, ids=label)
def test_all_three_take_it(connection: psycopg.Connection[Any], case: dict[str, Any]) -> None:
    """What is allowed is allowed whatever the language, and all three store the same row."""
    assert doors(connection, VALID | case) == (True, True, True)
    stored = connection.execute(
        "select distinct channel, type, aggregate_type, aggregate_id, payload, headers, content_type from "
        "outbox.outbox"
    ).fetchall()
    event = VALID | case
    assert stored == [("events", *(event[name] for name in VALID))]


@pytest.mark.parametrize("event_type", sorted(RESERVED_EVENT_TYPES))
def test_what_the_recorder_alone_says_is_refused_to_applications(
    connection: psycopg.Connection[Any], event_type: str
) -> None:
    """A handler that tells a customer of it must be able to believe it. The table takes it: the recorder writes it."""
    assert doors(connection, VALID | {"type": event_type}) == (False, False, True)
    for near in ("endpoint.test", "endpoint.disabled.v2", "Endpoint.disabled", "endpoint.enabled"):
        assert doors(connection, VALID | {"type": near}) == (True, True, True)


@pytest.mark.parametrize("case", REFUSED, ids=label)
def test_all_three_refuse_it(connection: psycopg.Connection[Any], case: dict[str, Any]) -> None:
    """What one refuses, no other lets in by a back door."""
    assert doors(connection, VALID | case) == (False, False, False)
    assert connection.execute("select count(*) from outbox.outbox").fetchone() == (0,)


near_text = st.text(string.ascii_letters + string.digits + ' .-_/*;="\\\t\n\x7fé', max_size=12)
events = st.fixed_dictionaries(
    {
        "type": near_text,
        "aggregate_type": near_text,
        "aggregate_id": near_text,
        "payload": near_text,
        "content_type": near_text | near_text.map("text/plain".__add__),
        "headers": st.dictionaries(near_text.map(str.lower), near_text, max_size=3),
    }
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(events, st.sampled_from(sorted(VALID)))
def test_all_three_agree_on_any_event(
    connection: psycopg.Connection[Any], event: dict[str, Any], field: str
) -> None:
    """Not only the cases that someone thought of: each field by itself, near the border of what is allowed."""
    assert len({*doors(connection, VALID | {field: event[field]})}) == 1


def test_null_is_the_default_of_the_functions_last_three(connection: psycopg.Connection[Any]) -> None:
    """Many languages pass NULL for what isn't given; in Python that is None, and means the same."""
    [first] = connection.execute(
        "select outbox.append('order.created', 'order', '42', '{}', null, null, null)"
    ).fetchall()
    stored = connection.execute("select id, headers, content_type from outbox.outbox").fetchall()
    assert stored == [(*first, {}, "application/json")]


def test_the_function_names_its_arguments(connection: psycopg.Connection[Any]) -> None:
    """Callable by name, with any of the optional ones; the id given is the id stored and returned."""
    event_id = "0190163d-8694-739b-aea5-966c26f8ad91"
    row = connection.execute(
        "select outbox.append(type => 'order.created', aggregate_type => 'order', aggregate_id => '42', "
        "payload => '{}', id => %s)::text",
        (event_id,),
    ).fetchone()
    assert row == (event_id,)
    assert connection.execute("select id::text from outbox.outbox").fetchall() == [(event_id,)]


def test_an_error_of_the_function_shows_no_payload(connection: psycopg.Connection[Any]) -> None:
    """INV-9: the table's own error would quote the row, and Postgres would log it."""
    with pytest.raises(psycopg.errors.CheckViolation) as caught:
        connection.execute(
            "select outbox.append('order created', 'order', '42', 'hunter2', '{\"a\": \"hunter2\"}')"
        )
    assert "hunter2" not in str(caught.value)
    assert caught.value.diag.message_primary == "type: is no event type"
    assert caught.value.diag.constraint_name == "outbox_type_is_dotted_words"


@pytest.mark.parametrize(
    ("columns", "constraint"),
    [
        ({"channel": "orders"}, "outbox_channel_is_known"),
        ({"channel": "endpoints", "payload": " "}, "outbox_payload_is_not_blank"),
        ({"created_at": "infinity"}, "outbox_created_at_is_a_date"),
        ({"created_at": "-infinity"}, "outbox_created_at_is_a_date"),
        ({"created_at": "12000-01-01"}, "outbox_created_at_is_a_date"),
    ],
)
def test_the_table_refuses_what_would_stop_the_connector(
    connection: psycopg.Connection[Any], columns: dict[str, str], constraint: str
) -> None:
    """A channel without a topic, or a time that nobody can read, would hold up every event after it."""
    row = {name: VALID[name] for name in ("type", "aggregate_type", "aggregate_id", "payload")} | columns
    names = ", ".join(row)
    with pytest.raises(psycopg.errors.CheckViolation) as caught:
        connection.execute(
            f"insert into outbox.outbox ({names}) values ({', '.join(['%s'] * len(row))})",  # noqa: S608
            list(row.values()),
        )
    assert caught.value.diag.constraint_name == constraint


def test_a_channel_of_state_takes_a_tombstone(connection: psycopg.Connection[Any]) -> None:
    """NULL is a deletion where the topic is compacted, and only there."""
    connection.execute(
        "insert into outbox.outbox (channel, type, aggregate_type, aggregate_id) "
        "values ('endpoints', 'endpoint.removed', 'endpoint', 'ep_1')"
    )
