"""The bytes of a request: HTTP/1.1, RFC 9112. Pure.

Place in the data's way: the last thing before the socket. Invariants: nothing of an event can end a header
line or add one (header injection); the body is the very bytes that were signed (INV-5). What the receiver
sees is written up in `docs/reference/webhook-request.md`.
"""

import re
from collections.abc import Mapping
from typing import Final

from connectors.webhook.errors import RequestInvalidError
from connectors.webhook.request import Request
from connectors.webhook.signature import sign

__all__ = ["encode_request"]

_MESSAGE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,255}")
_FIELD_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]{1,128}")
_CONTENT_TYPE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")
# No controls, of C1 and the line separators neither. Other text goes out as UTF-8 (obs-text in RFC 9110,
# 5.5).
_FIELD_VALUE: Final = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{0,4096}")
# An event's (64), its type, its replay, and an endpoint's static ones (16).
_MAX_FIELDS: Final = 82
_OURS: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "idempotency-key",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
    }
)


def encode_request(request: Request, *, user_agent: str) -> bytes:
    """Write a request down, signed.

    Raises:
        RequestInvalidError: names the part of the event that HTTP can't carry; shows no value.
        SecretLockedError: a secret of the endpoint is sealed, and can't be opened here.
    """
    message_id, body = request.message_id, request.body
    if not _MESSAGE_ID.fullmatch(message_id):
        raise RequestInvalidError("the webhook id is not 1 to 255 letters, digits, _ or -")
    if not _CONTENT_TYPE.fullmatch(request.content_type):
        raise RequestInvalidError("the content type is not 1 to 255 printable ASCII characters")
    if request.timestamp.tzinfo is None:
        raise RequestInvalidError("the attempt's timestamp has no time zone")
    timestamp_s = int(request.timestamp.timestamp())
    target = request.endpoint.target
    signature = sign(
        message_id=message_id,
        timestamp_s=timestamp_s,
        body=body,
        secrets=request.endpoint.signing_secrets(request.timestamp),
    )
    head = (
        f"POST {target.target} HTTP/1.1\r\n"
        f"host: {target.origin.authority}\r\n"
        f"user-agent: {user_agent}\r\n"
        "accept: */*\r\n"
        "accept-encoding: identity\r\n"
        f"content-type: {request.content_type}\r\n"
        f"content-length: {len(body)}\r\n"
        f"webhook-id: {message_id}\r\n"
        f"webhook-timestamp: {timestamp_s}\r\n"
        f"webhook-signature: {signature}\r\n"
        f"idempotency-key: {message_id}\r\n"
    )
    if request.headers:
        head += _further_fields(request.headers)
    return head.encode() + b"\r\n" + body


def _further_fields(headers: Mapping[str, str]) -> str:
    if len(headers) > _MAX_FIELDS:
        raise RequestInvalidError(f"the event has {len(headers)} headers; at most {_MAX_FIELDS} can be sent")
    lines = []
    for name, value in headers.items():
        if not _FIELD_NAME.fullmatch(name):
            raise RequestInvalidError("the name of a header of the event is not an HTTP field name")
        if name.lower() in _OURS:
            raise RequestInvalidError(
                f"the event has a header {name.lower()}, which the sender writes itself"
            )
        if not _FIELD_VALUE.fullmatch(value):
            raise RequestInvalidError(
                f"the value of the event's header {name.lower()} holds control characters or is too long"
            )
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines)
