"""Rotating the secret of an endpoint: the new one signs at once, the old ones for a while longer. Pure.

Place in the data's way: the change that API and command line make to an endpoint's secrets. During the overlap every
request carries a signature of each, and a receiver accepts whichever it can verify (Standard Webhooks 1.0.0).
"""

from datetime import datetime, timedelta
from typing import Final

from connectors.webhook.endpoint import MAX_SECRETS
from connectors.webhook.errors import TooManySecretsError
from connectors.webhook.secret import Secret

__all__ = ["DEFAULT_OVERLAP", "LONGEST_OVERLAP", "rotated"]

DEFAULT_OVERLAP: Final = timedelta(hours=24)
LONGEST_OVERLAP: Final = timedelta(days=30)


def rotated(
    secrets: tuple[Secret, ...], new: Secret, *, now: datetime, overlap: timedelta
) -> tuple[Secret, ...]:
    """The secrets after a rotation, newest first. Those that have ended already are left out.

    An old secret never gets a later end than it had. Rotating to the secret that is the newest already changes
    nothing, so that a request may be repeated.

    Raises:
        TooManySecretsError: so many rotations overlap that the signatures would be too many.

    >>> from datetime import UTC
    >>> now = datetime(2026, 3, 1, tzinfo=UTC)
    >>> old, new = Secret(b"o" * 32), Secret(b"n" * 32)
    >>> [secret.expires_at for secret in rotated((old,), new, now=now, overlap=timedelta(hours=1))]
    [None, datetime.datetime(2026, 3, 1, 1, 0, tzinfo=datetime.timezone.utc)]
    """
    still_signing = tuple(secret for secret in secrets if secret.signs_at(now))
    if new.same_key(secrets[0]):
        return still_signing
    ends_at = now + overlap
    old = tuple(
        secret if secret.expires_at is not None and secret.expires_at < ends_at else secret.until(ends_at)
        for secret in still_signing
        if overlap > timedelta() and not new.same_key(secret)
    )
    if len(old) >= MAX_SECRETS:
        raise TooManySecretsError(
            f"{len(old)} secrets of this endpoint overlap already, and {MAX_SECRETS} can sign at once; wait until one "
            "ends, or rotate without an overlap"
        )
    return (new.until(None), *old)
