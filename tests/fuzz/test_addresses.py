"""Which addresses may be dialled, held against a second judgement that is made in another way (CASES 20)."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from hypothesis import example, given
from hypothesis import strategies as st

from connectors.webhook.address import address_judge, why_not_public
from connectors.webhook.dial import Dialled
from connectors.webhook.errors import UrlInvalidError
from connectors.webhook.url import Origin, WebhookUrl
from tests.fuzz.profile import FUZZ

Address = IPv4Address | IPv6Address
ORIGIN = Origin("https", "receiver.example", 443)

#: Networks and whether they may be reached; of those that hold an address the longest counts. IANA's registries of
#: special-purpose addresses; but what they call reachable inside of 192.0.0.0/24 and 2001::/23 is no receiver.
TABLE: dict[IPv4Network | IPv6Network, bool] = {
    ip_network(text): allowed
    for allowed, texts in {
        True: "0.0.0.0/0 2000::/3 192.31.196.0/24 192.52.193.0/24 192.175.48.0/24 2620:4f:8000::/48",
        False: (
            "0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 "
            "192.0.0.0/24 192.0.0.0/29 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/31 192.0.2.0/24 "
            "192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 "
            "255.255.255.255/32 "
            "::/0 ::/128 ::1/128 ::/96 ::ffff:0:0:0/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 "
            "2001:1::1/128 2001:1::2/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 "
            "2001:30::/28 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8"
        ),
    }.items()
    for text in texts.split()
}
#: Those that embed an IPv4 address to be judged by, whose edges are tried too.
EMBEDDING = (ip_network("::ffff:0:0/96"), ip_network("64:ff9b::/96"))
EDGES, EDGES_V6 = (
    sorted(
        {
            int(edge) + step
            for network in (*TABLE, *EMBEDDING)
            if network.version == version
            for edge in (network.network_address, network.broadcast_address)
            for step in (-1, 0, 1)
            if 0 <= int(edge) + step < 2**bits
        }
    )
    for version, bits in ((4, 32), (6, 128))
)
V4 = (st.sampled_from(EDGES) | st.integers(0, 2**32 - 1)).map(IPv4Address)
PREFIXES = st.sampled_from(
    [0x2A00_1450_4001, 0x2001_0DB8_0001, 0xFE80 << 32, 0, 0x0064_FF9B_0001]
) | st.integers(0, 2**48 - 1)


def may_be_reached(address: Address) -> bool:
    """The second judgement."""
    if isinstance(address, IPv6Address):
        address = IPv6Address(int(address))  # without a zone
        inner = address.ipv4_mapped
        if inner is None and int(address) >> 32 == 0x0064_FF9B << 64:
            inner = IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return may_be_reached(inner)
        # ISATAP, with the bit that says "unique" or without.
        if address.packed[8:12] in {b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe"}:
            return False
        if address.sixtofour is not None or address.teredo is not None:
            return False
    holding = [network for network in TABLE if network.version == address.version and address in network]
    return TABLE[max(holding, key=lambda network: network.prefixlen)]


def embedded(number: int, form: int, prefix: int) -> IPv6Address:
    """An IPv4 address inside of an IPv6 one, in one of the ways that were ever in use."""
    return IPv6Address(
        [
            number,  # IPv4-compatible
            0xFFFF << 32 | number,  # IPv4-mapped
            0xFFFF << 48 | number,  # IPv4-translated, RFC 2765
            0x0064_FF9B << 96 | number,  # NAT64, RFC 6052
            0x0064_FF9B_0001 << 80 | number,  # NAT64 of one's own, RFC 8215
            0x2002 << 112 | number << 80 | prefix,  # 6to4, RFC 3056
            0x2001_0000 << 96 | number << 64 | prefix,  # Teredo's server, RFC 4380
            0x2001_0000 << 96 | prefix << 32 | number ^ 0xFFFF_FFFF,  # Teredo's client
            prefix << 80 | 0x0000_5EFE << 32 | number,  # ISATAP, RFC 5214
            prefix << 80 | 0x0200_5EFE << 32 | number,  # ISATAP, unique
            0xFFFE << 32 | number,  # next to the mapped ones
            0x0064_FF9B << 96 | 1 << 32 | number,  # next to NAT64
        ][form]
    )


FORMS = 12
V6 = st.one_of(
    st.builds(embedded, V4.map(int), st.integers(0, FORMS - 1), PREFIXES),
    st.sampled_from(EDGES_V6).map(IPv6Address),
    st.integers(0, 2**125 - 1).map(lambda number: IPv6Address(1 << 125 | number)),
    st.integers(0, 2**128 - 1).map(IPv6Address),
    st.builds(
        lambda number, zone: IPv6Address(f"{IPv6Address(number)}%{zone}"),
        st.sampled_from(EDGES_V6),
        st.just("1"),
    ),
)


@FUZZ
@given(V4 | V6)
@example(IPv6Address("64:ff9b::a9fe:a9fe"))
@example(IPv6Address("2a00:1450:4001:0:0:5efe:a9fe:a9fe"))
def test_two_judgements_agree(address: Address) -> None:
    """Every form that holds an IPv4 address, every edge of every special range: both say the same."""
    why = why_not_public(address)
    assert (why is None) == may_be_reached(address)
    assert why is None or (why.isascii() and len(why) <= 80)


@FUZZ
@given(V4, st.integers(0, FORMS - 1), PREFIXES)
def test_no_form_reaches_what_the_plain_address_may_not(address: IPv4Address, form: int, prefix: int) -> None:
    """Wrapping an address never opens a door, whatever the wrapping."""
    if why_not_public(embedded(int(address), form, prefix)) is None:
        assert why_not_public(address) is None


@FUZZ
@given(
    address=V4 | V6,
    allowed=st.lists(
        st.builds(
            lambda base, bits: ip_network((base, bits), strict=False),
            V4 | V6.map(lambda a: IPv6Address(int(a))),
            st.integers(0, 32),
        ),
        max_size=3,
    ),
)
def test_what_is_allowed_passes_and_nothing_else_beside_the_public(
    address: Address, allowed: list[IPv4Network | IPv6Network]
) -> None:
    """An allowed network opens itself: an embedded IPv4 address where it is plain, and no other family's."""
    plain = address
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        nat64 = int(address) >> 32 == 0x0064_FF9B << 64
        plain = mapped or (IPv4Address(int(address) & 0xFFFF_FFFF) if nat64 else IPv6Address(int(address)))
    is_allowed = any(plain in network for network in allowed if network.version == plain.version)
    said = address_judge(allowed)(Dialled(origin=ORIGIN, address=address))
    assert (said is None) == (is_allowed or may_be_reached(address))


@FUZZ
@given(V4 | V6, st.booleans())
def test_an_address_in_a_url_is_judged_as_the_address_it_is(address: Address, in_dots: bool) -> None:  # noqa: FBT001 - drawn
    """From the text of the URL to the judgement: the same address, in either way of writing its last 32 bits."""
    text = str(address)
    if isinstance(address, IPv6Address):
        high, low = int(address) >> 32, IPv4Address(int(address) & 0xFFFF_FFFF)
        groups = ":".join(f"{high >> 16 * n & 0xFFFF:x}" for n in range(5, -1, -1))
        text = f"[{groups}:{low}]" if in_dots and address.scope_id is None else f"[{address}]"
    try:
        host = WebhookUrl.parse(f"https://{text}/").origin.host
    except UrlInvalidError:
        assert isinstance(address, IPv6Address)
        assert address.scope_id is not None
        return
    assert ip_address(host) == address
    judged = address_judge()(Dialled(origin=ORIGIN, address=ip_address(host)))
    assert (judged is None) == may_be_reached(address)
