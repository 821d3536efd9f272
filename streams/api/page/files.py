"""The page's files, as they are answered: read once at the start, with their types, tags and policy.

Place in the data's way: between the server and a browser. Needs no token: the files hold nothing but the page itself,
and the data that it shows is asked for with one. Invariants: only what was found at the start is served, by its exact
name, so no path leads anywhere else; a browser runs no script and applies no style that is not among these files.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from typing import Final

from aiohttp import ETag, web

__all__ = ["POLICY", "PageFile", "page_files", "page_response"]

# Trusted types: nothing makes markup of a text, not even by mistake.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""What a browser may do with the page."""

_TYPES: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_HEADERS: Final = {
    # Kept by the browser, and asked for each time: a new version is seen at once, an old one costs a 304.
    "Cache-Control": "no-cache",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFile:
    """One file: the path it is served at, its media type, and its bytes."""

    path: str
    media_type: str
    content: bytes

    @property
    def tag(self) -> str:
        """Its entity tag: other bytes, another tag."""
        return sha256(self.content).hexdigest()[:32]


def page_files() -> tuple[PageFile, ...]:
    """Read the page's files.

    >>> [file.path for file in page_files() if file.media_type == "text/html"]
    ['/']
    """
    return tuple(_found(files("streams.api.page"), PurePosixPath("/page")))


def page_response(request: web.Request, file: PageFile, *, tag: str) -> web.Response:
    """Answer with a file, or with 304 where the browser has it."""
    known = request.if_none_match or ()
    if any(one.value in {tag, "*"} for one in known):
        response = web.Response(status=304, headers=_HEADERS)
    else:
        response = web.Response(
            body=file.content, content_type=file.media_type, charset="utf-8", headers=_HEADERS
        )
    response.etag = ETag(value=tag)
    return response


def _found(folder: Traversable, at: PurePosixPath) -> Iterator[PageFile]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _found(entry, at / entry.name)
        elif (media_type := _TYPES.get(PurePosixPath(entry.name).suffix)) is not None:
            path = "/" if entry.name == "index.html" else str(at / entry.name)
            yield PageFile(path=path, media_type=media_type, content=entry.read_bytes())
