"""Chance that repeats itself."""

from random import Random

__all__ = ["seeded"]


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - a test's dice; nothing secret depends on it
