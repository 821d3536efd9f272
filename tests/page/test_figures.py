"""What the page computes: numbers, times, names and places on an axis. In Chromium, where it runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.page_site import PageSite
from tests.support.tab import Tab

NOW_MS = 1_772_366_400_000  # 2026-03-01T12:00:00Z
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


@pytest.fixture
def page(tab: Tab, site: PageSite) -> Tab:
    tab.command("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
    tab.go(site.page("#/nothing"))
    return tab


def test_numbers_times_and_names_read_well(page: Tab) -> None:
    """Lengths have two units at most, times are local, and a URL's query, which may hold a token, is not shown."""
    expected: list[tuple[str, list[Any], Any]] = [
        ("duration", [0.4], "under 1 ms"),
        ("duration", [820.4], "820 ms"),
        ("duration", [2_100], "2.1 s"),
        ("duration", [3_000], "3 s"),
        ("duration", [59_400], "59 s"),
        ("duration", [59_600], "1 min"),
        ("duration", [185 * SECOND], "3 min 5 s"),
        ("duration", [125 * MINUTE], "2 h 5 min"),
        ("duration", [DAY - 1], "1 d"),
        ("duration", [3 * DAY + 4 * HOUR], "3 d 4 h"),
        ("relative", ["2026-03-01T12:00:00.400Z", NOW_MS], "now"),
        ("relative", ["2026-03-01T12:00:12Z", NOW_MS], "in 12 s"),
        ("relative", ["2026-03-01T11:57:00Z", NOW_MS], "3 min ago"),
        ("relative", ["2026-02-27T12:00:00Z", NOW_MS], "2 d ago"),
        ("local", ["2026-03-01T20:00:05Z"], "2026-03-02 01:30:05"),
        ("localField", ["2026-03-01T20:00:05Z"], "2026-03-02T01:30:05"),
        ("fromLocalField", ["2026-03-02T01:30:05"], "2026-03-01T20:00:05.000Z"),
        ("localField", [""], ""),
        ("fromLocalField", [""], ""),
        ("count", [1_234_567], "1,234,567"),
        ("counted", [1, "delivery", "deliveries"], "1 delivery"),
        ("counted", [1_000, "delivery", "deliveries"], "1,000 deliveries"),
        ("target", ["endpoint:ep_1"], {"kind": "endpoint", "name": "ep_1"}),
        ("target", ["handler:a:b"], {"kind": "handler", "name": "a:b"}),
        ("place", ["https://receiver.example/in?token=secret"], "receiver.example/in"),
        ("place", ["http://receiver.example:8080/"], "http://receiver.example:8080"),
        ("place", ["nonsense"], "nonsense"),
        ("tier", [1], "1s"),
        ("tier", [90], "90s"),
        ("tier", [900], "15m"),
        ("tier", [7200], "2h"),
    ]
    got = [(name, arguments, page.call("format.js", name, *arguments)) for name, arguments, _ in expected]
    assert got == expected


@pytest.mark.parametrize(
    ("view", "rest"),
    [
        ("deliveries", {"query": {"status": "failed", "event_type": "a&b=c #?/%", "since": ""}}),
        ("endpoints", {"id": "ep_ä/?#%"}),
        ("overview", {}),
    ],
)
def test_an_address_is_read_as_it_is_written(page: Tab, view: str, rest: dict[str, Any]) -> None:
    """Ids and filters survive, whatever stands in them; what is empty is left out."""
    script = (
        "import('./page/router.js').then(({ parse, address }) => {"
        f" const read = parse(address({json.dumps(view)}, {json.dumps(rest)}));"
        " return [read.view, read.id, Object.fromEntries(read.query)]; })"
    )
    wanted = {name: value for name, value in rest.get("query", {}).items() if value}
    assert page.run(script) == [view, rest.get("id", ""), wanted]


def test_no_address_is_the_overview(page: Tab) -> None:
    """What somebody opens first."""
    assert page.run("import('./page/router.js').then(({ parse }) => parse('').view)") == "overview"


def test_failures_are_asked_again_ever_more_seldom(page: Tab) -> None:
    """The wait doubles, up to half a minute."""
    waits = [page.call("polling.js", "wait", 2_000, failures) for failures in (0, 1, 2, 3, 10)]
    assert waits == [2_000, 4_000, 8_000, 16_000, 30_000]


@pytest.mark.parametrize(
    ("span_ms", "scale", "marks"),
    [
        (4_200, "even", ["+1 s", "+2 s", "+3 s", "+4 s"]),
        (60_000, "even", ["+10 s", "+20 s", "+30 s", "+40 s", "+50 s"]),
        (2 * HOUR, "logarithmic", ["+10 s", "+1 min", "+10 min", "+1 h"]),
    ],
)
def test_an_axis_has_a_few_marks_and_keeps_the_order(
    page: Tab, span_ms: int, scale: str, marks: list[str]
) -> None:
    """From its begin to its end; later is further right; beyond a minute, doubling waits stay apart."""
    moments = sorted({0, 1, 1_000, span_ms // 100, span_ms // 2, span_ms, span_ms + 99})
    script = (
        "import('./page/time_axis.js').then(({ timeAxis }) => {"
        f" const axis = timeAxis({NOW_MS}, {NOW_MS + span_ms});"
        " return [axis.isEven ? 'even' : 'logarithmic', axis.marks.map(({ text }) => text),"
        f" {moments}.map((ms) => axis.at({NOW_MS} + ms))]; }})"
    )
    got_scale, got_marks, places = page.run(script)
    assert (got_scale, got_marks) == (scale, marks)
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0, 100)
