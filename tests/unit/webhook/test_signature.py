"""The signature, against the reference libraries' vector and against their own verifier."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from connectors.webhook.errors import RequestInvalidError
from connectors.webhook.secret import Secret
from connectors.webhook.signature import sign

VECTOR_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SECRETS = st.binary(min_size=24, max_size=64).map(Secret)


def test_the_vector_of_the_reference_libraries() -> None:
    """The same id, time, body and secret give the signature that all the Standard Webhooks libraries test for."""
    signature = sign(
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp_s=1614265330,
        body=b'{"test": 2432232314}',
        secrets=[Secret.parse(VECTOR_SECRET)],
    )

    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(st.text(), SECRETS, SECRETS)
def test_a_verifier_accepts_either_secret_during_a_rotation(body: str, new: Secret, old: Secret) -> None:
    """One signature for each secret, newest first, and the library's verifier finds its own among them."""
    now_s = int(datetime.now(UTC).timestamp())
    payload = body.encode("utf-8", "replace")

    signature = sign(message_id="msg_1", timestamp_s=now_s, body=payload, secrets=[new, old])

    alone = [sign(message_id="msg_1", timestamp_s=now_s, body=payload, secrets=[one]) for one in (new, old)]
    assert signature.split(" ") == alone
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(now_s), "webhook-signature": signature}
    for secret in (new, old):
        Webhook(secret.reveal()).verify(payload, headers, json_parse=False)


def test_a_verifier_refuses_another_secret_and_another_body() -> None:
    """The check above can fail."""
    now_s = int(datetime.now(UTC).timestamp())
    secret = Secret.generate()
    signature = sign(message_id="msg_1", timestamp_s=now_s, body=b"{}", secrets=[secret])
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(now_s), "webhook-signature": signature}

    with pytest.raises(WebhookVerificationError):
        Webhook(Secret.generate().reveal()).verify(b"{}", headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret.reveal()).verify(b"{ }", headers)


def test_an_id_that_is_no_text_is_refused() -> None:
    """Half of a surrogate pair has no bytes to sign; the error is this package's."""
    with pytest.raises(RequestInvalidError, match="Unicode"):
        sign(message_id="\ud800", timestamp_s=2, body=b"", secrets=[Secret.generate()])


def test_an_id_with_a_full_stop_is_refused() -> None:
    """`a.1` at time 2 and `a` at time 1 with a body that begins with `2.` would be signed alike."""
    with pytest.raises(RequestInvalidError, match="full stop"):
        sign(message_id="a.1", timestamp_s=2, body=b"", secrets=[Secret.generate()])
