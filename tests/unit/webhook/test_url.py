"""The URL of an endpoint: what is one, and how it goes into a request."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.errors import UrlInvalidError
from connectors.webhook.url import MAX_URL_CHARS, WebhookUrl


@pytest.mark.parametrize(
    ("text", "origin", "target"),
    [
        ("https://receiver.example", "https://receiver.example", "/"),
        ("HTTPS://Receiver.Example:443/In", "https://receiver.example", "/In"),
        ("http://receiver.example:80?a=b", "http://receiver.example", "/?a=b"),
        (
            "http://receiver.example:8080/a/../b//c;d?x=%2F&y=1+2",
            "http://receiver.example:8080",
            "/a/../b//c;d?x=%2F&y=1+2",
        ),
        ("https://receiver.example/a b/ü?q=\"<>'", "https://receiver.example", "/a%20b/%C3%BC?q=%22%3C%3E'"),
        ("https://receiver.example/100%/%zz/%41", "https://receiver.example", "/100%25/%25zz/%41"),
        ("https://bücher.example/", "https://xn--bcher-kva.example", "/"),
        ("https://BÜCHER.example/", "https://xn--bcher-kva.example", "/"),
        ("http://my_service:9000/", "http://my_service:9000", "/"),
        ("http://192.0.2.1:65535/", "http://192.0.2.1:65535", "/"),
        ("https://[2001:DB8::0:1]:8443/x", "https://[2001:db8::1]:8443", "/x"),
    ],
)
def test_a_url_is_taken_apart_and_its_target_kept_as_given(text: str, origin: str, target: str) -> None:
    """Host names become lower-case ASCII, default ports go, and path and query stay but for what HTTP can't carry."""
    url = WebhookUrl.parse(text)

    assert str(url.origin) == origin
    assert url.target == target


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "https:// or http://"),
        ("receiver.example/in", "https:// or http://"),
        ("ftp://receiver.example/", "https:// or http://"),
        ("file:///etc/passwd", "https:// or http://"),
        ("javascript:alert(1)", "https:// or http://"),
        ("https:///in", "needs a host"),
        ("https://:443/in", "needs a host"),
        ("https://user:hunter2@receiver.example/", "user name or password"),
        ("https://hunter2@receiver.example/", "user name or password"),
        ("https://receiver.example/#hunter2", "fragment"),
        ("https://receiver.example/#", "fragment"),
        ("https://receiver.example:0/", "1 to 65535"),
        ("https://receiver.example:65536/", "1 to 65535"),
        ("https://receiver.example:/", "1 to 65535"),
        ("https://receiver.example:http/", "1 to 65535"),
        ("https://receiver.example:-1/", "1 to 65535"),
        ("https://receiver.example/\r\nhost: hunter2", "control characters"),
        ("https://receiver.example/\thunter2", "control characters"),
        ("https://receiver.example\\@hunter2/", "backslashes"),
        ("https://receiver.example/\x00", "control characters"),
        (" https://receiver.example/", "white space"),
        ("https://receiver.example/ ", "white space"),
        ("https://receiver example/", "labels"),
        ("https://-receiver.example/", "labels"),
        ("https://receiver-.example/", "labels"),
        ("https://receiver..example/", "labels"),
        ("https://receiver.example./", "dot at the end"),
        ("https://" + "a" * 64 + ".example/", "labels"),
        ("https://" + "a." * 127 + "example/", "253 characters"),
        ("https://receiver%2eexample/", "labels"),
        ("https://\u2603\ufe0f\u200d.example/", "internationalised"),
        ("https://127.1/", "IPv4"),
        ("https://0x7f.1/", "IPv4"),
        ("https://0x7f000001/", "IPv4"),
        ("https://2130706433/", "IPv4"),
        ("https://0177.0.0.1/", "IPv4"),
        ("https://127.0.0.1.1/", "IPv4"),
        ("https://[::1/", "malformed"),
        ("https://inside.example[::1]/", "nothing beside it"),
        ("https://[::1].inside.example/", "nothing beside it"),
        ("https://[::1]hunter2:443/", "nothing beside it"),
        ("https://[fe80::1%25eth0]/", "malformed|interface|IPv6"),
        ("https://receiver.example/\ud800", "Unicode"),
        ("https://receiver.example/" + "a" * MAX_URL_CHARS, "2048 characters"),
    ],
)
def test_what_is_no_url_is_refused_with_the_reason_and_without_its_text(text: str, said: str) -> None:
    """The error names the part and shows nothing of path, query or user info (INV-9)."""
    with pytest.raises(UrlInvalidError, match=said) as raised:
        WebhookUrl.parse(text)

    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("text", ["https://\u24d4xample.com/", "http://\uff11\uff12\uff17.0.0.1/"])
def test_a_host_in_disguise_is_what_it_stands_for(text: str) -> None:
    """Full-width and circled letters are mapped before the host is looked at, so a number in disguise is a number."""
    assert WebhookUrl.parse(text).origin.host in {"example.com", "127.0.0.1"}


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_url_can_break_out_of_the_request_line(path: str, query: str) -> None:
    """Whatever path and query hold, the target is visible ASCII without a space, or the URL is refused."""
    try:
        url = WebhookUrl.parse(f"https://receiver.example/{path}?{query}")
    except UrlInvalidError:
        return
    assert re.fullmatch(r"/[\x21-\x7e]*", url.target)
    assert "#" not in url.target


@given(st.text(max_size=60))
def test_no_host_can_break_out_of_its_header(host: str) -> None:
    """Whatever the host holds, the authority is a plain name, address and port, or the URL is refused."""
    try:
        url = WebhookUrl.parse(f"https://{host}/")
    except UrlInvalidError:
        return
    assert re.fullmatch(r"[a-z0-9._-]+(:\d+)?|\[[0-9a-f:.]+\](:\d+)?", url.origin.authority)


def test_a_url_shows_its_origin_only() -> None:
    """Path and query are where receivers put tokens (INV-9)."""
    url = WebhookUrl.parse("https://receiver.example/services/hunter2?token=hunter2")

    assert str(url) == "https://receiver.example"
    assert "hunter2" not in repr(url)
