"""`outbox endpoints` against a real Postgres."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from typer.testing import CliRunner, Result

from connectors.postgres.connection import connect
from connectors.postgres.endpoint_health import EndpointTurn
from connectors.postgres.endpoint_health_table import EndpointHealthTable
from connectors.postgres.endpoint_health_writer import keep_health
from connectors.postgres.endpoints import EndpointStore
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.key_ring import KeyRing
from streams.cli.endpoints import app

URL = "https://example.com/hook"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def run(outbox_database_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OUTBOX_DATABASE_URL", outbox_database_url)
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("delete from outbox.endpoints")

    def run(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(app, arguments, input=stdin)

    return run


def answer(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def stored(url: str) -> tuple[Endpoint, ...]:
    with connect(url) as connection:
        return EndpointStore(connection).list()


def test_a_secret_that_was_made_is_shown_once(run: Any, outbox_database_url: str) -> None:
    """On `add`, and in no answer after that."""
    added = answer(run("add", URL, "--events", "order.*", "--events", "a,b.c", "--json"))
    secret = added.pop("secret")
    [endpoint] = stored(outbox_database_url)
    assert endpoint.secrets[0].reveal() == secret
    assert added == {
        "id": endpoint.id,
        "url": URL,
        "event_types": ["order.*", "a", "b.c"],
        "enabled": True,
        "description": "",
        "created_at": endpoint.created_at.isoformat(),
        "secret_count": 1,
        "disabled_reason": None,
        "health": {
            "state": "idle",
            "failing_since": None,
            "last_success_at": None,
            "last_failure_at": None,
            "last_error": None,
            "disables_at": None,
        },
        "header_names": [],
        "metadata": {},
        "timeout_s": None,
        "schedule_s": None,
        "max_age_s": None,
        "concurrency": None,
        "rate_limit_per_s": None,
        "payload_filter": None,
    }
    assert answer(run("show", endpoint.id, "--json")) == added
    assert answer(run("list", "--json")) == [added]
    for arguments in (("show", endpoint.id), ("list",), ("update", endpoint.id, "--description", "x")):
        assert "whsec_" not in run(*arguments).output


def test_a_url_that_the_workers_would_refuse_is_refused_at_once(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain http, where no network is allowed: by add and by update, as by the API; allowed, it is taken."""
    endpoint_id = answer(run("add", URL, "--events", "*", "--json"))["id"]
    plain = "http://receiver.example/hooks"
    for arguments in (("add", plain, "--events", "*"), ("update", endpoint_id, "--url", plain)):
        refused = run(*arguments)
        assert (refused.exit_code, "give an https URL" in refused.output) == (1, True)
    monkeypatch.setenv("OUTBOX_ENDPOINT_PLAIN_HTTP", "allow")
    assert run("update", endpoint_id, "--url", plain).exit_code == 0


def test_a_secret_that_was_given_is_never_shown(run: Any, outbox_database_url: str) -> None:
    """It is known to who gave it; a pipe keeps it off the list of processes."""
    assert "whsec_" not in run("add", URL, "--events", "*", "--secret", SECRET).output
    assert "whsec_" not in run("add", URL, "--events", "*", "--secret", "-", stdin=f"{SECRET}\n").output
    assert [endpoint.secrets[0].reveal() for endpoint in stored(outbox_database_url)] == [SECRET, SECRET]


def test_a_rotation_signs_with_both_until_the_old_one_is_retired(run: Any, outbox_database_url: str) -> None:
    """New first, old kept; then the newest alone."""
    endpoint_id = answer(run("add", URL, "--events", "*", "--secret", SECRET, "--json"))["id"]
    made = answer(run("update", endpoint_id, "--new-secret", "--json"))["secret"]
    assert [secret.reveal() for secret in stored(outbox_database_url)[0].secrets] == [made, SECRET]
    answer(run("update", endpoint_id, "--retire-secrets", "--json"))
    assert [secret.reveal() for secret in stored(outbox_database_url)[0].secrets] == [made]
    answer(run("update", endpoint_id, "--secret", SECRET, "--retire-secrets", "--json"))
    assert [secret.reveal() for secret in stored(outbox_database_url)[0].secrets] == [SECRET]


