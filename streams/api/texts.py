"""The kinds of text and number in the API's requests: each with its bounds, its rule, and what it says when broken.

Place in the data's way: what `models` is written with. A rule's message never quotes the value: it may be a secret.
"""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from connectors.webhook.errors import SecretInvalidError, UrlInvalidError
from connectors.webhook.secret import Secret
from connectors.webhook.static_headers import (
    MAX_HEADER_NAME_CHARS,
    MAX_HEADER_VALUE_CHARS,
    header_name_problem,
    header_value_problem,
)
from connectors.webhook.url import MAX_URL_CHARS, WebhookUrl
from outbox import EventFilter
from outbox.errors import OutboxError

__all__ = [
    "Description",
    "EndpointId",
    "EventTypeFilter",
    "HeaderName",
    "HeaderValue",
    "MetadataKey",
    "MetadataValue",
    "Seconds",
    "SecretText",
    "UrlText",
]

_NO_TEXT: Final = re.compile(r"[\0\ud800-\udfff]")
_MAX_SECONDS: Final = 365 * 86_400.0


def _broken(message: str) -> PydanticCustomError:
    # The message is a template in which braces stand for values.
    return PydanticCustomError("rule", "{message}", {"message": message})


def _url(text: str) -> str:
    try:
        WebhookUrl.parse(text)
    except UrlInvalidError as error:
        raise _broken(str(error)) from None
    return text


def _secret(text: str) -> str:
    try:
        Secret.parse(text)
    except SecretInvalidError as error:
        raise _broken(str(error)) from None
    return text


def _event_filter(text: str) -> str:
    try:
        EventFilter(text)
    except OutboxError:
        raise _broken("this is no event filter; use order.created, order.* or *") from None
    return text


def _header_name(text: str) -> str:
    problem = header_name_problem(text.lower())
    if problem:
        raise _broken(problem)
    return text.lower()


def _header_value(text: str) -> str:
    problem = header_value_problem(text)
    if problem:
        raise _broken(problem)
    return text


def _storable(text: str) -> str:
    if _NO_TEXT.search(text):
        raise _broken("this holds a NUL or half of a surrogate pair, which can't be stored")
    return text


EndpointId = Annotated[
    str,
    Field(pattern=r"^ep_[A-Za-z0-9_-]{1,64}$", description="`ep_` and up to 64 letters, digits, _ or -."),
]
UrlText = Annotated[
    str,
    AfterValidator(_url),
    Field(
        min_length=1,
        max_length=MAX_URL_CHARS,
        pattern=r"^https?://",
        description="Where events are posted to. No user name or password in it, and no fragment.",
        examples=["https://receiver.example/in"],
    ),
]
EventTypeFilter = Annotated[
    str,
    AfterValidator(_event_filter),
    Field(
        min_length=1,
        max_length=202,
        description="`order.created`, `order.*` or `*`.",
        examples=["order.*"],
    ),
]
SecretText = Annotated[
    str,
    AfterValidator(_secret),
    Field(
        max_length=200,
        description="`whsec_` and the base64 of 24 to 64 random bytes (Standard Webhooks 1.0.0).",
    ),
]
Description = Annotated[
    str, AfterValidator(_storable), Field(max_length=1_000, description="For people; shown in lists.")
]
MetadataKey = Annotated[str, AfterValidator(_storable), Field(min_length=1, max_length=64)]
MetadataValue = Annotated[str, AfterValidator(_storable), Field(max_length=500)]
HeaderName = Annotated[
    str, Field(min_length=1, max_length=MAX_HEADER_NAME_CHARS), AfterValidator(_header_name)
]
HeaderValue = Annotated[
    str, Field(min_length=1, max_length=MAX_HEADER_VALUE_CHARS), AfterValidator(_header_value)
]
Seconds = Annotated[float, Field(ge=0.1, le=_MAX_SECONDS, allow_inf_nan=False)]
