"""`outbox token`: makes a bearer token for the API."""

from typing import Annotated, Literal

import orjson
import typer

from streams.api.access import new_token
from streams.settings.values import api_tokens

__all__ = ["token"]


def token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who will use it, for the audit table.")],
    *,
    scope: Annotated[Literal["read", "write"], typer.Option(help="What it may do; write includes read.")],
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Make a token, shown this once, and its entry for OUTBOX_API_TOKENS, which holds its hash. Stores nothing."""
    text, entry = new_token(name, scope)
    try:
        taken = api_tokens(entry)
    except ValueError:
        taken = ""
    if (
        taken != entry or "," in name
    ):  # the setting forgives spaces around an entry, which are no part of a name
        raise typer.BadParameter("a name is 1 to 64 letters, digits, ., _ and -", param_hint="NAME")
    if as_json:
        typer.echo(orjson.dumps({"token": text, "entry": entry}))
        return
    typer.echo(f"token  {text}\nentry  {entry}")
    typer.echo(
        "The token is shown this once: hand it to who will use it. Add the entry to OUTBOX_API_TOKENS, after a comma.",
        err=True,
    )
