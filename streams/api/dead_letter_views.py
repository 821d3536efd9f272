"""What the API answers of dead letters. Invariant: no payload is in a view; an error may quote a receiver's words."""

from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from pydantic import ConfigDict, Field

from connectors.postgres.dead_letter import DeadLetter, DeadLetterPage, LetterClass, LetterStatus
from connectors.postgres.dead_letters import FirstError
from streams.api.views import NextCursor, View

__all__ = [
    "DeadLetterDetail",
    "DeadLetterView",
    "DeadLettersPage",
    "Discarded",
    "dead_letter_detail",
    "dead_letters_page",
]


class DeadLetterView(View):
    """A record on `outbox.dead-letter`, as it says of itself, and what became of it."""

    # `class` is no name for a field in Python; it is one in JSON.
    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    id: UUID
    event_id: UUID | None = Field(description="Null where the record doesn't say, as elsewhere here.")
    event_type: str | None
    target: str | None = Field(
        description="`endpoint:<id>` or `handler:<name>`; null for a whole record: one that can't be read, or that no "
        "target wanted."
    )
    code: str = Field(description="Why it died.")
    letter_class: LetterClass = Field(
        alias="class",
        description="`poison`: it can't be read, or can't be put into a request. `undelivered`: a target's matter.",
    )
    error: str | None = Field(description="The last error.")
    attempts: int = Field(description="Made before it died.")
    origin: str | None = Field(description="Where the event was first read on Kafka: topic/partition/offset.")
    place: str = Field(description="Where it stands on `outbox.dead-letter`: partition/offset.")
    created_at: datetime | None = Field(description="When the event was committed.")
    first_failed_at: datetime | None = Field(description="Its first failure or deferral.")
    died_at: datetime
    died_in_replay_id: str | None = Field(description="Which replay of the delivery died; null before any.")
    status: LetterStatus
    changed_at: datetime | None = Field(description="When it was redriven or discarded.")
    changed_by: str | None = Field(description="By whom.")
    replay_id: str | None = Field(description="The replay that redrove it.")


class DeadLetterDetail(DeadLetterView):
    """A dead letter with what the delivery log knows of it."""

    delivery_id: UUID | None = Field(description="Of its delivery in the log; null where that has none.")
    first_error: str | None = Field(description="What its first failed attempt failed with.")
    first_error_at: datetime | None


class DeadLettersPage(View):
    """Dead letters, newest first."""

    items: list[DeadLetterView]
    next_cursor: NextCursor


class Discarded(View):
    """What a discard did."""

    discarded: int = Field(description="How many were open, and are discarded now.")


def dead_letters_page(page: DeadLetterPage) -> DeadLettersPage:
    """Show a page."""
    items = [DeadLetterView(**asdict(letter)) for letter in page.letters]
    return DeadLettersPage(items=items, next_cursor=page.next_cursor)


def dead_letter_detail(letter: DeadLetter, first: FirstError | None) -> DeadLetterDetail:
    """Show a dead letter and its first error."""
    return DeadLetterDetail(
        **asdict(letter),
        delivery_id=None if first is None else first.delivery_id,
        first_error=None if first is None else first.error,
        first_error_at=None if first is None else first.failed_at,
    )
