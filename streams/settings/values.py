"""How the text of a setting becomes a value: pure functions that raise ValueError with what they accept.

Place in the data's way: between the environment (or the TOML file, which may hold real lists) and `Fields`.
Must not: put the text itself into an error. It may hold a password; the loader decides what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from itertools import zip_longest
from typing import Any
from urllib.parse import urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from connectors.webhook.key_ring import KeyRing
from streams.duration import parse_duration

__all__ = [
    "api_tokens",
    "bootstrap_servers",
    "database_url",
    "durations",
    "encryption_keys",
    "http_url",
    "is_local_database",
    "is_loopback",
    "listen",
    "listen_or_nowhere",
    "module_path",
    "networks",
]

_SERVER = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_TOKEN = re.compile(r"[A-Za-z0-9._-]{1,64}:(read|write):[0-9a-f]{64}")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def durations(value: Any) -> tuple[timedelta, ...]:
    """Read "1s,2s,4s" or a list of such texts.

    >>> durations("5s, 5m")
    (datetime.timedelta(seconds=5), datetime.timedelta(seconds=300))
    """
    return tuple(
        item if isinstance(item, timedelta) else parse_duration(_text(item)) for item in _items(value)
    )


def networks(value: Any) -> tuple[IPv4Network | IPv6Network, ...]:
    """Read "127.0.0.0/8,::1/128" or a list of such texts."""
    known = (IPv4Network, IPv6Network)
    return tuple(item if isinstance(item, known) else ip_network(_text(item)) for item in _items(value))


def bootstrap_servers(value: str) -> str:
    """Check "host:port,host:port" and write it without blanks; an empty text means unset."""
    servers = [server.strip() for server in value.split(",")] if value else []
    for server in servers:
        match = _SERVER.fullmatch(server)
        if match is None or not 0 < int(match[2]) < 65_536:  # noqa: PLR2004 - the ports that exist
            raise ValueError("one server is not host:port")
    return ",".join(servers)


def http_url(value: str) -> str:
    """Check an http or https address and drop the slash at its end; an empty text means unset."""
    if not value:
        return value
    # A line end from a file, say: `urlsplit` drops it without a word, and the request would fail on it later.
    if not value.isprintable() or " " in value:
        raise ValueError("white space, or a character that can't be printed")
    parts = urlsplit(value)
    # Reading the port is what checks it.
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
        raise ValueError("not an http address")
    return value.rstrip("/")


def database_url(value: str) -> str:
    """Check that libpq can read the address; an empty text means unset.

    libpq's own message quotes the text, which holds the password: it is not passed on.
    """
    if not value:
        return value
    try:
        parts = conninfo_to_dict(value)
    except ProgrammingError:
        parts = {}
    if not parts.get("host") or not parts.get("dbname"):
        raise ValueError("not a database address")
    return value


def encryption_keys(value: str) -> str:
    """Check a key ring, `plain` for none at all; an empty text means unset."""
    KeyRing.parse(value)
    return value


def api_tokens(value: str) -> str:
    """Check "name:scope:hash,name:scope:hash"; an empty text means unset."""
    tokens = [token.strip() for token in value.split(",")] if value else []
    if not all(map(_TOKEN.fullmatch, tokens)):
        raise ValueError("one token is not name:scope:hash")
    if len({token.partition(":")[0] for token in tokens}) < len(tokens):
        raise ValueError("two tokens have one name")
    return ",".join(tokens)


def listen(value: str) -> str:
    """Check "host:port"; port 0 is a free one."""
    match = _SERVER.fullmatch(value)
    if match is None or int(match[2]) > 65_535:  # noqa: PLR2004 - the ports that exist
        raise ValueError("not host:port")
    return value


def listen_or_nowhere(value: str) -> str:
    """Check "host:port", or nothing at all."""
    return listen(value) if value else value


def is_loopback(host: str) -> bool:
    """Whether a host name or address can mean this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("[::1]"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_local_database(url: str) -> bool:
    """Whether every host of a valid database address is this machine: loopback, or a socket in a folder.

    Where there is a hostaddr, that is where libpq connects to; the host is only a name then.
    """
    parts = conninfo_to_dict(url)
    lists = (str(parts.get(name) or "").split(",") for name in ("hostaddr", "host"))
    hosts = (address or host for address, host in zip_longest(*lists, fillvalue=""))
    return all(not host or host.startswith(("/", "@")) or is_loopback(host) for host in hosts)


def module_path(value: str) -> str:
    """Check a dotted module path; an empty text means unset."""
    if value and _MODULE.fullmatch(value) is None:
        raise ValueError("not a module path")
    return value


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    if isinstance(value, list | tuple):
        return value
    raise ValueError("neither a text nor a list")


def _text(item: Any) -> str:
    """Refuse what a TOML file may hold instead: pydantic takes a ValueError for an answer, and no other error."""
    if isinstance(item, str):
        return item
    raise ValueError("not a text")
