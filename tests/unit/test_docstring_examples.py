"""The examples in docstrings: each says what the code gives, and is run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import connectors
import demo
import devstack
import outbox
import streams

MODULES = [
    module.name
    for package in (outbox, connectors, streams, devstack, demo)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")  # importing it runs the command
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    """A docstring's example that has become false fails like any other test."""
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0
