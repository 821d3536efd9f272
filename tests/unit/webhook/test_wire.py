"""The request's bytes: signed as sent, and nothing gets in that wasn't meant to."""

from datetime import UTC, datetime

import httptools
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.webhook.errors import RequestInvalidError
from connectors.webhook.signature import sign
from connectors.webhook.wire import encode_request
from tests.unit.webhook.records import NOW, SECRET, endpoint, request


class Parsed:
    """What llhttp reads in a request."""

    def __init__(self, message: bytes) -> None:
        self.headers: list[tuple[str, str]] = []
        self.body = b""
        self.target = b""
        self.complete = 0
        httptools.HttpRequestParser(self).feed_data(message)

    def on_url(self, target: bytes) -> None:
        self.target += target

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.decode(), value.decode()))

    def on_body(self, piece: bytes) -> None:
        self.body += piece

    def on_message_complete(self) -> None:
        self.complete += 1


@given(st.binary(max_size=2_000))
@example(b'{"b" : 1.0, "a":\t"\\u00fc\xc3\xbc", "a": 12345678901234567890}\r\n')
def test_inv_5_the_bytes_signed_are_the_bytes_sent(body: bytes) -> None:
    """Any body, text or not, arrives as it is, and its signature is over exactly that (CASES 10, 11)."""
    parsed = Parsed(encode_request(request(body=body), user_agent="test/1"))

    headers = dict(parsed.headers)
    assert parsed.complete == 1
    assert parsed.body == body
    assert headers["webhook-signature"] == sign(
        message_id=headers["webhook-id"],
        timestamp_s=int(headers["webhook-timestamp"]),
        body=parsed.body,
        secrets=[SECRET],
    )


def test_the_request_as_a_receiver_sees_it() -> None:
    """The whole head, field by field, as `docs/reference/webhook-request.md` describes it."""
    to = endpoint("https://receiver.example:8443/in?a=1")
    one = request(to, body=b"{}", content_type="application/vnd.order+json", headers={"Traceparent": "00-1"})

    head, body = encode_request(one, user_agent="outbox-streams/1.0").split(b"\r\n\r\n")

    signature = sign(
        message_id=one.message_id, timestamp_s=int(NOW.timestamp()), body=b"{}", secrets=[SECRET]
    )
    assert body == b"{}"
    assert head.decode().split("\r\n") == [
        "POST /in?a=1 HTTP/1.1",
        "host: receiver.example:8443",
        "user-agent: outbox-streams/1.0",
        "accept: */*",
        "accept-encoding: identity",
        "content-type: application/vnd.order+json",
        "content-length: 2",
        f"webhook-id: {one.message_id}",
        "webhook-timestamp: 1772366400",
        f"webhook-signature: {signature}",
        f"idempotency-key: {one.message_id}",
        "Traceparent: 00-1",
    ]


def test_the_timestamp_is_in_whole_seconds() -> None:
    """Fractions are dropped, as the specification's integer seconds ask."""
    at = datetime(2026, 3, 1, 12, 0, 0, 999_999, tzinfo=UTC)

    assert b"webhook-timestamp: 1772366400\r\n" in encode_request(request(timestamp=at), user_agent="test/1")


@given(
    st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=3),
    st.text(max_size=20),
    st.text(max_size=20),
)
def test_nothing_of_an_event_can_add_a_header(
    headers: dict[str, str], content_type: str, message_id: str
) -> None:
    """Whatever an event holds, the request has exactly its own fields and the event's, or is refused."""
    one = request(headers=headers, content_type=content_type, message_id=message_id)
    try:
        message = encode_request(one, user_agent="test/1")
    except RequestInvalidError:
        return
    parsed = Parsed(message)
    assert parsed.complete == 1
    assert len(parsed.headers) == 10 + len(headers)
    assert dict(parsed.headers)["webhook-id"] == message_id
    for name, value in headers.items():
        assert (name, value.strip(" \t")) in parsed.headers


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"message_id": "msg.1"}, "webhook id"),
        ({"message_id": ""}, "webhook id"),
        ({"message_id": "a\r\nb"}, "webhook id"),
        ({"content_type": "text/plain\r\nhost: hunter2"}, "content type"),
        ({"content_type": ""}, "content type"),
        ({"content_type": " text/plain"}, "content type"),
        ({"headers": {"x": "hunter2\r\nhost: evil"}}, "header x holds control"),
        ({"headers": {"x": "hunter2\x00"}}, "header x holds control"),
        ({"headers": {"x": "hunter2\ud800"}}, "header x holds control"),
        ({"headers": {"x": "h" * 5_000}}, "header x holds control characters or is too long"),
        ({"headers": {"x\r\ny": "hunter2"}}, "not an HTTP field name"),
        ({"headers": {"x y": "hunter2"}}, "not an HTTP field name"),
        ({"headers": {"": "hunter2"}}, "not an HTTP field name"),
        ({"headers": {"Host": "hunter2"}}, "header host, which the sender writes"),
        ({"headers": {"Webhook-Signature": "hunter2"}}, "header webhook-signature, which"),
        ({"headers": {"Transfer-Encoding": "hunter2"}}, "header transfer-encoding, which"),
        ({"headers": {f"x-{n}": "1" for n in range(83)}}, "83 headers"),
        ({"timestamp": NOW.replace(tzinfo=None)}, "no time zone"),
    ],
)
def test_an_event_that_http_cannot_carry_is_refused_by_name(change: dict[str, object], said: str) -> None:
    """The error names the part and shows no value (INV-9)."""
    with pytest.raises(RequestInvalidError, match=said) as raised:
        encode_request(request(**change), user_agent="test/1")  # type: ignore[arg-type]

    assert "hunter2" not in str(raised.value)


def test_text_in_a_header_goes_out_as_utf_8() -> None:
    """Names of people are not ASCII; HTTP carries the bytes."""
    message = encode_request(request(headers={"x-customer": "Jürgen"}), user_agent="test/1")

    assert "x-customer: Jürgen\r\n".encode() in message
