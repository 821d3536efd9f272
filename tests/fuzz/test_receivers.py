"""The check of a signature in the demo and in the documentation: garbled headers are no signature, and no error."""

from collections.abc import Callable, Mapping

import pytest
from hypothesis import example, given

from connectors.webhook.secret import Secret
from connectors.webhook.signature import sign
from demo.signature import is_signed
from tests.fuzz.mutation import mutated, mutated_text
from tests.fuzz.profile import FUZZ
from tests.integration.webhook.test_documented_receiver import documented
from tests.unit.webhook.records import NOW

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID, TIME, BODY = "msg_1", str(int(NOW.timestamp())), b'{"order": 42}'
SIGNED = sign(message_id=ID, timestamp_s=int(TIME), body=BODY, secrets=[Secret.parse(SECRET)])

Check = Callable[[Mapping[str, str], bytes], bool]
_documented = documented()
CHECKS: dict[str, Check] = {
    "demo": lambda headers, body: is_signed(headers, body, secret=SECRET, now_s=NOW.timestamp()),
    # Its clock is the system's, so that any time has to be near for it here.
    "documentation": lambda headers, body: _documented(headers, body, SECRET, tolerance_s=10**13),
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=list(CHECKS))
@FUZZ
@given(
    message_id=mutated_text([ID]),
    timestamp=mutated_text([TIME]),
    signature=mutated_text([SIGNED, f"v1,bm90IHRoaXMgb25l {SIGNED}", f"v1a,abc {SIGNED}", f"{SIGNED} "]),
    body=mutated([BODY]),
)
@example(message_id=ID, timestamp=TIME, signature=SIGNED, body=BODY)
@example(message_id=ID, timestamp="\u00b2", signature=SIGNED, body=BODY)
@example(message_id=ID, timestamp="9" * 5_000, signature=SIGNED, body=BODY)
@example(message_id="\ud800", timestamp=TIME, signature="v1,\u00fc \ud800", body=BODY)
@example(message_id=ID, timestamp=TIME, signature="v1,A", body=BODY)
def test_a_receiver_takes_the_signature_of_these_bytes_and_no_other(
    check: Check, message_id: str, timestamp: str, signature: str, body: bytes
) -> None:
    """Exactly what was signed passes, as one of the signatures given; nothing that is nearly it, in any part."""
    headers = {"webhook-id": message_id, "webhook-timestamp": timestamp, "webhook-signature": signature}
    is_right = (message_id, timestamp, body) == (ID, TIME, BODY) and SIGNED in signature.split(" ")
    assert check(headers, body) == is_right


@pytest.mark.parametrize("check", CHECKS.values(), ids=list(CHECKS))
def test_a_request_without_the_headers_is_not_signed(check: Check) -> None:
    """A request of anybody else has none of them."""
    assert not check({}, BODY)
