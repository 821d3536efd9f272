"""A webhook's signing secret, in the form Standard Webhooks 1.0.0 gives it.

Place in the data's way: entered or generated once, kept with its endpoint, used by `signature.sign` on every
attempt. Invariant: its text leaves this object through `reveal` only; `repr`, `str`, formatting and every
error show nothing of it (INV-9). It must not be pickled: a secret travels as the endpoint's JSON or not at
all. One that is stored sealed is opened at each use (`confidential`).

During a rotation the old secret has an end, which stands beside it in the endpoint's record. Whoever signs drops it
then by itself: nobody has to come and remove it.
"""

import base64
import binascii
import hmac
import secrets
from datetime import datetime
from typing import Final, NoReturn, Self

from connectors.webhook.confidential import Confidential
from connectors.webhook.errors import SecretInvalidError, SecretLockedError
from connectors.webhook.key_ring import KeyRing, is_sealed

__all__ = ["MAX_KEY_BYTES", "MIN_KEY_BYTES", "Secret"]

MIN_KEY_BYTES: Final = 24
MAX_KEY_BYTES: Final = 64

_PREFIX: Final = "whsec_"
# Some products hand secrets out as `v1,whsec_…`, with the signature's version before them (standard-webhooks
# #235).
_VERSIONED_PREFIX: Final = "v1,whsec_"
_ASYMMETRIC_PREFIXES: Final = ("whsk_", "whpk_", "v1a,")
_GENERATED_KEY_BYTES: Final = 32
_UNTIL: Final = ";until="


class Secret:
    """The key of one endpoint's signatures: 24 to 64 bytes (Standard Webhooks 1.0.0, "Signature scheme").

    Two spellings of the same bytes are equal; `reveal` gives the usual one.

    >>> secret = Secret.parse("v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    >>> secret
    Secret(hidden)
    >>> secret.reveal()
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    >>> len(secret.key)
    24
    """

    __slots__ = ("_key", "expires_at")

    def __init__(self, key: bytes | Confidential, *, expires_at: datetime | None = None) -> None:
        if isinstance(key, bytes) and not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
            raise SecretInvalidError(
                f"a webhook secret holds {MIN_KEY_BYTES} to {MAX_KEY_BYTES} bytes, this one {len(key)}"
            )
        if expires_at is not None and expires_at.tzinfo is None:
            raise SecretInvalidError("the end of a webhook secret has no time zone")
        self._key: bytes | Confidential = bytes(key) if isinstance(key, bytes) else key
        self.expires_at = expires_at

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `whsec_` and base64, with or without `v1,` before it.

        Raises:
            SecretInvalidError: says what is wrong, without showing any of the text.
        """
        return cls(_decoded(_encoded_part(text)))

    @classmethod
    def stored(cls, record: str, *, ring: KeyRing, owner: str) -> Self:
        """Read a secret as its endpoint's record has it: plain or sealed, with an end or without.

        Raises:
            SecretInvalidError: it is neither; shows none of it. What is sealed is looked at when it is used.
        """
        text, separator, until = record.partition(_UNTIL)
        expires_at = _time(until) if separator else None
        if is_sealed(text):
            return cls(Confidential.stored(text, ring=ring, bound_to=_place(owner)), expires_at=expires_at)
        return cls.parse(text).until(expires_at)

    @classmethod
    def generate(cls) -> Self:
        """Make a new secret of 32 bytes from the system's random source."""
        return cls(secrets.token_bytes(_GENERATED_KEY_BYTES))

    def until(self, expires_at: datetime | None) -> Self:
        """The same secret, which nothing is signed with from that time on; None: for ever."""
        return type(self)(self._key, expires_at=expires_at)

    def signs_at(self, moment: datetime) -> bool:
        """Whether it is still in use at that time."""
        return self.expires_at is None or moment < self.expires_at

    @property
    def key(self) -> bytes:
        """The HMAC key.

        Raises:
            SecretLockedError: it is sealed, and can't be opened here.
        """
        if isinstance(self._key, bytes):
            return self._key
        try:
            return _decoded(_encoded_part(self._key.reveal()))
        except SecretInvalidError:
            raise SecretLockedError(
                "what was opened is no webhook secret: it was sealed by something else"
            ) from None

    def reveal(self) -> str:
        """Give the secret's text, `whsec_…`: for the endpoint's owner and its record, never for a log.

        Raises:
            SecretLockedError: as `key`.
        """
        return _PREFIX + base64.b64encode(self.key).decode("ascii")

    def record(self, ring: KeyRing, *, owner: str) -> str:
        """Give the text for its endpoint's record: what was sealed as it was, a plain one sealed, if the ring can."""
        value = Confidential(self.reveal()) if isinstance(self._key, bytes) else self._key
        text = value.record(ring, bound_to=_place(owner))
        return text if self.expires_at is None else f"{text}{_UNTIL}{self.expires_at.isoformat()}"

    def opened(self) -> Self:
        """The same secret, plain: to be sealed with another key.

        Raises:
            SecretLockedError: as `key`.
        """
        return type(self)(self.key, expires_at=self.expires_at)

    def is_current(self, ring: KeyRing) -> bool:
        """Whether it is stored the way the ring would store it now."""
        return ring.current_id is None if isinstance(self._key, bytes) else self._key.is_current(ring)

    @property
    def missing_key_id(self) -> str | None:
        """The id of the encryption key that this process lacks for it; None if it lacks none."""
        return None if isinstance(self._key, bytes) else self._key.missing_key_id

    def same_key(self, other: Self) -> bool:
        """Whether two secrets sign alike. False if one of them can't be opened here."""
        if isinstance(self._key, Confidential) and self._key == other._key:
            return True
        try:
            return hmac.compare_digest(self.key, other.key)
        except SecretLockedError:
            return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.expires_at == other.expires_at and self.same_key(other)

    def __hash__(self) -> int:
        # Not of the key: a sealed secret and the same one opened are equal.
        return hash((Secret, self.expires_at))

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a webhook secret is not pickled; store the endpoint's JSON instead")


def _encoded_part(text: str) -> str:
    for prefix in (_PREFIX, _VERSIONED_PREFIX):
        if text.startswith(prefix):
            return text.removeprefix(prefix)
    if text.startswith(_ASYMMETRIC_PREFIXES):
        raise SecretInvalidError(
            "this is a key of an asymmetric (v1a, ed25519) signature; endpoints here need a symmetric one, "
            f"which starts with {_PREFIX}"
        )
    if text != text.strip():
        raise SecretInvalidError("a webhook secret has white space around it; remove it")
    raise SecretInvalidError(
        f"a webhook secret starts with {_PREFIX} (followed by base64); this text does not"
    )


def _decoded(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        # `from None`: the binascii error is harmless, but the frame above it holds the secret's text.
        raise SecretInvalidError(
            f"what follows {_PREFIX} is not base64 (standard alphabet, padded with =, no white space)"
        ) from None


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise SecretInvalidError(f"what follows {_UNTIL} is not an ISO 8601 time") from None


def _place(owner: str) -> str:
    return f"endpoint {owner}: secret"
