"""The endpoint store against a real Postgres: what is stored is told, in the same transaction or not at all."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from connectors.postgres.audit import Actor, AuditLog
from connectors.postgres.connection import connect
from connectors.postgres.endpoints import EndpointStore, new_endpoint_id
from connectors.postgres.errors import (
    DatabaseUnreachableError,
    EndpointExistsError,
    EndpointNotFoundError,
    EndpointUnreadableError,
    SchemaMissingError,
    StatementFailedError,
)
from connectors.postgres.sealings import count_sealings
from connectors.postgres.stored_endpoint import StoredEndpoint, UnreadableEndpoint
from connectors.webhook.confidential import Confidential
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.errors import SecretLockedError
from connectors.webhook.key_ring import EncryptionKey, KeyRing
from connectors.webhook.payload_filter import PayloadFilter
from connectors.webhook.secret import Secret
from outbox import EventFilter

# The store deletes its outbox rows in the transaction that writes them; Debezium reads them from the WAL. A
# trigger keeps what the WAL would have.
_KEEP_WHAT_IS_TOLD = """
create table public.told (like outbox.outbox, n bigint generated always as identity);
create function public.keep() returns trigger language plpgsql as $$
begin
    insert into public.told select new.*;
    return null;
end
$$;
create trigger keep after insert on outbox.outbox for each row execute function public.keep();
"""


@pytest.fixture(scope="module")
def url(outbox_database_url: str) -> str:
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute(_KEEP_WHAT_IS_TOLD)
    return outbox_database_url


@pytest.fixture
def connection(url: str) -> Iterator[psycopg.Connection[Any]]:
    with connect(url) as connection:
        yield connection
    with connect(url) as connection:
        connection.execute("truncate outbox.endpoints, outbox.outbox, outbox.audit, public.told")


@pytest.fixture
def store(connection: psycopg.Connection[Any]) -> EndpointStore:
    return EndpointStore(connection)


def an_endpoint(**changes: Any) -> Endpoint:
    return replace(
        Endpoint(
            id=new_endpoint_id(),
            url="https://example.com/hook?token=1",
            event_types=(EventFilter("order.*"), EventFilter("customer.created")),
            secrets=(Secret(b"a" * 32), Secret(b"b" * 24)),
            enabled=True,
            description="Shipping, \N{EURO SIGN}",
            created_at=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        ),
        **changes,
    )


def told(url: str) -> list[tuple[str, str, str, str, str | None]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "select channel, type, aggregate_type, aggregate_id, payload from public.told order by n"
        ).fetchall()


def test_an_endpoint_comes_back_as_it_was_added(store: EndpointStore, url: str) -> None:
    """Every field survives the table, the secrets in their order; and its JSON is told as it stands."""
    endpoint = an_endpoint()
    store.add(endpoint)
    assert store.get(endpoint.id) == endpoint
    assert store.list() == (endpoint,)
    assert told(url) == [
        ("endpoints", "endpoint.added", "endpoint", endpoint.id, endpoint.to_json().decode())
    ]


def test_every_change_is_told_in_order(store: EndpointStore, url: str) -> None:
    """Added, changed, removed: the last record of the key is what is true, and a removal is a tombstone."""
    endpoint = an_endpoint()
    store.add(endpoint)
    changed = store.update(
        endpoint.id, lambda before: replace(before, enabled=False, url="https://example.org/")
    )
    store.remove(endpoint.id)
    assert changed == replace(endpoint, enabled=False, url="https://example.org/")
    assert [(event_type, payload) for _, event_type, _, _, payload in told(url)] == [
        ("endpoint.added", endpoint.to_json().decode()),
        ("endpoint.changed", changed.to_json().decode()),
        ("endpoint.removed", None),
    ]
    assert store.list() == ()


def test_no_secret_is_left_in_the_outbox(store: EndpointStore, url: str) -> None:
    """Applications may be allowed to read the outbox: what is told is deleted again where it was written."""
    endpoint = an_endpoint()
    store.add(endpoint)
    store.update(endpoint.id, lambda before: replace(before, enabled=False))
    with psycopg.connect(url) as connection:
        assert connection.execute("select count(*) from outbox.outbox").fetchone() == (0,)


def test_a_change_is_stored_and_told_or_neither(connection: psycopg.Connection[Any], url: str) -> None:
    """In one transaction: rolled back, nothing is stored and nothing told; refused in the telling, nothing stored."""
    store = EndpointStore(connection)
    with connection.transaction(force_rollback=True):
        store.add(an_endpoint())
        assert len(store.list()) == 1
    assert (store.list(), told(url)) == ((), [])
    too_large = an_endpoint(description="x" * 1_000_000)
    with pytest.raises(StatementFailedError, match="outbox_payload_fits_a_record") as caught:
        store.add(too_large)
    # Postgres' DETAIL quotes the row, from its beginning on.
    assert "example.com" not in "".join(traceback.format_exception(caught.value))
    assert (store.list(), told(url)) == ((), [])


def test_each_change_is_committed_by_itself(store: EndpointStore, url: str) -> None:
    """Without a transaction of the caller's, the method's end is the commit, and no transaction stays open."""
    endpoint = an_endpoint()
    store.add(endpoint)
    with connect(url) as other:
        assert EndpointStore(other).list() == (endpoint,)
    assert store._connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


def test_an_id_is_taken_once(store: EndpointStore, url: str) -> None:
    """A second endpoint under an id is refused, and not told."""
    endpoint = an_endpoint()
    store.add(endpoint)
    with pytest.raises(EndpointExistsError, match=endpoint.id):
        store.add(endpoint)
    assert len(told(url)) == 1


def test_an_unknown_id_is_named(store: EndpointStore, url: str) -> None:
    """Get, update and remove name the id that there is none of, and change nothing."""
    for call in (
        store.get,
        store.remove,
        lambda endpoint_id: store.update(endpoint_id, lambda before: before),
    ):
        with pytest.raises(EndpointNotFoundError, match="There is no endpoint 'ep_none'"):
            call("ep_none")
    assert told(url) == []


@pytest.mark.parametrize(
    "changes", [{"id": "ep_other"}, {"created_at": datetime(2027, 1, 1, tzinfo=UTC)}], ids=str
)
def test_an_endpoint_keeps_its_id(store: EndpointStore, url: str, changes: dict[str, Any]) -> None:
    """Under another id it would be another endpoint, and the deliveries that wait for this one be lost."""
    endpoint = an_endpoint()
    store.add(endpoint)
    with pytest.raises(StatementFailedError, match="keeps its id"):
        store.update(endpoint.id, lambda before: replace(before, **changes))
    assert store.list() == (endpoint,)
    assert len(told(url)) == 1


def test_changes_at_once_lose_none(url: str, store: EndpointStore) -> None:
    """Two that change one endpoint wait for each other; what is told last is what is stored."""
    endpoint = an_endpoint(description="")
    store.add(endpoint)
    changes = 8
    start = threading.Barrier(changes)

    def change(number: int) -> None:
        with connect(url) as connection:
            start.wait()
            EndpointStore(connection).update(
                endpoint.id, lambda before: replace(before, description=f"{before.description}{number}")
            )

    with ThreadPoolExecutor(changes) as pool:
        for future in [pool.submit(change, number) for number in range(changes)]:
            future.result()
    stored = store.get(endpoint.id)
    assert sorted(stored.description) == [str(number) for number in range(changes)]
    assert told(url)[-1][4] == stored.to_json().decode()


def test_all_can_be_told_again(store: EndpointStore, url: str) -> None:
    """For a topic that was lost: every endpoint once more, as it is."""
    endpoints = [an_endpoint(created_at=datetime(2026, 1, day, tzinfo=UTC)) for day in (1, 2, 3)]
    for endpoint in reversed(endpoints):
        store.add(endpoint)
    assert store.list() == tuple(endpoints)
    assert store.tell_all() == (3, ())
    assert [row[4] for row in told(url)[3:]] == [endpoint.to_json().decode() for endpoint in endpoints]


KEYS = KeyRing([EncryptionKey("k1", b"1" * 32)])
NEW_KEYS = KeyRing([EncryptionKey("k2", b"2" * 32), EncryptionKey("k1", b"1" * 32)])


def test_all_that_an_endpoint_can_have_comes_back(
    store: EndpointStore, connection: psycopg.Connection[Any]
) -> None:
    """Headers, timeout, schedule, age, limits, filter and metadata, sealed or plain; metadata is not told."""
    endpoint = an_endpoint(
        secrets=(Secret(b"a" * 32), Secret(b"b" * 32).until(datetime(2026, 1, 3, tzinfo=UTC))),
        headers=(("x-a", Confidential("1")), ("x-b", Confidential("2"))),
        timeout=timedelta(seconds=2.5),
        schedule=(timedelta(seconds=5), timedelta(days=2)),
        max_age=timedelta(days=3),
        concurrency=4,
        rate_limit_per_s=1 / 60,
        payload_filter=PayloadFilter.of(
            {"b": [1.0, 1.7e308, "\0", {"numeric": [">", 0.1]}], "a": {"c": [None]}}
        ),
    )
    stored = store.add(endpoint, metadata={"tenant": "hunter2"})
    assert (stored.endpoint, stored.metadata, stored.revision) == (endpoint, {"tenant": "hunter2"}, 1)
    assert store.stored(endpoint.id) == stored
    sealing = EndpointStore(connection, keys=KEYS)
    assert sealing.reseal(endpoint.id)
    opened = sealing.get(endpoint.id)
    assert opened.secrets == endpoint.secrets
    assert [(name, value.reveal()) for name, value in opened.headers] == [("x-a", "1"), ("x-b", "2")]
    assert replace(opened, headers=endpoint.headers) == endpoint


def test_resealing_seals_plain_text_and_what_another_key_sealed_and_tells_it(
    store: EndpointStore, connection: psycopg.Connection[Any], url: str
) -> None:
    """After it the older key is needed no more; what is sealed with the current key stays as it is; audited by name."""
    plain, sealed = an_endpoint(), an_endpoint()
    store.add(plain)
    EndpointStore(connection, keys=KEYS).add(sealed)
    assert {one.key_id: one.count for one in count_sealings(connection)} == {None: 2, "k1": 2}
    resealing = EndpointStore(connection, keys=NEW_KEYS, actor=Actor(name="cli:me"))
    assert [resealing.reseal(one.id) for one in (plain, sealed, sealed)] == [True, True, False]
    assert {one.key_id: one.count for one in count_sealings(connection)} == {"k2": 4}
    only_new = KeyRing([EncryptionKey("k2", b"2" * 32)])
    assert EndpointStore(connection, keys=only_new).get(plain.id).secrets == plain.secrets
    last = [row for row in told(url) if row[1] == "endpoint.told"]
    assert [row[3] for row in last] == [plain.id, sealed.id]
    for row in last:
        assert Endpoint.from_json((row[4] or "").encode(), only_new).secrets == plain.secrets
        assert "whsec_" not in (row[4] or "")
    entries = AuditLog(connection).page(limit=2)
    assert [(one.actor, one.action) for one in entries] == [("cli:me", "endpoint.resealed")] * 2


def test_what_cannot_be_opened_is_not_resealed(connection: psycopg.Connection[Any]) -> None:
    """Nothing is lost: the row stays as it was."""
    endpoint = an_endpoint()
    EndpointStore(connection, keys=KEYS).add(endpoint)
    stranger = EndpointStore(connection, keys=KeyRing([EncryptionKey("k9", b"9" * 32)]))
    with pytest.raises(SecretLockedError, match=f"endpoint {endpoint.id}: secret: sealed with the key k1"):
        stranger.reseal(endpoint.id)
    assert EndpointStore(connection, keys=KEYS).get(endpoint.id).secrets == endpoint.secrets


def test_a_change_and_who_made_it_are_stored_together_or_not_at_all(
    connection: psycopg.Connection[Any],
) -> None:
    """One transaction; what was refused is not in the audit table, and what changed nothing is not either."""
    store = EndpointStore(connection, actor=Actor(name="deploy", request_id="r-1"))
    endpoint = an_endpoint()
    store.add(endpoint)
    store.update(endpoint.id, lambda before: before)
    store.update(endpoint.id, lambda before: replace(before, description="x", enabled=False))
    with connection.transaction(force_rollback=True):
        store.remove(endpoint.id)
    with pytest.raises(EndpointExistsError):
        store.add(endpoint)
    entries = AuditLog(connection).page(limit=10, endpoint_id=endpoint.id)
    assert [(one.action, one.fields, one.actor, one.request_id) for one in entries] == [
        ("endpoint.changed", ("enabled", "description"), "deploy", "r-1"),
        ("endpoint.added", (), "deploy", "r-1"),
    ]
    assert store.stored(endpoint.id).revision == 2


def test_the_connection_may_make_rows_of_any_kind(url: str, connection: psycopg.Connection[Any]) -> None:
    """The store reads its rows its own way."""
    endpoint = an_endpoint()
    connection.row_factory = dict_row
    EndpointStore(connection).add(endpoint)
    assert EndpointStore(connection).list() == (endpoint,)
    assert len(told(url)) == 1


def test_a_row_that_is_refused_now_can_be_listed_repaired_and_removed_and_ends_nothing_else(
    store: EndpointStore, connection: psycopg.Connection[Any], url: str
) -> None:
    """An older version took this URL. The others are listed and told; it is named, without its URL."""
    good, bad = an_endpoint(), an_endpoint()
    store.add(good)
    store.add(bad)
    connection.execute("update outbox.endpoints set url = 'https://[::1]beside/' where id = %s", [bad.id])
    connection.commit()
    found = store.everything()
    assert [one for one in found if isinstance(one, StoredEndpoint)] == [store.stored(good.id)]
    [unreadable] = [one for one in found if isinstance(one, UnreadableEndpoint)]
    assert (unreadable.id, unreadable.created_at) == (bad.id, bad.created_at)
    assert "url" in unreadable.why
    assert "::1" not in unreadable.why
    assert store.list() == (good,)
    assert store.tell_all() == (1, (unreadable,))
    for act in (store.get, store.reseal, lambda one: store.update(one, lambda before: before)):
        with pytest.raises(EndpointUnreadableError, match=f"{bad.id}.*remove the endpoint"):
            act(bad.id)
    repaired = store.change(bad.id, lambda before: before, instead={"url": "https://good.example/"})
    assert (repaired.endpoint.url, repaired.revision) == ("https://good.example/", 2)
    assert AuditLog(connection).page(limit=1)[0].fields == ("url",)
    assert "good.example" in (told(url)[-1][4] or "")
    connection.execute("update outbox.endpoints set event_types = '{order.**}' where id = %s", [bad.id])
    connection.commit()
    store.remove(bad.id)
    assert store.ids() == (good.id,)
    assert told(url)[-1][3:] == (bad.id, None)


@pytest.mark.parametrize("style", ["iso_8601", "sql_standard", "postgres_verbose"])
def test_the_database_may_write_intervals_its_own_way(
    store: EndpointStore, connection: psycopg.Connection[Any], style: str
) -> None:
    """IntervalStyle is a setting that somebody may have changed for the whole database."""
    connection.execute(f"set intervalstyle = {style}")
    connection.commit()
    waits = (timedelta(seconds=0.5), timedelta(days=3, hours=1))
    endpoint = an_endpoint(timeout=timedelta(seconds=2.5), schedule=waits, max_age=timedelta(days=40))
    store.add(endpoint)
    changed = store.update(endpoint.id, lambda before: replace(before, description="x"))
    assert store.list() == (changed,)
    assert changed == replace(endpoint, description="x")


def test_a_database_without_the_table_says_what_to_do(fresh_database_url: str) -> None:
    """The commonest first mistake: `outbox setup` has not run there."""
    with connect(fresh_database_url) as connection:
        with pytest.raises(SchemaMissingError, match="Run `outbox setup`"):
            EndpointStore(connection).list()
        with pytest.raises(SchemaMissingError, match="Run `outbox setup`"):
            EndpointStore(connection).add(an_endpoint())


def test_a_connection_that_is_lost_says_so(url: str) -> None:
    """An error of the network is this package's, and names what to do."""
    with connect(url) as connection, connect(url) as other:
        other.autocommit = True
        other.execute("select pg_terminate_backend(%s)", (connection.info.backend_pid,))
        with pytest.raises(DatabaseUnreachableError, match="Try again"):
            EndpointStore(connection).list()
