"""Every view, with real data behind it: what it shows, who can use it, and how it looks in the dark."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from tests.support.page_site import HOSTILE, PageSite, Story
from tests.support.tab import Tab

#: The name of a view, its address, and what must be seen on it. `{…}` are filled in from the story.
VIEWS = {
    "overview": ("#/overview", ["What waits", "Endpoints that need somebody", "{waiting_type}"]),
    "endpoints": ("#/endpoints", ["{late}", "{refusing}", "enabled"]),
    "endpoint": ("#/endpoints/{late}", ["Health", "Newest deliveries", "{late_type}.delivered"]),
    "deliveries": ("#/deliveries", ["{waiting_type}", "retrying", "ENDPOINT_REJECTED"]),
    "delivery": ("#/deliveries/{delivery}", ["Attempt 3", "HTTP 503", "HTTP 500", "HTTP 204"]),
    "dead letters": ("#/dead-letters", ["{refused_type}", "ENDPOINT_REJECTED"]),
    "unreadable": ("#/dead-letters?class=poison", ["unreadable record", "EVENT_MALFORMED"]),
    "dead letter": ("#/dead-letters/{letter}", ["ENDPOINT_REJECTED", "Redrive", "answered 422"]),
    "replays": ("#/replays", ["Replays"]),
    "nothing": ("#/nowhere", ["no such view"]),
}
AXE = (files("axe_core_python") / "axe.min.js").read_text()
OPTIONS = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]},
    "resultTypes": ["violations"],
}


@pytest.fixture(scope="module")
def names(site: PageSite, story: Story) -> dict[str, str]:
    """What the views' texts are filled in with."""
    return {
        "late": story.late.id,
        "late_type": story.late.event_type,
        "refusing": story.refusing.id,
        "refused_type": f"{story.refusing.event_type}.refused",
        "waiting_type": f"{story.down.event_type}.waiting",
        "delivery": site.delivery(story.delivered, status="succeeded"),
        "letter": site.dead_letter(story.refused),
    }


def opened(tab: Tab, site: PageSite, names: dict[str, str], view: str) -> None:
    route, texts = VIEWS[view]
    tab.go(site.page(route.format(**names)))
    for text in texts:
        tab.wait_for_text(text.format(**names))
    tab.wait_for("!document.querySelector('[aria-busy]')", what="every part to be there")


def axe(tab: Tab) -> list[str]:
    """What axe finds wrong: the rule, and where."""
    tab.run(f"{AXE}; true")
    found: dict[str, Any] = tab.run(
        f"axe.run(document, {json.dumps(OPTIONS)}).then(({{ violations }}) => ({{ violations }}))"
    )
    return [
        f"{one['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_there_and_usable(tab: Tab, site: PageSite, names: dict[str, str], view: str) -> None:
    """It shows what it is for; axe finds nothing, in the light and in the dark, where contrasts are computed, too."""
    opened(tab, site, names, view)
    assert tab.run("document.querySelectorAll('h1').length") == 1
    assert tab.run("document.title").endswith(" – outbox-streams")
    for scheme in ("light", "dark"):
        tab.prefer(color_scheme=scheme)
        assert axe(tab) == [], scheme


@pytest.mark.parametrize("view", ["overview", "deliveries", "delivery", "dead letters", "endpoint"])
def test_a_narrow_screen_scrolls_one_way(tab: Tab, site: PageSite, names: dict[str, str], view: str) -> None:
    """At 320 pixels (1280 at a zoom of 400 %), only tables are wider than the screen, and scroll by themselves."""
    tab.resize(320, 640)
    opened(tab, site, names, view)
    assert tab.run("document.documentElement.scrollWidth") <= 320
    assert axe(tab) == []


def test_light_and_dark_differ(tab: Tab, site: PageSite) -> None:
    """The page follows what the reader prefers."""
    tab.go(site.page("#/nothing"))
    seen = []
    for scheme in ("light", "dark"):
        tab.prefer(color_scheme=scheme)
        seen.append(tab.run("getComputedStyle(document.body).backgroundColor"))
    assert seen == ["rgb(247, 248, 249)", "rgb(16, 20, 24)"]


def test_bars_do_not_glide_for_who_prefers_that(tab: Tab, site: PageSite) -> None:
    """prefers-reduced-motion: no transition at all."""
    tab.prefer(reduced_motion="reduce")
    tab.go(site.page("#/overview"))
    tab.wait_for("!!document.querySelector('.fill')", what="the bars")
    assert tab.run("getComputedStyle(document.querySelector('.fill')).transitionDuration") == "0s"


def test_hostile_texts_stay_texts(tab: Tab, site: PageSite, story: Story, names: dict[str, str]) -> None:
    """What a receiver answered, and what an endpoint is described as, is shown as it is, and runs nowhere."""
    site.describe(story.late, HOSTILE)
    tab.go(site.page(f"#/deliveries/{names['delivery']}"))
    tab.wait_for_text("Attempt 3")
    tab.run("document.querySelector('details').open = true")
    assert HOSTILE in tab.text()
    for route in ("#/endpoints", f"#/endpoints/{story.late.id}"):
        tab.go(site.page(route))
        tab.wait_for_text(HOSTILE)
    made = "[window.hacked ?? null, document.querySelectorAll('main img, main script').length]"
    assert tab.run(made) == [None, 0]


def test_every_time_is_given_to_programs_as_well(tab: Tab, site: PageSite, names: dict[str, str]) -> None:
    """`<time datetime>` holds the moment as the API said it."""
    opened(tab, site, names, "delivery")
    given = tab.run("[...document.querySelectorAll('time')].map((one) => one.dateTime)")
    assert len(given) >= 4
    assert all(moment.endswith("Z") and moment.startswith("20") for moment in given)
