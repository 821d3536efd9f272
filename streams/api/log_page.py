"""Reading a page of what the recorder wrote: what can be asked wrongly, and what takes too long, said as problems.

Place in the data's way: around a list of deliveries or of dead letters.
"""

from collections.abc import Generator
from contextlib import contextmanager

from connectors.postgres.errors import CursorInvalidError, StatementTimeoutError
from streams.api.cursor import cursor_invalid
from streams.api.problem import Problem, ProblemError

__all__ = ["reading_a_page"]


@contextmanager
def reading_a_page(what: str, *, helps: str) -> Generator[None]:
    """Read within the block.

    Args:
        what: is read.
        helps: which parameters narrow it down, beside the times.

    Raises:
        ProblemError: the cursor is none, or there was not enough time.
    """
    try:
        yield
    except CursorInvalidError:
        raise cursor_invalid() from None
    except StatementTimeoutError:
        detail = (
            f"{what} could not be read like this in the time there is. Narrow the time range with `since` and "
            f"`until`; {helps} helps, too."
        )
        raise ProblemError(Problem(kind="unavailable", detail=detail, headers={"Retry-After": "5"})) from None
