"""A webhook's signing secret, in the form Standard Webhooks 1.0.0 gives it.

Place in the data's way: entered or generated once, kept with its endpoint, used by `signature.sign` on every
attempt. Invariant: its text leaves this object through `reveal` only; `repr`, `str`, formatting and every
error show nothing of it (INV-9). It must not be pickled: a secret travels as the endpoint's JSON or not at
all.
"""

import base64
import binascii
import hmac
import secrets
from typing import Final, NoReturn, Self

from connectors.webhook.errors import SecretInvalidError

__all__ = ["MAX_KEY_BYTES", "MIN_KEY_BYTES", "Secret"]

MIN_KEY_BYTES: Final = 24
MAX_KEY_BYTES: Final = 64

_PREFIX: Final = "whsec_"
# Some products hand secrets out as `v1,whsec_…`, with the signature's version before them (standard-webhooks
# #235).
_VERSIONED_PREFIX: Final = "v1,whsec_"
_ASYMMETRIC_PREFIXES: Final = ("whsk_", "whpk_", "v1a,")
_GENERATED_KEY_BYTES: Final = 32


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

    __slots__ = ("_key",)

    _key: bytes

    def __init__(self, key: bytes) -> None:
        if not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
            raise SecretInvalidError(
                f"a webhook secret holds {MIN_KEY_BYTES} to {MAX_KEY_BYTES} bytes, this one {len(key)}"
            )
        self._key = bytes(key)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `whsec_` and base64, with or without `v1,` before it.

        Raises:
            SecretInvalidError: says what is wrong, without showing any of the text.
        """
        return cls(_decoded(_encoded_part(text)))

    @classmethod
    def generate(cls) -> Self:
        """Make a new secret of 32 bytes from the system's random source."""
        return cls(secrets.token_bytes(_GENERATED_KEY_BYTES))

    @property
    def key(self) -> bytes:
        """The HMAC key."""
        return self._key

    def reveal(self) -> str:
        """Give the secret's text, `whsec_…`: for the endpoint's owner and its record, never for a log."""
        return _PREFIX + base64.b64encode(self._key).decode("ascii")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._key, other._key)

    def __hash__(self) -> int:
        return hash((Secret, self._key))

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
