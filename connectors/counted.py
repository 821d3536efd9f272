"""Numbers of things, as people write them.

Place in the data's way: none; it serves the texts of commands. Pure.
"""

__all__ = ["counted"]


def counted(count: int, noun: str) -> str:
    """Write a count and its noun, which takes an `s` for all counts but one.

    >>> counted(1, "error"), counted(0, "error"), counted(2, "error")
    ('1 error', '0 errors', '2 errors')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
