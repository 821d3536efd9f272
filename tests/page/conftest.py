"""The page on the real stack, in a real Chromium: one worker, scheduler, recorder and API for all of these tests.

Where there is no Chromium they are skipped, and say so; in CI that is a failure, since `.ci/run` installs it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.chromium import Chromium, ChromiumMissing, chromium_program
from tests.support.installation import Installation
from tests.support.page_site import PageSite, Story
from tests.support.pipeline import Pipeline
from tests.support.tab import Tab, a_tab

__all__ = ["browser", "site", "story", "tab", "troubled_tab"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    """The one browser. Tabs see nothing of each other."""
    try:
        program = chromium_program()
    except ChromiumMissing as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))
    with Chromium(program) as started:
        yield started


@pytest.fixture
def tab(browser: Chromium) -> Iterator[Tab]:
    """A tab, in which nothing may go wrong: no error in the console, and nothing that the policy forbids."""
    with a_tab(browser) as opened:
        opened.resize(1280)
        yield opened
        assert opened.errors == []


@pytest.fixture
def troubled_tab(browser: Chromium) -> Iterator[Tab]:
    """A tab whose requests are refused on purpose, which Chromium writes to the console. All else is an error."""
    with a_tab(browser) as opened:
        opened.resize(1280)
        yield opened
        assert [error for error in opened.errors if not error.startswith("Failed to load resource")] == []


@pytest.fixture(scope="package")
def site(browser: Chromium, installation: Installation) -> Iterator[PageSite]:  # noqa: ARG001 - or none of it is of use
    """The processes, and where the page is."""
    with Pipeline(installation, name="page") as pipeline:
        yield PageSite.start(pipeline)


@pytest.fixture(scope="package")
def story(site: PageSite) -> Story:
    """Endpoints that answer well, late and never, and what became of an event for each."""
    return site.tell()
