"""The key ring: the keys that what endpoints keep secret is sealed with, at rest and on its way.

Place in the data's way: read from the environment by whoever writes endpoints (API, `outbox endpoints`) and by
every worker. Sealing is AES-256-GCM with a random nonce. What is sealed is bound to its place, an endpoint's id and
a field's name: moved to another, it can't be opened. The first key seals, all of them open (docs/adr/0014).

An empty ring seals nothing: what was to be kept secret stays plain text. Whether that is allowed is decided elsewhere
(`streams.settings`). No key shows in a `repr` or an error (INV-9).
"""

import base64
import binascii
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from connectors.webhook.errors import KeyRingInvalidError, SecretLockedError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["NO_KEYS", "PLAIN", "EncryptionKey", "KeyRing", "is_sealed", "sealing_key_id"]

PLAIN: Final = "plain"
"""The setting of who chose to keep secrets as plain text."""

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_MAX_KEYS: Final = 16
_KEY_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,32}")
_SEALED: Final = re.compile(r"sealed:v1:([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]+={0,2})")


@dataclass(frozen=True, slots=True)
class EncryptionKey:
    """One key and the name it goes by, which stands in everything that it sealed."""

    id: str
    key: bytes = field(repr=False)

    @classmethod
    def generate(cls, key_id: str) -> Self:
        """Make a key from the system's random source.

        Raises:
            KeyRingInvalidError: the id is none.
        """
        _check_id(key_id)
        return cls(key_id, secrets.token_bytes(_KEY_BYTES))

    def reveal(self) -> str:
        """Give the key's text, `id:base64`, as it stands in the setting: for the operator's secret store alone."""
        return f"{self.id}:{base64.b64encode(self.key).decode('ascii')}"


class KeyRing:
    """Keys by their ids; the first is the current one. Made once a process.

    >>> ring = KeyRing([EncryptionKey("k2", b"n" * 32), EncryptionKey("k1", b"o" * 32)])
    >>> sealed = ring.seal("hunter2", bound_to="ep_1 secret")
    >>> sealing_key_id(sealed), ring.open(sealed, bound_to="ep_1 secret")
    ('k2', 'hunter2')
    """

    __slots__ = ("_ciphers", "current_id")

    def __init__(self, keys: Sequence[EncryptionKey] = ()) -> None:
        self._ciphers: dict[str, AESGCM] = {key.id: _cipher(key.key) for key in keys}
        self.current_id: str | None = keys[0].id if keys else None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `id:base64,id:base64`, the current key first. An empty text and `plain` are the empty ring.

        Raises:
            KeyRingInvalidError: says what is wrong, without showing any of it.
        """
        if text.strip() in ("", PLAIN):
            return cls()
        parts = [part.strip() for part in text.split(",")]
        if len(parts) > _MAX_KEYS:
            raise KeyRingInvalidError(f"a key ring has {_MAX_KEYS} keys at most")
        keys = [_parse_key(part) for part in parts]
        if len({key.id for key in keys}) < len(keys):
            raise KeyRingInvalidError("two keys of the ring have the same id")
        return cls(keys)

    def __bool__(self) -> bool:
        return self.current_id is not None

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self._ciphers)})"

    def holds(self, key_id: str) -> bool:
        """Whether there is a key of this id."""
        return key_id in self._ciphers

    def seal(self, text: str, *, bound_to: str) -> str:
        """Seal a text with the current key; with an empty ring it stays as it is."""
        if self.current_id is None:
            return text
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._ciphers[self.current_id].encrypt(nonce, text.encode(), bound_to.encode())
        return f"sealed:v1:{self.current_id}:{base64.b64encode(nonce + sealed).decode('ascii')}"

    def open(self, sealed: str, *, bound_to: str) -> str:
        """Open what a ring with the same key sealed, at the same place.

        Raises:
            SecretLockedError: the key is missing, or is another one, or what was sealed was changed or moved.
        """
        found = _SEALED.fullmatch(sealed)
        if found is None:
            raise SecretLockedError(f"{bound_to}: what is stored is no sealed text")
        key_id, encoded = found.groups()
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise SecretLockedError(
                f"{bound_to}: sealed with the key {key_id}, which OUTBOX_ENCRYPTION_KEYS lacks here"
            )
        try:
            octets = base64.b64decode(encoded, validate=True)
            return cipher.decrypt(octets[:_NONCE_BYTES], octets[_NONCE_BYTES:], bound_to.encode()).decode()
        except (ValueError, _invalid_tag()):
            raise SecretLockedError(
                f"{bound_to}: the key {key_id} doesn't open it: it is another key under this id, or what was "
                "sealed was changed"
            ) from None


NO_KEYS: Final = KeyRing()
"""Seals nothing, opens nothing."""


def is_sealed(text: str) -> bool:
    """Whether a stored text is a sealed one."""
    return text.startswith("sealed:")


def sealing_key_id(text: str) -> str | None:
    """The id of the key that sealed a text; None for a plain text.

    >>> sealing_key_id("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") is None
    True
    """
    found = _SEALED.fullmatch(text)
    return found[1] if found else None


def _cipher(key: bytes) -> "AESGCM":
    # Imported here and below, since it takes 30 ms, and most commands seal and open nothing.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - as said

    return AESGCM(key)


def _invalid_tag() -> type[Exception]:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as said

    return InvalidTag


def _parse_key(text: str) -> EncryptionKey:
    key_id, separator, encoded = text.partition(":")
    if not separator:
        raise KeyRingInvalidError("a key is written as id:base64")
    _check_id(key_id)
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise KeyRingInvalidError("what follows a key's id and colon is not base64") from None
    if len(key) != _KEY_BYTES:
        raise KeyRingInvalidError(f"a key holds {_KEY_BYTES} bytes, one of these {len(key)}")
    return EncryptionKey(key_id, key)


def _check_id(key_id: str) -> None:
    if not _KEY_ID.fullmatch(key_id):
        raise KeyRingInvalidError("a key's id is 1 to 32 letters, digits, _ or -")
