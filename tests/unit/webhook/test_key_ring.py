"""Sealing: what is sealed comes back, at its place and with its key only, and shows nothing."""

import base64
import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.confidential import Confidential
from connectors.webhook.errors import KeyRingInvalidError, SecretLockedError
from connectors.webhook.key_ring import NO_KEYS, EncryptionKey, KeyRing, is_sealed, sealing_key_id

K1 = EncryptionKey("k1", b"1" * 32)
K2 = EncryptionKey("k2", b"2" * 32)
OLD, NEW = KeyRing([K1]), KeyRing([K2, K1])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=100)


@given(TEXTS, TEXTS)
def test_what_was_sealed_is_opened_at_its_place(text: str, place: str) -> None:
    """Also after another key became the current one; and two sealings of a text differ."""
    sealed = OLD.seal(text, bound_to=place)
    assert NEW.open(sealed, bound_to=place) == text
    assert (sealing_key_id(sealed), sealing_key_id(NEW.seal(text, bound_to=place))) == ("k1", "k2")
    assert sealed != OLD.seal(text, bound_to=place)


def test_without_keys_nothing_is_sealed() -> None:
    """A text stays as it is, and is not taken for a sealed one."""
    assert NO_KEYS.seal("hunter2", bound_to="x") == "hunter2"
    assert not is_sealed("hunter2")
    assert not NO_KEYS


@pytest.mark.parametrize(
    ("ring", "place", "said"),
    [
        (KeyRing([K2]), "endpoint ep_1: secret", "the key k1, which OUTBOX_ENCRYPTION_KEYS lacks"),
        (NO_KEYS, "endpoint ep_1: secret", "the key k1, which OUTBOX_ENCRYPTION_KEYS lacks"),
        (KeyRing([EncryptionKey("k1", b"x" * 32)]), "endpoint ep_1: secret", "another key under this id"),
        (OLD, "endpoint ep_2: secret", "was changed"),
        (OLD, "endpoint ep_1: header authorization", "was changed"),
    ],
)
def test_what_cannot_be_opened_names_place_and_key(ring: KeyRing, place: str, said: str) -> None:
    """Another ring, another key under the id, another endpoint or field: an error without the text (INV-9)."""
    sealed = OLD.seal("hunter2", bound_to="endpoint ep_1: secret")
    with pytest.raises(SecretLockedError, match=said) as raised:
        ring.open(sealed, bound_to=place)
    assert place in str(raised.value)
    assert sealed not in str(raised.value)


@given(st.data())
def test_a_changed_byte_is_noticed(data: st.DataObject) -> None:
    """Nothing that differs in one bit is opened."""
    head, _, encoded = OLD.seal("hunter2", bound_to="x").rpartition(":")
    octets = bytearray(base64.b64decode(encoded))
    octets[data.draw(st.integers(0, len(octets) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(SecretLockedError):
        OLD.open(f"{head}:{base64.b64encode(octets).decode()}", bound_to="x")


@pytest.mark.parametrize(
    "text", ["sealed:", "sealed:v1:k1:", "sealed:v1:k1:x", "sealed:v1:k1:AAAA", "sealed:v2:k:A="]
)
def test_what_only_looks_sealed_is_locked(text: str) -> None:
    """Whatever stands there, there is one error."""
    with pytest.raises(SecretLockedError):
        OLD.open(text, bound_to="x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("k1", "id:base64"),
        (":" + base64.b64encode(b"hunter2").decode(), "a key's id is"),
        ("k 1:aHVudGVyMg==", "a key's id is"),
        ("k1:aHVudGVyMg==", "a key holds 32 bytes, one of these 7"),
        ("k1:hunter2!", "not base64"),
        (f"{K1.reveal()},{K1.reveal()}", "the same id"),
        (",".join(EncryptionKey(f"k{n}", b"1" * 32).reveal() for n in range(17)), "16 keys at most"),
    ],
)
def test_what_is_no_key_ring_is_refused_without_its_text(text: str, said: str) -> None:
    """The setting of a process: the error says what is wrong, and shows no key (INV-9)."""
    with pytest.raises(KeyRingInvalidError, match=said) as raised:
        KeyRing.parse(text)
    assert "aHVudGVyMg" not in str(raised.value)


def test_a_ring_is_written_as_its_keys_are_printed() -> None:
    """What `new-key` prints can be put before what is there."""
    made = EncryptionKey.generate("2026-11")
    ring = KeyRing.parse(f" {made.reveal()} , {K1.reveal()}")
    assert ring.current_id == "2026-11"
    assert ring.open(OLD.seal("x", bound_to="y"), bound_to="y") == "x"
    assert made.reveal() not in repr(made) + repr(ring)
    assert "plain" not in repr(KeyRing.parse("plain"))


def test_a_confidential_text_shows_nothing_of_itself() -> None:
    """INV-9: plain or sealed, not in repr, str or format, nor in a pickle; a copy is the same."""
    plain = Confidential("hunter2")
    sealed = Confidential.stored(plain.record(OLD, bound_to="x"), ring=OLD, bound_to="x")
    assert (sealed.is_sealed, sealed.reveal(), sealed.missing_key_id) == (True, "hunter2", None)
    for one in (plain, sealed):
        assert "hunter2" not in f"{one} {one!r} {[one]}"
        assert copy.deepcopy(one) == copy.copy(one) == one
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(one)
    assert sealed.record(NEW, bound_to="x") == sealed.record(OLD, bound_to="x")
    assert (sealed.is_current(OLD), sealed.is_current(NEW), plain.is_current(NO_KEYS)) == (True, False, True)
