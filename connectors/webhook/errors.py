"""Errors of the webhook connector.

WebhookError
├── SecretInvalidError     a text that is no webhook secret
├── UrlInvalidError        a text that is no URL a webhook can be sent to
├── EndpointInvalidError   an endpoint record that breaks its own rules, or JSON that is none
├── PayloadFilterInvalidError  a payload filter that breaks the grammar
├── KeyRingInvalidError    a text that is no ring of encryption keys
├── SecretLockedError      a sealed secret that the keys at hand don't open
├── TooManySecretsError    a rotation while too many secrets overlap already
└── RequestInvalidError    an event that can't be put into an HTTP request

All of them are about input, raised before anything is sent, and but for `SecretLockedError`, which is about this
process's settings, are `ValueError`s too. What happens on the
network is never an exception here but an `answer.Answer`. No message holds a secret, a payload, or a URL's
path or query (both are used for tokens).
"""

__all__ = [
    "EndpointInvalidError",
    "KeyRingInvalidError",
    "PayloadFilterInvalidError",
    "RequestInvalidError",
    "SecretInvalidError",
    "SecretLockedError",
    "TooManySecretsError",
    "UrlInvalidError",
    "WebhookError",
]


class WebhookError(Exception):
    """The root of everything that this connector raises."""


class SecretInvalidError(WebhookError, ValueError):
    """A webhook secret is `whsec_` and the base64 of 24 to 64 random bytes."""


class UrlInvalidError(WebhookError, ValueError):
    """A webhook URL is `http://` or `https://`, a host, and nothing that hides where it goes."""


class EndpointInvalidError(WebhookError, ValueError):
    """An endpoint needs an id, a valid URL, at least one event type and at least one secret."""


class PayloadFilterInvalidError(WebhookError, ValueError):
    """A payload filter mirrors the payload, and has a list of alternatives at each leaf.

    Attributes:
        pointer: the place in the filter, as a JSON pointer; empty for the whole.
        reason: what is wrong there, without a value of the filter.
    """

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(f"payload_filter at {pointer}: {reason}" if pointer else f"payload_filter: {reason}")
        self.pointer = pointer
        self.reason = reason


class RequestInvalidError(WebhookError, ValueError):
    """An event's id, content type and headers must be ones that HTTP can carry."""


class KeyRingInvalidError(WebhookError, ValueError):
    """A ring of encryption keys is id:base64 of 32 bytes each, separated by commas, the current one first."""


class SecretLockedError(WebhookError):
    """A sealed secret can't be opened: add the key that the message names to OUTBOX_ENCRYPTION_KEYS."""


class TooManySecretsError(WebhookError, ValueError):
    """An endpoint's requests carry one signature for each of its secrets, and eight at most."""
