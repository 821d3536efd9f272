"""Chance that repeats itself."""

from random import Random

__all__ = ["seeded"]


def seeded(seed: int) -> Random:
    return Random(seed)
