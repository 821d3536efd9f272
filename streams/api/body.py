"""Reading a request's body: bounded in bytes and in time, and of the type that is asked for.

Place in the data's way: in the pipeline, after access was granted and before `validation`.
"""

import asyncio
from typing import Final

from aiohttp import web

from streams.api.problem import Problem, ProblemError

__all__ = ["JSON", "MAX_BODY_BYTES", "MERGE_PATCH", "check_media_type", "read_bytes"]

MAX_BODY_BYTES: Final = 64 * 1024
JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
_READ_WITHIN_S: Final = 10.0


async def read_bytes(request: web.Request) -> bytes:
    """Read the whole body.

    Raises:
        ProblemError: it is too large, too slow, or broken on its way.
    """
    if (request.content_length or 0) > MAX_BODY_BYTES:
        raise _too_large()
    body = bytearray()
    try:
        async with asyncio.timeout(_READ_WITHIN_S):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise _too_large()
    except TimeoutError:
        detail = f"Send the whole body within {_READ_WITHIN_S:g} s."
        raise ProblemError(Problem(kind="body-timeout", detail=detail)) from None
    except web.RequestPayloadError:
        raise ProblemError(
            Problem(kind="request-malformed", detail="The body broke off, or its chunks can't be read.")
        ) from None
    return bytes(body)


def check_media_type(request: web.Request, accepted: tuple[str, ...]) -> None:
    """Check what a body that is there says it is.

    Raises:
        ProblemError: it is of another type, of another charset than UTF-8, or encoded.
    """
    try:
        media_type, charset = request.content_type, request.charset
    except ValueError:
        media_type, charset = "", None
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if media_type in accepted and (charset or "utf-8").lower() == "utf-8" and encoding == "identity":
        return
    # RFC 9110, 15.5.16, and RFC 5789, 3.1: say what would be taken.
    name = "Accept-Patch" if request.method == "PATCH" else "Accept"
    raise ProblemError(
        Problem(
            kind="media-type-unsupported",
            detail=f"Send {' or '.join(accepted)} in UTF-8, without a Content-Encoding.",
            headers={name: ", ".join(accepted)},
        )
    )


def _too_large() -> ProblemError:
    return ProblemError(
        Problem(
            kind="body-too-large",
            detail=f"Send {MAX_BODY_BYTES} bytes at most.",
            headers={"Connection": "close"},
        )
    )
