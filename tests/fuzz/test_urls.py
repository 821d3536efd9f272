"""Endpoint URLs from any text: refused without showing it, or taken apart so that nothing of it can mislead."""

import re
import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from hypothesis import example, given
from hypothesis import strategies as st

from connectors.webhook.errors import UrlInvalidError
from connectors.webhook.url import MAX_URL_CHARS, WebhookUrl
from tests.fuzz.mutation import TEXTS, any_text, mutated_text
from tests.fuzz.profile import FUZZ
from tests.fuzz.refusal import read_or_refused

URLS = [
    "https://receiver.example/in?token=hunter2",
    "http://user:hunter2@receiver.example:8080/a/../b;c?d=%2F#hunter2",
    "HTTPS://Bücher.Example:443/höok?a=1 2",
    "https://xn--bcher-kva.example",
    "https://192.0.2.1:65535/",
    "https://[2001:db8::1]:8443/x",
    "https://[::ffff:192.0.2.1]/",
    "http://0x7f.1/",
    "http://my_service:9000/%41%zz",
    "http://日本語。example／in",  # noqa: RUF001 - as somebody may paste it
    "https://ex\u00adample.example/",
]
TOKENS = (
    *TEXTS,
    "://",
    '"<>',
    "^`{|}",
    "[::1]",
    "[fe80::1%25eth0]",
    "127.0.0.1",
    "2130706433",
    "0177.0.0.1",
    ":0",
    ":65536",
    ":٤٤٣",
    ".example",
    "xn--",
    "xn--a",
    "xn--\u00df-",
    "ẞ",
    "℀",
    "\u0345",
    "\u0660.",
)
AUTHORITY = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?")


def parsed(text: str) -> WebhookUrl | None:
    """The URL; None where it is refused, briefly and without what may be secret in it."""
    found = read_or_refused(lambda: WebhookUrl.parse(text), UrlInvalidError)
    if isinstance(found, UrlInvalidError):
        assert "hunter2" not in str(found)
        assert len(str(found)) <= 200
        assert str(found).isprintable()
        assert found.__cause__ is None
        assert found.__suppress_context__ or found.__context__ is None
        return None
    return found


@FUZZ
@given(mutated_text(URLS, TOKENS) | any_text.map("https://".__add__))
@example('https://receiver.example/"<>^`{|}?"<>^`{|}')
@example("https://" + "a." * 1_000)
@example("https://" + "ß" * 2_000)
def test_any_text_is_refused_or_a_url_that_stays_what_it_is(text: str) -> None:
    """Only plain ASCII in every part, within bounds; written out and parsed again it is the same URL."""
    url = parsed(text)
    if url is None:
        return
    assert len(text) <= MAX_URL_CHARS
    assert AUTHORITY.fullmatch(url.origin.authority)
    assert re.fullmatch(r"/[\x21-\x7e]*", url.target)
    assert not set(url.target) & set('"<>\\^`{|}#')
    assert 1 <= url.origin.port <= 65_535
    assert "hunter2" not in str(url)
    assert "hunter2" not in repr(url)
    whole = f"{url.origin}{url.target}"
    assert len(whole) > MAX_URL_CHARS or parsed(whole) == url


@FUZZ
@given(mutated_text(URLS, TOKENS) | any_text.map("http://".__add__))
@example("https://inside.example[::1]/")
@example("https://[::1].inside.example/")
@example("https://[::1]inside.example:80/")
def test_every_character_of_the_host_counts(text: str) -> None:
    """What was entered names the host plainly: nothing was dropped that somebody reading the URL would see."""
    url = parsed(text)
    if url is None or not text.isascii():
        return
    authority = urlsplit(text).netloc.lower()
    host, colon, port = authority.rpartition(":")
    if colon and not host.count("[") > host.count("]"):
        assert int(port) == url.origin.port
        authority = host
    shown = authority.strip("[]") if authority.startswith("[") else authority
    assert shown == url.origin.host or ip_address(shown) == ip_address(url.origin.host)


NUMBERS = st.one_of(
    st.integers(0, 2**32 - 1),
    st.integers(0, 255),
    st.sampled_from([2130706433, 0xA9FEA9FE, 0x7F000001, 0o17700000001, 2**32, 2**32 - 1, 2**24 - 1]),
).flatmap(
    lambda number: st.sampled_from(
        [str(number), hex(number), f"0X{number:x}", f"0{number:o}", f"0{number}", f"{number:x}"]
    )
)
DIGITS = str.maketrans("0123456789.", "０１２３４５６７８９。")  # noqa: RUF001 - the disguise is the point


@FUZZ
@given(numbers=st.lists(NUMBERS, min_size=1, max_size=5), in_disguise=st.booleans())
def test_what_a_resolver_reads_as_an_address_is_one_or_refused(numbers: list[str], in_disguise: bool) -> None:  # noqa: FBT001 - drawn
    """CASES 20: no octal, hexadecimal, short or one-number form: what the system's own reader of addresses takes."""
    host = ".".join(numbers)
    url = parsed(f"https://{host.translate(DIGITS) if in_disguise else host}/")
    if url is None:
        return
    try:
        octets = socket.inet_aton(url.origin.host)
    except OSError:
        return
    assert url.origin.host == ".".join(str(octet) for octet in octets)
    assert ip_address(url.origin.host).packed == octets
