"""The documentation's examples that need no service."""

from __future__ import annotations

from typing import Any

import pytest

from outbox import Handlers
from tests.support.doc_examples import examples

PAGES = examples("python pure")


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader who copies an example gets what the page says."""
    monkeypatch.setattr("outbox.handlers", Handlers())  # what an example registers is the example's own
    namespace: dict[str, Any] = {"__name__": "an_example"}
    for example in PAGES[page]:
        exec(compile(example.code, example.page, "exec"), namespace)  # noqa: S102 - our own pages


def test_the_pages_with_examples_are_found() -> None:
    """A change of the convention doesn't leave every page untested without a word."""
    assert "docs/reference/library.md" in PAGES
