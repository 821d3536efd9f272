"""Valid inputs, mutated: bits flipped, ranges cut, doubled, moved, and what parsers stumble over put in.

Drawn from hypothesis piece by piece, so that a failing input is shrunk to the mutation that matters.
"""

from collections.abc import Sequence

from hypothesis import strategies as st

__all__ = ["BYTES", "TEXTS", "any_text", "mutated", "mutated_text", "pieces_of"]

#: What some parser somewhere took for something else: digits that are none, numbers without end, half characters.
TEXTS: tuple[str, ...] = (
    "\0",
    "\r\n",
    "\n",
    "\t",
    " ",
    "\x1b[2J",
    "\x7f",
    "\x85",
    "\xa0",
    "\ud800",
    "\udcff",
    "\u2028",
    "\u200d",
    "\u202e",
    "\ufeff",
    "\uff0e",
    "\uff0f",
    "\u3002",
    "\u0661",
    "\u00b2",
    "\uff11",
    "\u0130",
    "\u00df",
    "\U0001f701",
    "0",
    "-1",
    "+1",
    "1_0",
    "0x10",
    "1e999",
    "nan",
    "Infinity",
    str(2**31),
    str(2**63 - 1),
    str(2**63),
    str(2**64),
    "9" * 18,
    "9" * 19,
    "9" * 5_000,
    "%",
    "%00",
    "%2e",
    "%zz",
    "..",
    "//",
    "\\",
    "@",
    "[",
    "]",
    ":",
    ";",
    ",",
    "=",
    "#",
    "?",
    "*",
    "'",
    '"',
    "{}",
    "null",
    "[" * 1_500,
    '{"a":' * 1_500,
    "a" * 3_000,
    "a." * 300,
)
BYTES: tuple[bytes, ...] = (
    *(text.encode("utf-8", "surrogatepass") for text in TEXTS),
    b"\xff",
    b"\xc0\x80",
    b"\xf4\x90\x80\x80",
    b"\x80",
    b"\xe2\x82",
    bytes(64),
)

#: Any characters, lone surrogates among them.
any_text = st.text(st.characters(), max_size=60)


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[bytes], tokens: Sequence[bytes] = BYTES) -> bytes:
    """One of the seeds after up to three mutations."""
    raw = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 3))):
        at, end = _range(draw, len(raw))
        match draw(st.integers(0, 6)):
            case 0 if raw:
                at = min(at, len(raw) - 1)
                raw = raw[:at] + bytes([raw[at] ^ 1 << draw(st.integers(0, 7))]) + raw[at + 1 :]
            case 1:
                raw = raw[:at] + raw[end:]
            case 2:
                raw = raw[:end] + raw[at:end] * draw(st.sampled_from([1, 2, 70])) + raw[end:]
            case 3:
                raw = raw[:at] + draw(st.sampled_from(tokens)) + raw[at:]
            case 4:
                raw = raw[:at] + draw(st.sampled_from(tokens)) + raw[end:]
            case 5:
                raw = raw[:at] + draw(st.binary(max_size=4)) + raw[end:]
            case _:
                other = draw(st.sampled_from(seeds))
                raw = raw[:at] + other[_range(draw, len(other))[0] :]
    return raw


@st.composite
def mutated_text(draw: st.DrawFn, seeds: Sequence[str], tokens: Sequence[str] = TEXTS) -> str:
    """One of the seeds after up to three mutations; it may hold characters that UTF-8 can't write."""
    text = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 3))):
        at, end = _range(draw, len(text))
        match draw(st.integers(0, 5)):
            case 0:
                text = text[:at] + text[at:end].swapcase() + text[end:]
            case 1:
                text = text[:at] + text[end:]
            case 2:
                text = text[:end] + text[at:end] * draw(st.sampled_from([1, 2, 70])) + text[end:]
            case 3:
                text = text[:at] + draw(st.sampled_from(tokens)) + text[at:]
            case 4:
                text = text[:at] + draw(st.sampled_from(tokens) | any_text) + text[end:]
            case _:
                other = draw(st.sampled_from(seeds))
                text = text[:at] + other[_range(draw, len(other))[0] :]
    return text


def pieces_of(raw: bytes, sizes: Sequence[int]) -> list[bytes]:
    """The bytes in pieces of these sizes, over and over: as a network may cut them."""
    pieces, at, turn = [], 0, 0
    while at < len(raw):
        pieces.append(raw[at : at + sizes[turn % len(sizes)]])
        at += len(pieces[-1])
        turn += 1
    return pieces


def _range(draw: st.DrawFn, length: int) -> tuple[int, int]:
    at = draw(st.integers(0, length))
    return at, min(length, at + draw(st.integers(0, 8)))
