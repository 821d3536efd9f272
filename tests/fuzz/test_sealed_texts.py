"""Key rings and sealed texts, garbled: opened, or one error that shows nothing."""

from hypothesis import example, given

from connectors.webhook.errors import KeyRingInvalidError, SecretInvalidError, SecretLockedError
from connectors.webhook.key_ring import EncryptionKey, KeyRing
from connectors.webhook.secret import Secret
from tests.fuzz.mutation import any_text, mutated_text
from tests.fuzz.profile import FUZZ
from tests.fuzz.refusal import read_or_refused
from tests.unit.webhook.records import NOW, SECRET

K1, K2 = EncryptionKey("k1", b"1" * 32), EncryptionKey("k2", b"2" * 32)
RING = KeyRing([K1])
SEALED = RING.seal(SECRET.reveal(), bound_to="endpoint ep_1: secret")
RECORDS = [
    SECRET.reveal(),
    SECRET.until(NOW).record(RING, owner="ep_1"),
    f"{SECRET.reveal()};until=2026-03-01T12:00:00+00:00",
    SEALED,
]


@FUZZ
@given(mutated_text([f"{K2.reveal()},{K1.reveal()}", "plain", ""]) | any_text)
def test_any_text_is_a_key_ring_or_refused_without_its_keys(text: str) -> None:
    """INV-9: the setting's error shows no key."""
    found = read_or_refused(lambda: KeyRing.parse(text), KeyRingInvalidError)
    if isinstance(found, KeyRing):
        assert found.open(found.seal("x", bound_to="y"), bound_to="y") == "x" if found else True
        return
    assert "MTExMTEx" not in str(found)
    assert len(str(found)) < 200


@FUZZ
@given(mutated_text([SEALED]) | any_text)
def test_what_is_opened_is_what_was_sealed(text: str) -> None:
    """Anything else is locked; the error shows nothing of it."""
    found = read_or_refused(lambda: RING.open(text, bound_to="endpoint ep_1: secret"), SecretLockedError)
    if isinstance(found, str):
        assert found == SECRET.reveal()
        return
    assert len(str(found)) < 300


@FUZZ
@given(mutated_text(RECORDS) | any_text)
@example(f"{SECRET.reveal()};until=9999-12-31T23:59:59.999999-23:59")
@example(f"{SECRET.reveal()};until=0001-01-01T00:00:00+23:59")
def test_any_record_of_a_secret_is_read_or_refused_without_it(record: str) -> None:
    """What is read signs or is locked, now and at any time; the record is written as it can be read again."""
    secret = read_or_refused(lambda: Secret.stored(record, ring=RING, owner="ep_1"), SecretInvalidError)
    if isinstance(secret, SecretInvalidError):
        assert SECRET.reveal().removeprefix("whsec_") not in str(secret)
        return
    assert secret.signs_at(NOW) in {True, False}
    assert read_or_refused(lambda: secret.key, SecretLockedError) is not None
    again = Secret.stored(secret.record(RING, owner="ep_1"), ring=RING, owner="ep_1")
    assert again.expires_at == secret.expires_at
    assert again.missing_key_id == secret.missing_key_id
