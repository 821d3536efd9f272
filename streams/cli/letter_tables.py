"""Dead letters, shown to people. Never a payload: Postgres has none."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from rich.console import Console

from connectors.counted import counted
from connectors.postgres.dead_letter import DeadLetter, DeadLetterPage
from connectors.postgres.dead_letters import FirstError, LetterGroup
from streams.cli.shown import a_table, lines, print_fields, print_page, printable, why

__all__ = [
    "first_error_fields",
    "group_fields",
    "letter_fields",
    "print_groups",
    "print_letter",
    "print_letters",
]

_NOBODY: Final = "(no target)"


def letter_fields(letter: DeadLetter) -> dict[str, object]:
    """A letter's fields under the names that the API has for them."""
    return _by_the_apis_names(asdict(letter))


def group_fields(group: LetterGroup) -> dict[str, object]:
    """A group's fields, likewise."""
    return _by_the_apis_names(asdict(group))


def first_error_fields(first: FirstError | None) -> dict[str, object]:
    """What the log has of a letter's first error, likewise."""
    return {
        "delivery_id": None if first is None else first.delivery_id,
        "first_error": None if first is None else first.error,
        "first_error_at": None if first is None else first.failed_at,
    }


def _by_the_apis_names(fields: dict[str, object]) -> dict[str, object]:
    return {"class" if name == "letter_class" else name: value for name, value in fields.items()}


def print_letters(page: DeadLetterPage) -> None:
    """Print a page."""
    table = a_table("dead letter", "died\n(UTC)", "why")
    for letter in page.letters:
        table.add_row(
            f"{letter.id}\n{printable(letter.event_type or '(no type)')} → {printable(letter.target or _NOBODY)}",
            f"{letter.died_at:%Y-%m-%d\n%H:%M:%S}",
            lines(
                f"{letter.status}, {letter.letter_class}, {counted(letter.attempts, 'attempt')}",
                why(letter.code, letter.error),
            ),
        )
    print_page(table, next_cursor=page.next_cursor)


def print_letter(letter: DeadLetter, first: FirstError | None) -> None:
    """Print one with its provenance: where it is from, its first error and its last."""
    fields = letter_fields(letter)
    last = fields.pop("error")
    print_fields(
        {
            **fields,
            **first_error_fields(first),
            "last_error": last,
        }
    )


def print_groups(groups: Sequence[LetterGroup]) -> None:
    """Print how many there are of each class, code and target."""
    table = a_table("number", "class", "code", "target")
    for group in groups:
        table.add_row(
            f"{group.number:,}", group.letter_class, printable(group.code), printable(group.target or _NOBODY)
        )
    Console(markup=False, stderr=True).print(table)
