"""Secrets, signatures and requests: what others' code of the same specification says to them."""

import base64
import re
from datetime import UTC, datetime

import httptools
from hypothesis import example, given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from connectors.webhook.errors import RequestInvalidError, SecretInvalidError
from connectors.webhook.secret import MAX_KEY_BYTES, MIN_KEY_BYTES, Secret
from connectors.webhook.signature import sign
from connectors.webhook.wire import encode_request
from tests.fuzz.mutation import any_text, mutated, mutated_text
from tests.fuzz.profile import FUZZ
from tests.fuzz.refusal import read_or_refused
from tests.unit.webhook.records import NOW, endpoint, request
from tests.unit.webhook.test_wire import Parsed

KEYS = st.binary(min_size=MIN_KEY_BYTES, max_size=MAX_KEY_BYTES)
SECRETS = [
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "v1,whsec_" + base64.b64encode(bytes(range(64))).decode(),
    "whsec_" + base64.b64encode(b"k" * 25).decode(),
    "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
]
IDS = ["0197a5d2-6a4e-7cc1-9d3c-2b6a1f0e4d5c", "msg_p5jXN8AQM9LWM0D4loKWxJek"]
BODIES = [b'{"order": 42}', '{"name": "Jürgen"}'.encode(), b"plain text\r\n"]


@FUZZ
@given(mutated_text(SECRETS) | any_text.map("whsec_".__add__))
@example("whsec_" + "A" * 200_000)
@example("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa\ud800w")
@example("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx")
def test_any_text_is_a_secret_that_the_reference_library_reads_too_or_refused(text: str) -> None:
    """INV-9: no message shows a part of the text; what is a secret here signs alike in the reference library."""
    secret = read_or_refused(lambda: Secret.parse(text), SecretInvalidError)
    if isinstance(secret, SecretInvalidError):
        said = str(secret)
        assert len(said) <= 200
        assert not any(
            text[at : at + 8] in said for at in range(6, len(text) - 8) if "whsec_" not in text[at : at + 8]
        )
        assert secret.__cause__ is None
        return
    # The library passes over what is no base64; here that is a typing error, told when it is entered.
    assert re.fullmatch(r"(v1,)?whsec_[A-Za-z0-9+/]+={0,2}", text)
    assert MIN_KEY_BYTES <= len(secret.key) <= MAX_KEY_BYTES
    assert Secret.parse(secret.reveal()) == secret
    assert secret.reveal() not in repr(secret)
    library = Webhook(text.removeprefix("v1,"))
    theirs = library.sign("msg_1", NOW, "body")
    assert (
        sign(message_id="msg_1", timestamp_s=int(NOW.timestamp()), body=b"body", secrets=[secret]) == theirs
    )


@FUZZ
@given(
    message_id=mutated_text(IDS) | any_text,
    body=mutated(BODIES) | st.binary(max_size=40),
    key=KEYS,
    changed_body=mutated(BODIES),
    changed_id=mutated_text(IDS),
)
@example(message_id="a.1", body=b"", key=b"k" * 24, changed_body=b"", changed_id="a")
@example(message_id="\ud800", body=b"", key=b"k" * 24, changed_body=b"", changed_id="")
def test_a_verifier_takes_what_was_signed_and_nothing_else(
    message_id: str, body: bytes, key: bytes, changed_body: bytes, changed_id: str
) -> None:
    """INV-5: any id without a full stop, any bytes; another body or another id is refused by the reference library."""
    now_s, secret = int(datetime.now(UTC).timestamp()), Secret(key)
    signature = read_or_refused(
        lambda: sign(message_id=message_id, timestamp_s=now_s, body=body, secrets=[secret]),
        RequestInvalidError,
    )
    if isinstance(signature, RequestInvalidError):
        assert len(str(signature)) <= 200
        assert "." in message_id or any("\ud800" <= character <= "\udfff" for character in message_id)
        return
    assert "." not in message_id
    headers = {"webhook-id": message_id, "webhook-timestamp": str(now_s), "webhook-signature": signature}
    if message_id and is_utf8(body):
        assert verified(secret, body, headers)
    if changed_body != body and is_utf8(changed_body):
        assert not verified(secret, changed_body, headers)
    if changed_id != message_id and changed_id.isprintable():
        assert not verified(secret, body, {**headers, "webhook-id": changed_id})


def is_utf8(raw: bytes) -> bool:
    """The library's verifier takes text only."""
    return raw.decode(errors="replace").encode() == raw


def verified(secret: Secret, body: bytes, headers: dict[str, str]) -> bool:
    try:
        Webhook(secret.reveal()).verify(body, headers, json_parse=False)
    except (WebhookVerificationError, UnicodeError):
        return False
    return True


@FUZZ
@given(
    message_id=mutated_text(IDS),
    body=mutated(BODIES),
    content_type=mutated_text(["application/json", "text/plain; charset=utf-8"]),
    headers=st.dictionaries(
        mutated_text(["traceparent", "x-tenant", "X-A"]),
        mutated_text(["00-4bf92f35", "Jürgen \t x"]),
        max_size=3,
    ),
    timestamp=st.datetimes(timezones=st.just(UTC)),
    url=st.sampled_from(["https://receiver.example/in", "http://[::1]:8080/ü?a=b c"]),
)
def test_a_request_is_one_request_or_refused(
    message_id: str, body: bytes, content_type: str, headers: dict[str, str], timestamp: datetime, url: str
) -> None:
    """Whatever the event holds, llhttp reads one message with exactly our fields and the event's, and its bytes."""
    one = request(
        endpoint(url),
        message_id=message_id,
        body=body,
        content_type=content_type,
        headers=headers,
        timestamp=timestamp,
    )
    message = read_or_refused(lambda: encode_request(one, user_agent="test/1"), RequestInvalidError)
    if isinstance(message, RequestInvalidError):
        assert len(str(message)) <= 300
        assert not any(value and len(value) > 8 and value in str(message) for value in headers.values())
        return
    try:
        parsed = Parsed(message)
    except httptools.HttpParserError as error:
        raise AssertionError(f"not a request: {message!r}") from error
    assert (parsed.complete, parsed.body) == (1, body)
    assert len(parsed.headers) == 10 + len(headers)
    assert dict(parsed.headers)["content-type"] == content_type
