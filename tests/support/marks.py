"""Words that stand in payloads, URLs and secrets of the tests on the pipeline.

One search of all logs of a run finds any of them that leaked (INV-9).
"""

from __future__ import annotations

from base64 import b64encode

from connectors.webhook.secret import Secret

__all__ = ["PAYLOAD_MARK", "SECRET_MARK", "URL_MARK", "marked_secret"]

PAYLOAD_MARK = "payload-mark-6f1d"
URL_MARK = "url-mark-83ce"
# In base64 as it stands there: a secret's text is searched for, as well as its bytes.
SECRET_MARK = "SecretMark77"


def marked_secret(number: int) -> Secret:
    """A secret whose text begins with the mark; another one for each number."""
    tail = b64encode(number.to_bytes(21, "big")).decode()
    return Secret.parse(f"whsec_{SECRET_MARK}{tail}")
