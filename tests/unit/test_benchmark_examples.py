"""The examples in the benchmarks' docstrings, run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import benchmarks

MODULES = [
    module.name
    for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    """A docstring's example that has become false fails like any other test."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0
