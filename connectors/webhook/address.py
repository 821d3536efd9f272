"""Which addresses may be dialled: public ones, and those in networks that the operator allows.

Place in the data's way: asked by `dial` with the very address, after the name was resolved, before every
connect. An endpoint's URL is entered by a customer; without this, it could reach the cloud's metadata
service or a neighbour (CASES 20).

`ipaddress.is_global` alone is not enough: it knows nothing of an IPv4 address inside an IPv6 one, nor of
public addresses that are a cloud's own services. Here IPv6 is refused outside of 2000::/3, forms that embed
an IPv4 address are judged by it or refused, and the special ranges are listed with where they come from.
Pure.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

from connectors.webhook.dial import AddressJudge, Dialled
from connectors.webhook.names import IPAddress

__all__ = ["address_judge", "why_not_public"]

Network = IPv4Network | IPv6Network

#: The IANA special-purpose registries (RFC 6890 and its updates), and what clouds keep for themselves.
_SPECIAL_V4: Final = tuple(
    (IPv4Network(network), what)
    for network, what in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT, and Alibaba's metadata service"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "Azure's platform service"),
        ("169.254.0.0/16", "link-local, and the metadata service of most clouds"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "protocol assignments, and Oracle's metadata service"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved, and broadcast"),
    )
)
_UNICAST_V6: Final = IPv6Network("2000::/3")
_SPECIAL_V6: Final = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("2001::/23", "protocol assignments, Teredo among them"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("3fff::/20", "documentation"),
    )
)
#: An IPv4 address is in the last 32 bits of these: judged by it.
_EMBEDDING_V6: Final = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
#: The interface identifier of ISATAP, whatever the prefix: an IPv4 address follows.
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})
_WEB_PORTS: Final = frozenset({80, 443})
_FIRST_FREE_PORT: Final = 1024
_LAST_32_BITS: Final = 0xFFFFFFFF


def address_judge(allowed: Iterable[Network] = (), *, plain_http: bool = False) -> AddressJudge:
    """A judge that lets public addresses pass, by TLS and on the web's ports, and anything in `allowed`.

    An IPv4 address that is embedded in an IPv6 one is allowed by the IPv4 network that holds it. `plain_http`: public
    addresses needn't be reached by TLS.
    """
    allowed = tuple(allowed)

    def judge(dialled: Dialled) -> str | None:
        address = _plain(dialled.address)
        if any(address.version == network.version and address in network for network in allowed):
            return None
        why = why_not_public(address)
        if why is not None:
            return f"is not a public address ({why})"
        if dialled.origin.scheme == "http" and not plain_http:
            return "would be reached without TLS. Give the endpoint an https URL"
        return _port_problem(dialled.origin.port)

    return judge


def _port_problem(port: int) -> str | None:
    """A sender that anybody can point at mail servers and shells is a weapon; webhooks have no business there."""
    if port in _WEB_PORTS or port >= _FIRST_FREE_PORT:
        return None
    return f"port {port} is another service's: 80, 443, and those from {_FIRST_FREE_PORT} on are a webhook's"


def why_not_public(address: IPAddress) -> str | None:
    """What an address is if it is not a public one; None if it is.

    >>> why_not_public(IPv6Address("::ffff:169.254.169.254"))
    'link-local, and the metadata service of most clouds'
    >>> why_not_public(IPv4Address("93.184.215.14")) is None
    True
    """
    address = _plain(address)
    if isinstance(address, IPv4Address):
        return next((what for network, what in _SPECIAL_V4 if address in network), None)
    if address not in _UNICAST_V6:
        return "not global unicast"
    if (int(address) >> 32) & _LAST_32_BITS in _ISATAP:
        return "ISATAP"
    return next((what for network, what in _SPECIAL_V6 if address in network), None)


def _plain(address: IPAddress) -> IPAddress:
    """The address without a zone; the IPv4 address itself where IPv6 only carries it."""
    if isinstance(address, IPv4Address):
        return address
    address = IPv6Address(int(address))
    if any(address in network for network in _EMBEDDING_V6):
        return IPv4Address(int(address) & _LAST_32_BITS)
    return address
