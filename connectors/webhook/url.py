"""The URL of a webhook endpoint, taken apart and made safe to write into a request.

Place in the data's way: parsed once, when an `endpoint.Endpoint` is made; the sender uses the parts.
Invariant: every part is ASCII without control characters or spaces, so that no URL can end a header line or
add one; and the URL names its host plainly (no user info, no number tricks such as `0x7f.1`). It must not
resolve names or judge addresses: what a name points to is known only when it is dialled (`dial`).
"""

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Self, cast
from urllib.parse import SplitResult, urlsplit

import idna

from connectors.webhook.errors import UrlInvalidError

__all__ = ["MAX_URL_CHARS", "Origin", "WebhookUrl"]

MAX_URL_CHARS: Final = 2_048

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MAX_PORT: Final = 65_535
_MAX_HOST_CHARS: Final = 253
# Underscores are not allowed in host names but are in use, in names of containers above all.
_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER_LABEL: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
#: A host in brackets, and a port. `urlsplit` drops without a word what stands before or after the brackets.
_BRACKETED: Final = re.compile(r"\[[^\[\]]*\](?::[^\[\]]*)?")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\\]")
# RFC 3986: unreserved, sub-delims, ":", "@", "/" and "?" stand as they are, and so does an escape that is
# one.
_UNSAFE_IN_TARGET: Final = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]")


class Origin(NamedTuple):
    """Where connections go: they are shared by all endpoints with the same scheme, host and port."""

    scheme: Literal["http", "https"]
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """The value of the Host header: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookUrl:
    """A URL that a webhook can be sent to. `target` is the request target: path and query, percent-encoded.

    It shows itself as its origin only, since path and query are where receivers put tokens.

    >>> url = WebhookUrl.parse("https://Bücher.example/höok?a=1 2")
    >>> url.origin.host, url.origin.port, url.target
    ('xn--bcher-kva.example', 443, '/h%C3%B6ok?a=1%202')
    >>> print(url)
    https://xn--bcher-kva.example
    """

    origin: Origin
    target: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take a URL apart.

        Raises:
            UrlInvalidError: says which part is wrong, without showing path, query or user info.
        """
        parts = _split(text)
        scheme = cast("Literal['http', 'https']", parts.scheme)
        origin = Origin(scheme=scheme, host=_host(parts), port=_port(parts, scheme))
        return cls(origin=origin, target=_target(parts))

    def __str__(self) -> str:
        return str(self.origin)


def _split(text: str) -> SplitResult:
    if len(text) > MAX_URL_CHARS:
        raise UrlInvalidError(f"a webhook URL may have {MAX_URL_CHARS} characters, this one has {len(text)}")
    # Before `urlsplit`, which silently drops tabs and line ends.
    if _UNPRINTABLE.search(text) or text != text.strip():
        raise UrlInvalidError(
            "a webhook URL may not hold control characters, backslashes, or white space around it"
        )
    try:
        text.encode("utf-8")
        parts = urlsplit(text)
    except ValueError:
        raise UrlInvalidError("this is not a URL: its host is malformed, or it is not Unicode text") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise UrlInvalidError("a webhook URL starts with https:// or http://")
    if "@" in parts.netloc:
        raise UrlInvalidError(
            "a webhook URL may not hold a user name or password; verify the signature instead"
        )
    if "#" in text:
        raise UrlInvalidError("a webhook URL may not hold a fragment (#…): it would never be sent")
    return parts


def _port(parts: SplitResult, scheme: str) -> int:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if parts.netloc.endswith(":"):
        port = 0
    if port is None:
        return _DEFAULT_PORTS[scheme]
    if not 1 <= port <= _MAX_PORT:
        raise UrlInvalidError(f"the port of a webhook URL is a number from 1 to {_MAX_PORT}")
    return port


def _host(parts: SplitResult) -> str:
    host = parts.hostname
    if not host:
        raise UrlInvalidError("a webhook URL needs a host")
    if "[" in parts.netloc or "]" in parts.netloc:
        if not _BRACKETED.fullmatch(parts.netloc):
            raise UrlInvalidError("a host in brackets has nothing beside it but a port")
        return _ipv6(host)
    host = _ascii(host)
    labels = host.split(".")
    if len(host) > _MAX_HOST_CHARS or not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlInvalidError(
            "the host of a webhook URL is dot-separated labels of 1 to 63 letters, digits, - and _, "
            f"{_MAX_HOST_CHARS} characters in all, without a dot at the end"
        )
    # A host that ends in a number is an IPv4 address or nothing (WHATWG URL, "ends in a number"): resolvers
    # read `0x7f.1` and `2130706433` as 127.0.0.1.
    return _ipv4(host) if _NUMBER_LABEL.fullmatch(labels[-1]) else host


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise UrlInvalidError(
            "the host of a webhook URL is not a valid internationalised name (IDNA 2008)"
        ) from None


def _ipv4(host: str) -> str:
    try:
        return str(ipaddress.IPv4Address(host))
    except ValueError:
        raise UrlInvalidError(
            "a host that ends in a number must be an IPv4 address such as 192.0.2.1"
        ) from None


def _ipv6(host: str) -> str:
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        raise UrlInvalidError("the host in brackets is not an IPv6 address") from None
    if address.scope_id is not None:
        raise UrlInvalidError("an IPv6 host may not name a network interface (%…)")
    return str(address)


def _target(parts: SplitResult) -> str:
    path = parts.path or "/"
    return _encoded(f"{path}?{parts.query}" if parts.query else path)


def _encoded(target: str) -> str:
    """Percent-encode what may not stand in a request target, and leave the rest as it was given."""
    return _UNSAFE_IN_TARGET.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), target)
