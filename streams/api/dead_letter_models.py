"""What the API takes for dead letters: which of them are listed, and which are redriven or discarded."""

from typing import Annotated, Final

from pydantic import Field

from connectors.postgres.dead_letter import LetterClass, LetterStatus
from streams.api.models import PageQuery, Request
from streams.api.texts import DeadLetterId, ErrorCodeText, EventId, EventTypeText, Moment, TargetText

__all__ = ["MOST_LETTERS", "DeadLettersQuery", "Discarding", "Redriving"]

MOST_LETTERS: Final = 500
"""How many may be named at once."""

LetterIds = Annotated[
    list[DeadLetterId],
    Field(
        min_length=1,
        max_length=MOST_LETTERS,
        description="Which dead letters. Those that are not open any more are left as they are.",
    ),
]


class DeadLettersQuery(PageQuery):
    """Which dead letters, and which page of them: all that is given must hold."""

    code: tuple[ErrorCodeText, ...] = Field(
        default=(), description="Any of these: repeat the parameter, or separate them by commas."
    )
    letter_class: LetterClass | None = Field(
        default=None,
        alias="class",
        description="`poison`: it can't be read, or can't be put into a request. `undelivered`: a target's matter.",
    )
    target: TargetText | None = None
    event_type: EventTypeText | None = None
    event_id: EventId | None = None
    since: Moment | None = Field(default=None, description="Those that died then or later.")
    until: Moment | None = Field(default=None, description="Those that died before then.")
    status: tuple[LetterStatus, ...] = Field(
        default=(), description="Any of these: repeat the parameter, or separate them by commas."
    )


class Discarding(Request):
    """Which dead letters are put aside."""

    ids: LetterIds


class Redriving(Request):
    """Which dead letters are sent again."""

    ids: LetterIds
    include_poison: bool = Field(
        default=False,
        description="Whether those of the class poison are, too. A worker that can't read them buries them again; one "
        "that was upgraded meanwhile may read them. Without it, a request that names one is refused (409).",
    )
