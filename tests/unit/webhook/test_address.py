"""Which addresses a webhook may be sent to (CASES 20): judged in every form, after DNS, on every dial."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.address import address_judge, why_not_public
from connectors.webhook.dial import Dialled
from connectors.webhook.url import WebhookUrl


def _dialled(address: str, url: str = "https://receiver.example/in") -> Dialled:
    return Dialled(origin=WebhookUrl.parse(url).origin, address=ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.9.10",
        "0.0.0.0",
        "10.0.0.5",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:a9fe:a9fe",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2a00:1450:4001:0:0:5efe:a9fe:a9fe",
        "2a00:1450:4001:0:200:5efe:a9fe:a9fe",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "3fff::1",
        "100::1",
    ],
)
def test_what_is_not_public_is_refused(address: str) -> None:
    """Metadata services, private, loopback, link-local, carrier-grade, multicast, reserved: in every embedding form."""
    why = address_judge()(_dialled(address))
    assert why is not None
    assert why.startswith("is not a public address")


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "172.32.0.1", "2a00:1450:4001:82a::200e", "::ffff:93.184.215.14"]
)
def test_public_addresses_pass(address: str) -> None:
    """Ordinary receivers are reached, in either family."""
    assert address_judge()(_dialled(address)) is None


def test_an_allowed_network_passes_and_no_more() -> None:
    """Who delivers inside names the networks; an embedded form is allowed by the IPv4 network that holds it."""
    judge = address_judge([IPv4Network("10.1.0.0/16"), IPv6Network("fd00:1::/32")])
    assert judge(_dialled("10.1.2.3")) is None
    assert judge(_dialled("::ffff:10.1.2.3")) is None
    assert judge(_dialled("fd00:1::5")) is None
    assert judge(_dialled("10.2.0.1")) is not None
    assert judge(_dialled("fd00:2::5")) is not None


@given(st.integers(0, 2**32 - 1), st.sampled_from(["::ffff:0:0", "64:ff9b::"]))
def test_an_embedded_address_is_judged_like_the_plain_one(number: int, prefix: str) -> None:
    """For any IPv4 address, wrapping it in IPv6 changes nothing."""
    wrapped = IPv6Address(int(IPv6Address(prefix)) | number)
    assert why_not_public(wrapped) == why_not_public(IPv4Address(number))


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_nothing_passes_that_python_calls_private(address: IPv4Address | IPv6Address) -> None:
    """Whatever the standard library knows to be not global is refused here too."""
    plain = address.ipv4_mapped if isinstance(address, IPv6Address) and address.ipv4_mapped else address
    if not plain.is_global or plain.is_multicast:
        nat64 = isinstance(plain, IPv6Address) and plain in IPv6Network("64:ff9b::/96")
        assert why_not_public(address) is not None or nat64


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("https://r.example/", None),
        ("https://r.example:8443/", None),
        ("https://r.example:25/", "port 25"),
        ("https://r.example:1023/", "port 1023"),
        ("http://r.example/", "without TLS"),
        ("http://r.example:8080/", "without TLS"),
    ],
)
def test_a_public_address_is_reached_by_tls_on_a_port_of_the_web(url: str, refused: str | None) -> None:
    """Plain http only where it was allowed; the ports of other services never; inside, whatever the operator has."""
    said = address_judge()(_dialled("93.184.215.14", url))
    assert said is None if refused is None else refused in str(said)
    assert address_judge([IPv4Network("93.184.0.0/16")])(_dialled("93.184.215.14", url)) is None


def test_plain_http_may_be_allowed() -> None:
    """And nothing else is by that: not a private address, and not another service's port."""
    judge = address_judge(plain_http=True)
    assert judge(_dialled("93.184.215.14", "http://r.example/")) is None
    assert judge(_dialled("93.184.215.14", "http://r.example:25/")) is not None
    assert judge(_dialled("10.0.0.1", "http://r.example/")) is not None
