"""From which place on a topic's records are not settled yet. Pure."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["unsettled_from"]


def unsettled_from(
    *, begins: Mapping[int, int], ends: Mapping[int, int], committed: Mapping[int, int]
) -> Mapping[int, int]:
    """Per partition the first offset that the topic's group has not committed.

    A group that has committed nothing will read from the begin; so will one whose commit is beyond the log's end, or
    before its begin.

    >>> unsettled_from(
    ...     begins={0: 2, 1: 2, 2: 2, 3: 2}, ends=dict.fromkeys(range(4), 9), committed={0: 5, 1: 1, 2: 12}
    ... )
    {0: 5, 1: 2, 2: 2, 3: 2}
    """
    return {
        number: offset if begins[number] <= (offset := committed.get(number, -1)) <= end else begins[number]
        for number, end in ends.items()
    }
