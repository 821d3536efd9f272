"""Access: bearer tokens with a scope, and what is allowed where there are none.

Place in the data's way: asked by the pipeline before an operation runs. Tokens are random and long; the process knows
their SHA-256 hashes only, from its settings, so that neither its environment nor a dump of it lets anybody in.
All hashes are compared, each in constant time. Without tokens the API listens on loopback only (`process`), and then
takes requests that name loopback as their host and come from no other site: a web page that somebody looks at on this
machine can reach 127.0.0.1, too.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Final, Literal, Self

from streams.api.problem import Problem, ProblemError
from streams.settings.values import is_loopback

__all__ = ["NOBODY", "Access", "Scope", "Token", "new_token", "require"]

Scope = Literal["read", "write"]

_PREFIX: Final = "obx_"
_TOKEN_BYTES: Final = 32
_MAX_TOKEN_CHARS: Final = 200
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9.-]{1,253})(?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Token:
    """A configured token: the name that the audit table knows it by, its scope, and its hash. Write includes read."""

    name: str
    scope: Scope
    digest: bytes


NOBODY: Final = Token("loopback", "write", b"")
"""Who uses an API on loopback that has no tokens."""


def new_token(name: str, scope: Scope) -> tuple[str, str]:
    """Make a token: its text, to be given to who uses it, and its entry for the setting.

    >>> text, entry = new_token("deploy", "read")
    >>> Access.parse(entry).token(f"Bearer {text}").name
    'deploy'
    """
    text = _PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)
    return text, f"{name}:{scope}:{_digest(text).hex()}"


class Access:
    """Who may use the API.

    Args:
        tokens: those that are configured.
    """

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self._tokens = tokens

    @classmethod
    def parse(cls, setting: str) -> Self:
        """Read `name:scope:hash,…`, as `streams.settings` has checked it."""
        entries = [entry.split(":") for entry in setting.split(",") if entry]
        return cls(
            tuple(
                Token(name, "write" if scope == "write" else "read", bytes.fromhex(digest))
                for name, scope, digest in entries
            )
        )

    @property
    def is_open(self) -> bool:
        """Whether no token is configured."""
        return not self._tokens

    def token(self, authorization: str | None) -> Token:
        """The token that a request carries.

        Raises:
            ProblemError: none, or an unknown one.
        """
        if self.is_open:
            return NOBODY
        scheme, _, text = (authorization or "").partition(" ")
        text = text.strip()
        if scheme.lower() != "bearer" or not text:
            raise _unauthenticated("Send the header `Authorization: Bearer <token>`.", error="")
        digest = _digest(text[:_MAX_TOKEN_CHARS])
        found = None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token
        if found is None:
            raise _unauthenticated(
                "The token is not one of this API's (OUTBOX_API_TOKENS).", error=', error="invalid_token"'
            )
        return found

    def check_origin(self, *, host: str | None, origin: str | None) -> None:
        """Without tokens: refuse what a web page elsewhere, or a name that was bound to loopback, may have sent.

        Raises:
            ProblemError: it is such a request.
        """
        if not self.is_open:
            return
        named = _HOST.fullmatch(host or "")
        if named is None or not is_loopback(named[1]):
            raise _forbidden(
                "Without tokens, this API takes requests for localhost only: use http://127.0.0.1, or configure tokens."
            )
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            raise _forbidden("Without tokens, this API takes no requests from pages of other sites.")


def require(token: Token, scope: Scope) -> None:
    """Check that a token's scope is enough.

    Raises:
        ProblemError: it isn't.
    """
    if scope == "write" and token.scope != "write":
        problem = Problem(
            kind="forbidden",
            detail=f"The token {token.name} has the scope read; this needs write.",
            headers={"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="write"'},
        )
        raise ProblemError(problem)


def _digest(text: str) -> bytes:
    # Fast on purpose: the text has 256 random bits, and nobody guesses those, however fast.
    return hashlib.sha256(text.encode(errors="replace")).digest()


def _unauthenticated(detail: str, *, error: str) -> ProblemError:
    challenge = f'Bearer realm="outbox"{error}'
    return ProblemError(
        Problem(kind="unauthenticated", detail=detail, headers={"WWW-Authenticate": challenge})
    )


def _forbidden(detail: str) -> ProblemError:
    return ProblemError(Problem(kind="forbidden", detail=detail))
