"""The picture of latencies: well-formed, complete, and readable for whoever can't tell colours apart."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from benchmarks.distribution import Distribution
from benchmarks.picture import Curve, latency_picture

SVG = "{http://www.w3.org/2000/svg}"


def curve(name: str, *, ended: list[float], waited: list[float] | None = None) -> Curve:
    return Curve(name=name, latencies=Distribution.of(ended, waited or []))


def polylines(picture: str) -> list[ET.Element]:
    return list(ET.fromstring(picture).iter(f"{SVG}polyline"))  # noqa: S314 - our own text


def points(line: ET.Element) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in line.attrib["points"].split())
    return [(float(x), float(y)) for x, y in pairs]


def test_a_curve_rises_from_nothing_to_everything() -> None:
    """Its points go to the right and up, whatever the durations, ones at or below zero included."""
    picture = latency_picture("T", [curve("a", ended=[-0.4, 0.0, 3.0, 40.0, 5_000.0])])
    (line,) = polylines(picture)
    found = points(line)

    assert found == sorted(found, key=lambda point: (point[0], -point[1]))
    assert found[0][1] > found[-1][1]


def test_a_curve_ends_where_arrivals_ended() -> None:
    """What never arrived keeps the curve below the top by its share."""
    picture = latency_picture("T", [curve("a", ended=[1, 2, 3]), curve("b", ended=[1], waited=[9, 9, 9])])
    top, quarter = (points(line)[-1][1] for line in polylines(picture))
    bottom = points(polylines(picture)[0])[0][1]

    assert (bottom - quarter) / (bottom - top) == pytest.approx(0.25, abs=0.01)


def test_curves_differ_without_colour_and_are_named() -> None:
    """Each has a dash pattern of its own, and a line in the legend with its p50 and p99; names are escaped."""
    names = ["a <1>", "b & c", "d", "e"]
    picture = latency_picture('T "quoted"', [curve(name, ended=[1.0, 2.0]) for name in names])
    texts = [text.text or "" for text in ET.fromstring(picture).iter(f"{SVG}text")]  # noqa: S314

    assert len({line.attrib["stroke-dasharray"] for line in polylines(picture)}) == len(names)
    for name in names:
        assert f"{name}: p50 1.0 ms, p99 2.0 ms" in texts


def test_a_system_that_delivered_nothing_is_still_named() -> None:
    """No curve to draw, but the legend says so."""
    picture = latency_picture("T", [curve("a", ended=[], waited=[50.0])])

    assert points(polylines(picture)[0]) == []
    assert "a: p50 ≥ 50.0 ms, p99 ≥ 50.0 ms" in picture


@pytest.mark.parametrize("count", [0, 5])
def test_no_more_curves_than_can_be_told_apart(count: int) -> None:
    """One to four."""
    with pytest.raises(ValueError, match="1 to 4 curves"):
        latency_picture("T", [curve("a", ended=[1.0])] * count)
