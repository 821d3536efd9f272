"""What can go wrong in a benchmark.

    BenchmarkError      it can't go on, or what it measured would mean nothing; says what to look at

Slow results are results, not errors.
"""

__all__ = ["BenchmarkError"]


class BenchmarkError(Exception):
    """The benchmark can't go on."""