def test_with_keys_secrets_are_stored_sealed(
    run: Any, outbox_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key is made, plain text is resealed, a second key takes over, and then the first is needed no more."""
    added = answer(run("add", URL, "--events", "*", "--json"))
    first, second = (run("new-key", name).stdout.strip() for name in ("k1", "k2"))
    assert "whsec_" in sealings(outbox_database_url)
    for keys, resealed in ((first, 1), (first, 0), (f"{second},{first}", 1), (second, 0)):
        monkeypatch.setenv("OUTBOX_ENCRYPTION_KEYS", keys)
        assert run("reseal").stdout == f"resealed {resealed} endpoint{'' if resealed == 1 else 's'}\n"
        assert "whsec_" not in sealings(outbox_database_url)
    with connect(outbox_database_url) as connection:
        [endpoint] = EndpointStore(connection, keys=KeyRing.parse(second)).list()
    assert endpoint.secrets[0].reveal() == added["secret"]
    assert answer(run("update", endpoint.id, "--new-secret", "--json"))["secret_count"] == 2
    monkeypatch.setenv("OUTBOX_ENCRYPTION_KEYS", first)
    locked = run("reseal")
    assert locked.exit_code == 1
    assert f"endpoint {endpoint.id}: secret: sealed with the key k2" in locked.stderr
    assert answer(run("show", endpoint.id, "--json"))["secret_count"] == 2


def test_who_only_looks_or_removes_needs_no_key(
    run: Any, outbox_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a database elsewhere, adding and changing are refused without a key; the rest stores no secret."""
    endpoint_id = answer(run("add", URL, "--events", "*", "--json"))["id"]
    parts = urlsplit(outbox_database_url)
    # The second host is never reached, but it is no loopback.
    elsewhere = parts._replace(netloc=f"{parts.netloc},db.invalid:{parts.port}").geturl()
    monkeypatch.setenv("OUTBOX_DATABASE_URL", elsewhere)
    for arguments in (("add", URL, "--events", "*"), ("update", endpoint_id, "--new-secret")):
        refused = run(*arguments)
        assert (refused.exit_code, "OUTBOX_ENCRYPTION_KEYS" in refused.stderr) == (1, True)
    assert [one["id"] for one in answer(run("list", "--json"))] == [endpoint_id]
    assert answer(run("show", endpoint_id, "--json"))["id"] == endpoint_id
    assert run("remove", endpoint_id).stdout == f"removed {endpoint_id}\n"


def test_a_row_that_is_refused_now_is_told_and_can_be_repaired(run: Any, outbox_database_url: str) -> None:
    """The list has the others, on stdout as ever; reseal goes on and ends with 1."""
    bad, good = (answer(run("add", URL, "--events", "*", "--json"))["id"] for _ in range(2))
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("update outbox.endpoints set url = 'https://[::1]beside/' where id = %s", [bad])
    listed = run("list", "--json")
    assert [one["id"] for one in answer(listed)] == [good]
    assert bad in listed.stderr
    shown = run("show", bad)
    assert (shown.exit_code, bad in shown.stderr, "Traceback" in shown.output) == (1, True, False)
    repaired = run("update", bad, "--url", URL, "--json")
    assert answer(repaired)["url"] == URL
    assert repaired.stderr == ""
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute(
            """update outbox.endpoints set payload_filter = '{"a": [{"wildcard": "x*"}]}' where id = %s""",
            [bad],
        )
    assert run("update", bad, "--url", URL).exit_code == 1
    repaired = run("update", bad, "--payload-filter", '{"b": ["y"]}', "--json")
    assert answer(repaired)["payload_filter"] == {"b": ["y"]}
    assert len(answer(run("list", "--json"))) == 2


def test_without_keys_nothing_is_resealed(run: Any) -> None:
    """And it says how to get one."""
    result = run("reseal")
    assert (result.exit_code, "new-key" in result.stderr) == (1, True)


def sealings(url: str) -> str:
    with psycopg.connect(url) as connection:
        return str(connection.execute("select secrets from outbox.endpoints").fetchall())


def test_an_update_changes_what_is_given_and_nothing_else(run: Any) -> None:
    """Options that are left out leave their fields as they are."""
    before = answer(
        run("add", URL, "--events", "*", "--secret", SECRET, "--description", "x", "--disabled", "--json")
    )
    assert (before["enabled"], before["description"]) == (False, "x")
    endpoint_id = before["id"]
    assert answer(run("update", endpoint_id, "--json")) == before
    after = answer(run("update", endpoint_id, "--enable", "--url", "https://example.org/", "--json"))
    assert after == before | {"enabled": True, "url": "https://example.org/"}
    after = answer(run("update", endpoint_id, "--events", "a", "--description", "", "--disable", "--json"))
    assert after == before | {"event_types": ["a"], "description": "", "url": "https://example.org/"}


def test_an_endpoint_gets_limits_and_all_else_of_its_own(
    run: Any, outbox_database_url: str, tmp_path: Path
) -> None:
    """The same as the API stores, by the same rules; header values are not shown."""
    (tmp_path / "filter.json").write_text('{"total": [{"numeric": [">=", 100]}]}')
    (tmp_path / "key").write_text("hunter2\n")
    added = run(
        *(
            "add",
            URL,
            "--events",
            "*",
            "--json",
            "--timeout",
            "2500ms",
            "--schedule",
            "5s,1m",
            "--max-age",
            "24h",
        ),
        *("--header", f"X-Api-Key:@{tmp_path / 'key'}", "--header", "x-b: 2", "--metadata", "tenant=t=1"),
        *("--concurrency", "4", "--rate-limit", "1/m", "--payload-filter", f"@{tmp_path / 'filter.json'}"),
    )
    fields = answer(added)
    assert "hunter2" not in added.output
    own = {
        "header_names": ["x-api-key", "x-b"],
        "metadata": {"tenant": "t=1"},
        "timeout_s": 2.5,
        "schedule_s": [5.0, 60.0],
        "max_age_s": 86_400.0,
        "concurrency": 4,
        "rate_limit_per_s": 1 / 60,
        "payload_filter": {"total": [{"numeric": [">=", 100]}]},
    }
    assert {name: fields[name] for name in own} == own
    [endpoint] = stored(outbox_database_url)
    assert [value.reveal() for _, value in endpoint.headers] == ["hunter2", "2"]
    shown = run("show", fields["id"]).stdout
    assert 'payload_filter    {"total":[{"numeric":[">=",100]}]}\n' in shown


def test_an_update_gives_back_what_an_endpoint_had_of_its_own(run: Any) -> None:
    """Each option has a word for it; a filter takes the place of the one before, headers are merged."""
    fields = answer(
        run(
            *(
                "add",
                URL,
                "--events",
                "*",
                "--json",
                "--timeout",
                "2s",
                "--schedule",
                "none",
                "--max-age",
                "1h",
            ),
            *("--concurrency", "4", "--rate-limit", "10", "--payload-filter", '{"a": ["x"], "b": ["y"]}'),
            *("--header", "x-a:1", "--header", "x-b:2", "--metadata", "a=1", "--metadata", "b=2"),
        )
    )
    assert (fields["schedule_s"], fields.pop("secret")[:6]) == ([], "whsec_")
    changed = answer(
        run(
            *("update", fields["id"], "--json", "--payload-filter", '{"b": [1]}', "--header", "x-a"),
            *("--metadata", "b", "--rate-limit", "30/m"),
        )
    )
    assert changed == fields | {
        "payload_filter": {"b": [1]},
        "header_names": ["x-b"],
        "metadata": {"a": "1"},
        "rate_limit_per_s": 0.5,
    }
    given_back = ("--timeout", "--schedule", "--max-age", "--concurrency")
    words = [word for option in given_back for word in (option, "default")]
    after = answer(
        run("update", fields["id"], "--json", *words, "--rate-limit", "none", "--payload-filter", "none")
    )
    names = ("timeout_s", "schedule_s", "max_age_s", "concurrency", "rate_limit_per_s", "payload_filter")
    assert [after[name] for name in names] == [None] * 6


def test_an_update_that_changes_nothing_says_so(run: Any) -> None:
    """And one that changes something doesn't."""
    endpoint_id = answer(run("add", URL, "--events", "*", "--json"))["id"]
    for arguments in ((), ("--url", URL)):
        assert "Nothing was changed" in run("update", endpoint_id, *arguments).stderr
    assert run("update", endpoint_id, "--disable").stderr == ""


def test_people_can_copy_an_id_and_read_whether_it_is_enabled(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An id is never broken, whatever else has no room; `list` and `show` say yes or no alike."""
    added = answer(run("add", f"{URL}/{'x' * 99}", "--events", "*", "--description", "y " * 60, "--json"))
    for width in ("40", "80"):
        monkeypatch.setenv("COLUMNS", width)
        assert added["id"] in run("list").stdout
    monkeypatch.setenv("COLUMNS", "200")
    assert "yes" in run("list").stdout
    assert "enabled       yes\n" in run("show", added["id"]).stdout


def test_a_removed_endpoint_is_gone(run: Any) -> None:
    """And a second removal says so."""
    endpoint_id = answer(run("add", URL, "--events", "*", "--json"))["id"]
    assert run("remove", endpoint_id).stdout == f"removed {endpoint_id}\n"
    assert answer(run("list", "--json")) == []
    again = run("remove", endpoint_id)
    assert (again.exit_code, again.stdout) == (1, "")
    assert again.stderr == (
        f"outbox: There is no endpoint '{endpoint_id}'. `outbox endpoints list` shows those there are.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (("add", URL, "--events", "order.*.x"), 1, "'order.*.x' is no event filter"),
        (("add", "ftp://example.com", "--events", "*"), 1, "outbox: a webhook URL starts with https://"),
        (("add", URL, "--events", "*", "--secret", "hunter2"), 1, "starts with whsec_"),
        (("add", URL), 2, "--events"),
        (("show", "ep_none"), 1, "There is no endpoint 'ep_none'"),
        (("add", URL, "--events", "*", "--concurrency", "0"), 1, "concurrency: Input should be greater"),
        (("add", URL, "--events", "*", "--concurrency", "x"), 2, "--concurrency"),
        (("add", URL, "--events", "*", "--rate-limit", "1/d"), 2, "--rate-limit"),
        (("add", URL, "--events", "*", "--rate-limit", "99999"), 1, "rate_limit_per_s: Input should be less"),
        (("add", URL, "--events", "*", "--payload-filter", '{"hunter2'), 2, "this is not JSON"),
        (
            ("add", URL, "--events", "*", "--payload-filter", '{"a": [{"b": "hunter2"}]}'),
            1,
            "payload_filter/a/0: an object",
        ),
        (
            ("add", URL, "--events", "*", "--timeout", "1h"),
            1,
            "timeout_s: this is longer than OUTBOX_ENDPOINT_TIMEOUT_S",
        ),
        (("add", URL, "--events", "*", "--timeout", "1.5s"), 2, "--timeout"),
        (("add", URL, "--events", "*", "--schedule", "5s,default"), 2, "default stands alone"),
        (
            ("add", URL, "--events", "*", "--header", "host:hunter2"),
            1,
            "headers/host: the header host is reserved",
        ),
        (("update", "ep_none", "--secret", SECRET, "--new-secret"), 2, "--new-secret"),
    ],
)
def test_what_is_wrong_is_said_in_one_text(
    run: Any, outbox_database_url: str, arguments: tuple[str, ...], exit_code: int, message: str
) -> None:
    """No traceback, no secret; nothing on stdout, nothing stored."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert message in " ".join(result.stderr.replace("│", "").split())
    assert "hunter2" not in result.stderr
    assert stored(outbox_database_url) == ()


def test_how_an_endpoint_fares_is_shown(run: Any, outbox_database_url: str) -> None:
    """In the list a word, and why it was disabled; of one, since when it fails, and what came of the last attempt."""
    endpoint_id = answer(run("add", URL, "--events", "*", "--json"))["id"]
    at = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
    turn = EndpointTurn(endpoint_id, at, str(uuid4()), "answered 503 Service Unavailable", 503, gone=False)
    with connect(outbox_database_url) as connection:
        keep_health(connection, [turn])
    shown = run("show", endpoint_id).stdout
    ends = at + timedelta(hours=120)
    assert f"failing since {at:%Y-%m-%d %H:%M}Z: answered 503 Service Unavailable" in shown
    assert f"; disabled from {ends:%Y-%m-%d %H:%M}Z on" in shown
    assert answer(run("show", endpoint_id, "--json"))["health"]["state"] == "failing"
    with connect(outbox_database_url) as connection:
        EndpointHealthTable(connection).note_disabled(endpoint_id, reason="gone", at=at)
    run("update", endpoint_id, "--disable")
    assert "no (gone)" in run("list").stdout
    assert answer(run("list", "--json"))[0]["disabled_reason"] == "gone"
    assert answer(run("update", endpoint_id, "--enable", "--json"))["disabled_reason"] is None
