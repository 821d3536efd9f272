"""Who may use the API."""

import pytest

from streams.api.access import NOBODY, Access, Scope, Token, new_token, require
from streams.api.problem import ProblemError
from streams.settings.values import api_tokens, is_local_database, is_loopback


def test_a_token_is_known_by_its_hash_alone() -> None:
    """The setting holds nothing that lets anybody in; two tokens are never the same."""
    text, entry = new_token("deploy", "write")
    other, _ = new_token("deploy", "write")
    assert text not in entry
    assert text != other
    assert api_tokens(entry) == entry
    access = Access.parse(entry)
    assert access.token(f"Bearer {text}") == Token("deploy", "write", bytes.fromhex(entry.rpartition(":")[2]))
    assert access.token(f"bearer  {text} ").name == "deploy"


@pytest.mark.parametrize(
    "sent", [None, "", "Bearer", "Bearer ", "Basic x", "Bearer x", "Bearer \udcff", "Bearer " + "x" * 9_999]
)
def test_any_other_is_refused(sent: str | None) -> None:
    """Whatever was sent, with the challenge that RFC 6750 wants, and without repeating it."""
    access = Access.parse(new_token("deploy", "write")[1])
    with pytest.raises(ProblemError) as raised:
        access.token(sent)
    problem = raised.value.problem
    assert (problem.kind, problem.status) == ("unauthenticated", 401)
    assert problem.headers["WWW-Authenticate"].startswith('Bearer realm="outbox"')


def test_the_hash_of_a_token_is_no_token() -> None:
    """Who reads the setting is not in."""
    _, entry = new_token("deploy", "write")
    with pytest.raises(ProblemError):
        Access.parse(entry).token(f"Bearer {entry.rpartition(':')[2]}")


@pytest.mark.parametrize(
    ("has", "needs", "is_enough"),
    [("read", "read", True), ("write", "read", True), ("write", "write", True), ("read", "write", False)],
)
def test_write_includes_read(has: Scope, needs: Scope, is_enough: bool) -> None:  # noqa: FBT001 - a parameter of the table
    """And read is never enough for a change."""
    token = Token("x", has, b"")
    if is_enough:
        require(token, needs)
        return
    with pytest.raises(ProblemError) as raised:
        require(token, needs)
    assert raised.value.problem.kind == "forbidden"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8090", "localhost:1", "[::1]:8090", "127.9.9.9"])
def test_without_tokens_this_machine_is_let_in(host: str) -> None:
    """With whatever it sends, and from pages of its own only."""
    access = Access.parse("")
    assert access.token(None) is access.token("Bearer x") is NOBODY
    access.check_origin(host=host, origin=None)
    access.check_origin(host=host, origin=f"http://{host}")
    with pytest.raises(ProblemError):
        access.check_origin(host=host, origin="http://evil.example")


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        ":",
        "[",
        "evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example/127.0.0.1",
        "0.0.0.0",
        "localhost.",
        "\u0661\u0662\u0667.0.0.1",
        "127.0.0.1\r\n",
    ],
)
def test_without_tokens_no_other_name_is_taken(host: str | None) -> None:
    """A name that somebody else bound to 127.0.0.1 is not this machine's."""
    with pytest.raises(ProblemError):
        Access.parse("").check_origin(host=host, origin=None)


def test_with_tokens_the_host_is_whatever_it_is() -> None:
    """The token is what counts."""
    Access.parse(new_token("x", "read")[1]).check_origin(host="api.example", origin="https://other.example")


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("postgresql://u:p@127.0.0.1:5432/shop", True),
        ("postgresql://u:p@localhost/shop", True),
        ("postgresql://u:p@[::1]/shop", True),
        ("host=/var/run/postgresql dbname=shop", True),
        ("postgresql://u:p@db.internal/shop", False),
        ("postgresql://u:p@127.0.0.1,db.internal/shop", False),
        ("postgresql://u:p@10.0.0.1/shop", False),
        ("postgresql://u:p@localhost/shop?hostaddr=10.0.0.1", False),
        ("postgresql://u:p@db.internal/shop?hostaddr=127.0.0.1", True),
        ("host=localhost,localhost hostaddr=127.0.0.1,10.0.0.1 dbname=shop", False),
        ("host=localhost,db.internal hostaddr=127.0.0.1, dbname=shop", False),
    ],
)
def test_what_is_on_this_machine(url: str, is_local: bool) -> None:  # noqa: FBT001 - a parameter of the table
    """A database with secrets in plain text may be; anywhere else somebody has to want it."""
    assert is_local_database(url) is is_local


def test_addresses_that_others_can_reach_are_not_loopback() -> None:
    """All interfaces are others', too."""
    assert not any(map(is_loopback, ("0.0.0.0", "[::]", "", "10.0.0.1", "example")))
