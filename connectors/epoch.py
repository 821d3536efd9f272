"""Moments as whole milliseconds since 1970, and back, exactly.

Place in the data's way: none; records, ids and the log count in these. Pure.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = ["EPOCH", "epoch_ms", "from_epoch_ms", "to_the_ms"]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_MS: Final = timedelta(milliseconds=1)


def epoch_ms(moment: datetime) -> int:
    """The millisecond that an aware moment is in.

    >>> epoch_ms(datetime(1970, 1, 1, 0, 0, 1, 999, tzinfo=UTC))
    1000
    """
    return (moment - EPOCH) // _MS


def from_epoch_ms(at_ms: int) -> datetime:
    """The moment, exactly: a division would round it.

    >>> from_epoch_ms(1_000)
    datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)
    """
    return EPOCH + _MS * at_ms


def to_the_ms(moment: datetime) -> datetime:
    """The millisecond's begin that an aware moment is in, as the log has it.

    >>> to_the_ms(datetime(1970, 1, 1, 0, 0, 1, 999_999, tzinfo=UTC)).microsecond
    999000
    """
    return moment.replace(microsecond=moment.microsecond // 1_000 * 1_000)
