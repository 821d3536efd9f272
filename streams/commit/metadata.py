"""The offsets settled beyond a commit, as text for Kafka's commit metadata.

A hanging attempt holds the contiguous offset back; a crash would repeat everything settled behind it. So a
commit carries, in its metadata, which offsets beyond it are settled, and whoever gets the partition next
skips them (INV-8).

A reset of the offsets (docs/adr/0021) leaves its mark here, and every commit after it carries that on: by it a worker
that was cut off sees that what it remembers is wanted once more.

Form: `1:` and base64 of varints, alternating run lengths from the committed offset on: unsettled, settled, unsettled, …
The broker takes at most 4,096 bytes (`offset.metadata.max.bytes`). What does not fit is left out from the far end: left
out means unsettled, which repeats a delivery and never loses one. Then, after a reset, `@` and its mark. Anything
unreadable reads as "nothing known".
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Sequence
from itertools import pairwise

__all__ = ["MARK_MAX_CHARACTERS", "METADATA_MAX_BYTES", "Run", "decode", "encode", "reset_mark"]

METADATA_MAX_BYTES = 4096
MARK_MAX_CHARACTERS = 36
_PREFIX = "1:"
_MARK = "@"
_A_MARK = re.compile(rf"[0-9A-Za-z-]{{1,{MARK_MAX_CHARACTERS}}}")
_MAX_RAW_BYTES = (METADATA_MAX_BYTES - len(_PREFIX) - len(_MARK) - MARK_MAX_CHARACTERS) // 4 * 3
_VARINT_MAX_BYTES = 9

#: A settled run of offsets: first, and one past the last.
Run = tuple[int, int]


def encode(base: int, settled: Iterable[Run], *, mark: str = "") -> str:
    """The metadata for a commit at `base`, for settled runs that ascend beyond it and don't touch.

    >>> decode(10, encode(10, [(12, 15), (20, 21)]))
    [(12, 15), (20, 21)]
    >>> encode(10, [], mark="5")
    '@5'
    """
    raw = bytearray()
    position = base
    for first, end in settled:
        step = _varint(first - position) + _varint(end - first)
        if len(raw) + len(step) > _MAX_RAW_BYTES:
            break
        raw += step
        position = end
    runs = _PREFIX + b64encode(bytes(raw)).decode("ascii") if raw else ""
    return f"{runs}{_MARK}{mark}" if mark else runs


def decode(base: int, metadata: str) -> list[Run]:
    """The settled runs beyond `base`; empty for metadata that is not ours or not whole.

    >>> decode(10, "written by somebody else")
    []
    """
    if not metadata.startswith(_PREFIX) or len(metadata) > METADATA_MAX_BYTES:
        return []
    runs = metadata[len(_PREFIX) :].partition(_MARK)[0]
    try:
        lengths = _read_varints(b64decode(runs, validate=True))
    except (Base64Error, ValueError):
        return []
    if len(lengths) % 2 or 0 in lengths:
        return []
    return _runs(base, lengths)


def reset_mark(metadata: str) -> str:
    """The mark of the last reset; empty where there was none, or something stands there that is none.

    >>> reset_mark(encode(10, [(12, 15)], mark="5"))
    '5'
    """
    mark = metadata.partition(_MARK)[2]
    # It is written on: what doesn't fit, or is no ASCII, would make every later commit fail.
    return mark if _A_MARK.fullmatch(mark) else ""


def _runs(base: int, lengths: Sequence[int]) -> list[Run]:
    edges = [base]
    for length in lengths:
        edges.append(edges[-1] + length)
    return list(pairwise(edges))[1::2]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits a byte
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varints(raw: bytes) -> list[int]:
    numbers: list[int] = []
    number = shift = 0
    for byte in raw:
        number |= (byte & 0x7F) << shift
        shift += 7
        if shift > 7 * _VARINT_MAX_BYTES:
            raise ValueError("a varint longer than any offset")
        if byte < 0x80:  # noqa: PLR2004 - the top bit says that more follows
            numbers.append(number)
            number = shift = 0
    if shift:
        raise ValueError("a varint without its end")
    return numbers
