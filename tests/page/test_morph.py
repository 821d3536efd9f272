"""What is drawn over what is there: ticks are as drawn, and what somebody typed or opened stays. In Chromium."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.page_site import PageSite
from tests.support.tab import Tab

BOXES = "[...document.querySelectorAll('#live input')].map((one) => [one.checked, one.indeterminate, one.disabled])"


@pytest.fixture
def page(tab: Tab, site: PageSite) -> Tab:
    tab.go(site.page("#/nothing"))
    tab.run(
        "document.querySelector('main').append(Object.assign(document.createElement('div'), { id: 'live' }))"
    )
    return tab


def draw(page: Tab, *inputs: dict[str, Any], extra: str = "") -> None:
    """Draw inputs with these properties, and what `extra` makes."""
    page.run(
        "Promise.all(['morph', 'dom'].map((name) => import(`./page/${name}.js`))).then(([{ morph }, { element }]) => {"
        f" const drawn = {json.dumps(inputs)}.map(({{ type, name, ...properties }}) =>"
        "  Object.assign(element('input', { type, name }), properties));"
        f" morph(document.querySelector('#live'), element('div', {{}}, drawn, {extra or '[]'})); return true; }})"
    )


@pytest.mark.parametrize("kind", ["checkbox", "radio"])
def test_a_tick_is_as_drawn(page: Tab, kind: str) -> None:
    """Whatever somebody ticked before: else what is acted upon is not what is seen."""

    def drawn(ticks: str) -> str:
        draw(page, *({"type": kind, "name": "one", "checked": tick == "x"} for tick in ticks))
        return "".join("x" if checked else "." for checked, _, _ in page.run(BOXES))

    assert drawn("...") == "..."
    page.run("document.querySelector('#live input').click()")
    assert drawn(".x.") == ".x."
    assert drawn("x..") == "x.."
    assert drawn("...") == "..."
    # One more beside those that stay.
    assert drawn("..x.") == "..x."


def test_half_ticked_and_disabled_are_as_drawn(page: Tab) -> None:
    """And no longer, once they are drawn otherwise."""
    for half, off in ((True, False), (False, True), (False, False)):
        draw(page, {"type": "checkbox", "indeterminate": half, "disabled": off})
        assert page.run(BOXES) == [[False, half, off]]


def test_what_is_typed_or_opened_stays(page: Tab) -> None:
    """A text that is half typed, with its cursor, and a part that was opened, though both are drawn otherwise."""
    details = "element('details', { open: %s }, element('summary', {}, 'More'))"
    draw(page, {"type": "text", "defaultValue": "first"}, extra=details % "false")
    page.run("document.querySelector('#live input').focus()")
    page.type("half ")
    page.run("document.querySelector('#live input').setSelectionRange(2, 3)")
    page.run("document.querySelector('#live details').open = true")
    draw(page, {"type": "text", "defaultValue": "second", "value": "third"}, extra=details % "false")
    kept = "(({ value, selectionStart, selectionEnd }) => [value, selectionStart, selectionEnd])"
    text, *selected = page.run(f"{kept}(document.querySelector('#live input'))")
    assert "half " in text
    assert selected == [2, 3]
    assert page.run("document.querySelector('#live details').open")
    page.run("document.querySelector('#live details').open = false")
    draw(page, {"type": "text"}, extra=details % "true")
    assert not page.run("document.querySelector('#live details').open")
