"""Where a reset is to go, as the options say it: exactly one kind of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import typer

from streams.cli.shown import moment
from streams.reset.plan import Aim, ShiftBy, ToEarliest, ToOffsets, ToTime

__all__ = ["aim_of"]

_KINDS: Final = "--to-time, --to-offset, --to-earliest or --shift-by"
#: Kafka's own bounds: a partition has 31 bits, an offset 63.
_PLACE: Final = re.compile(r"([0-9]{1,9}):([0-9]{1,18})", re.ASCII)


def aim_of(*, to_time: str | None, to_offset: Sequence[str], to_earliest: bool, shift_by: int | None) -> Aim:
    """Read the options.

    Raises:
        typer.BadParameter: none is given, or more than one kind; or a value can't be read, which is named.
    """
    given = [to_time is not None, bool(to_offset), to_earliest, shift_by is not None]
    if sum(given) != 1:
        said = "say where to" if not any(given) else "these exclude each other"
        raise typer.BadParameter(f"{said}: one kind of {_KINDS}", param_hint="options")
    if to_time is not None:
        return ToTime(moment(to_time, option="--to-time"))
    if to_offset:
        return ToOffsets(_offsets(to_offset))
    if shift_by is None:
        return ToEarliest()
    if shift_by == 0:
        raise typer.BadParameter("0 shifts nothing", param_hint="--shift-by")
    return ShiftBy(shift_by)


def _offsets(texts: Sequence[str]) -> dict[int, int]:
    offsets: dict[int, int] = {}
    for text in texts:
        match = _PLACE.fullmatch(text.strip())
        if match is None:
            raise typer.BadParameter(
                f"{text!r} is no partition and offset, such as 3:1200", param_hint="--to-offset"
            )
        number = int(match[1])
        if number in offsets:
            raise typer.BadParameter(f"partition {number} is named twice", param_hint="--to-offset")
        offsets[number] = int(match[2])
    return offsets
