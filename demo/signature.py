"""The receiver's side of a signature: Standard Webhooks 1.0.0, written again from the specification.

Deliberately not the processor's own code, which it checks.
"""

import base64
import hmac
import re
from collections.abc import Mapping

__all__ = ["is_signed"]

_TOLERANCE_S = 300
_SECONDS = re.compile(r"[0-9]{1,12}")


def is_signed(headers: Mapping[str, str], body: bytes, *, secret: str, now_s: float) -> bool:
    """Whether one of the signatures is right for these very bytes, and the time of the attempt is near.

    Args:
        headers: with lower-case names.
        body: as it came.
        secret: `whsec_` and base64.
        now_s: the receiver's clock, epoch seconds.

    >>> headers = {
    ...     "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    ...     "webhook-timestamp": "1614265330",
    ...     "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    ... }
    >>> is_signed(
    ...     headers,
    ...     b'{"test": 2432232314}',
    ...     secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ...     now_s=1614265331,
    ... )
    True
    """
    timestamp = headers.get("webhook-timestamp", "")
    # Plain digits, and few: `int` also takes other scripts' digits, and refuses thousands of them.
    if not _SECONDS.fullmatch(timestamp) or abs(now_s - int(timestamp)) > _TOLERANCE_S:
        return False
    signed = f"{headers.get('webhook-id', '')}.{timestamp}.".encode(errors="surrogatepass") + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    right = b"v1," + base64.b64encode(hmac.new(key, signed, "sha256").digest())
    # As bytes: `compare_digest` takes no other text than ASCII.
    return any(
        hmac.compare_digest(right, signature.encode(errors="replace"))
        for signature in headers.get("webhook-signature", "").split(" ")
    )
