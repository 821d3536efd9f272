"""The signing secret: what is one, and that it never shows."""

import base64
import copy
import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.errors import SecretInvalidError
from connectors.webhook.secret import Secret
from tests.unit.webhook.records import endpoint

KEYS = st.binary(min_size=24, max_size=64)


def spelled(key: bytes) -> str:
    return "whsec_" + base64.b64encode(key).decode()


@given(KEYS)
def test_every_key_of_24_to_64_bytes_survives_its_text(key: bytes) -> None:
    """`parse` and `reveal` are each other's inverse over all the keys that the specification allows."""
    secret = Secret.parse(spelled(key))

    assert secret.key == key
    assert secret.reveal() == spelled(key)
    assert secret == Secret(key)
    assert hash(secret) == hash(Secret(key))


@given(KEYS)
def test_cases_22_a_secret_with_the_signature_version_before_it_is_the_same_secret(key: bytes) -> None:
    """`v1,whsec_…`, as some products hand secrets out, is accepted (standard-webhooks #235)."""
    assert Secret.parse("v1," + spelled(key)) == Secret(key)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "starts with whsec_"),
        ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "starts with whsec_"),
        ("v1whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "starts with whsec_"),
        ("WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "starts with whsec_"),
        (" whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "white space"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", "not base64"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2La-_Sw", "not base64"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa", "not base64"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLäSw", "not base64"),
        ("whsec_", "24 to 64 bytes, this one 0"),
        (spelled(b"k" * 23), "24 to 64 bytes, this one 23"),
        (spelled(b"k" * 65), "24 to 64 bytes, this one 65"),
        ("whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "asymmetric"),
        ("whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "asymmetric"),
        ("v1a,whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "asymmetric"),
    ],
)
def test_what_is_no_secret_is_refused_with_the_reason_and_without_its_text(text: str, said: str) -> None:
    """The error says what is wrong; neither it nor any error behind it shows the text (INV-9)."""
    with pytest.raises(SecretInvalidError, match=said) as raised:
        Secret.parse(text)

    assert "MfKQ9r8" not in str(raised.value)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_a_secret_shows_nothing_of_itself() -> None:
    """INV-9: not in repr, str or format, not in the repr of its endpoint, and not in a pickle."""
    secret = Secret.generate()
    holder = endpoint(secrets=(secret,))
    text = secret.reveal().removeprefix("whsec_")

    shown = [repr(secret), str(secret), f"{secret}", repr([secret]), repr(holder), str(holder)]

    assert not any(text in one or secret.key.hex() in one or repr(secret.key) in one for one in shown)
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(secret)


def test_a_secret_may_be_copied_with_its_endpoint() -> None:
    """`dataclasses.asdict` copies deeply, and must not fail for a secret's sake."""
    secret = Secret.generate()

    assert copy.deepcopy(secret) == copy.copy(secret) == secret
    assert dataclasses.asdict(endpoint(secrets=(secret,)))["secrets"] == (secret,)


def test_generated_secrets_differ_and_are_long_enough() -> None:
    """Two secrets are never the same, and hold 32 bytes."""
    first, second = Secret.generate(), Secret.generate()

    assert first != second
    assert first != first.reveal()
    assert len(first.key) == 32
