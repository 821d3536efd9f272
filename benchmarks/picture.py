"""The picture of latencies: the share of deliveries that had arrived after so many milliseconds, as SVG. Pure.

One curve a system, over a logarithmic axis, since they differ by factors and not by milliseconds. Readable on
a light and on a dark page, and without colours: every curve has a dash pattern of its own.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from benchmarks.distribution import Distribution

__all__ = ["Curve", "latency_picture"]

_WIDTH, _HEIGHT = 820, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 34, 76, 52
_LEGEND_LINE = 22
_POINTS = 400
#: A webhook may come before the client has heard of its commit: no axis of logarithms has a place for that.
_SHORTEST_MS = 1.0
_SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
_LOOKS = (("#2f7de1", ""), ("#d9730d", "9 4"), ("#1a9e6a", "2 4"), ("#9b59d0", "12 4 2 4"))

_SUBTITLE = "share of the events that had arrived, by the time since their commit (logarithmic)"
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 16px; font-weight: 600 }
.grid { stroke: #8c959f; stroke-opacity: .35 }
.fine { stroke-opacity: .14 }
.curve { fill: none; stroke-width: 2.4; stroke-linejoin: round }
.page { fill: #ffffff }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .page { fill: #0d1117 } }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One system's latencies and what to call them."""

    name: str
    latencies: Distribution


@dataclass(frozen=True, slots=True)
class _Plane:
    """From milliseconds and shares to points of the picture."""

    first_decade: int
    last_decade: int
    top: float
    bottom: float

    def x(self, value_ms: float) -> float:
        decades = self.last_decade - self.first_decade
        along = (math.log10(value_ms) - self.first_decade) / decades
        return _LEFT + along * (_WIDTH - _LEFT - _RIGHT)

    def y(self, share: float) -> float:
        return self.bottom - share * (self.bottom - self.top)


def latency_picture(title: str, curves: Sequence[Curve]) -> str:
    """Draw up to four curves, each of at least one latency; what took less than 1 ms is drawn there.

    Raises:
        ValueError: no curve, or more than can be told apart.
    """
    if not 1 <= len(curves) <= len(_LOOKS):
        raise ValueError(f"a picture has 1 to {len(_LOOKS)} curves, not {len(curves)}")
    legend_height = _LEGEND_LINE * len(curves)
    height = _HEIGHT + legend_height
    plane = _plane(curves, top=_TOP, bottom=_HEIGHT - _BOTTOM)
    parts = [
        _opening(title, height=height),
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{_WIDTH}" height="{height}" rx="8"/>',
        f'<text class="title" x="{_LEFT}" y="30">{escape(title)}</text>',
        f'<text x="{_LEFT}" y="52">{_SUBTITLE}</text>',
        *_share_axis(plane),
        *_time_axis(plane),
    ]
    for index, (curve, (colour, dashes)) in enumerate(zip(curves, _LOOKS, strict=False)):
        stroke = f'stroke="{colour}" stroke-dasharray="{dashes}"'
        parts.append(f'<polyline class="curve" {stroke} points="{_points(curve.latencies, plane)}"/>')
        y = _HEIGHT + index * _LEGEND_LINE
        parts.append(f'<line class="curve" {stroke} x1="{_LEFT}" x2="{_LEFT + 44}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT + 54}" y="{y + 4}">{escape(_legend(curve))}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _opening(title: str, *, height: int) -> str:
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={quoteattr(title)}>'


def _plane(curves: Sequence[Curve], *, top: float, bottom: float) -> _Plane:
    least = min(_drawn(curve.latencies.ascending_ms[0]) for curve in curves)
    most = max(_drawn(curve.latencies.ascending_ms[-1]) for curve in curves)
    first = math.floor(math.log10(least))
    return _Plane(first, max(math.ceil(math.log10(most)), first + 1), top, bottom)


def _drawn(value_ms: float) -> float:
    return max(value_ms, _SHORTEST_MS)


def _points(latencies: Distribution, plane: _Plane) -> str:
    """Give the curve of those that arrived, as a share of all: it ends below 100 % where some did not."""
    ended, count = latencies.ended_ms, len(latencies)
    ranks = sorted({round(step * (len(ended) - 1) / _POINTS) for step in range(_POINTS + 1)}) if ended else []
    points = [(plane.x(_drawn(ended[rank])), plane.y((rank + 1) / count)) for rank in ranks]
    if points:
        points.insert(0, (points[0][0], plane.y(0.0)))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _legend(curve: Curve) -> str:
    latencies = curve.latencies
    return f"{curve.name}: p50 {latencies.quantile(0.5)} ms, p99 {latencies.quantile(0.99)} ms"


def _share_axis(plane: _Plane) -> list[str]:
    parts = []
    for share in _SHARES:
        y = plane.y(share)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    return parts


def _time_axis(plane: _Plane) -> list[str]:
    parts = []
    for decade in range(plane.first_decade, plane.last_decade + 1):
        for step in range(1, 10) if decade < plane.last_decade else (1,):
            x = plane.x(step * 10**decade)
            fine = "" if step == 1 else " fine"
            parts.append(
                f'<line class="grid{fine}" x1="{x:.1f}" x2="{x:.1f}" y1="{plane.top}" y2="{plane.bottom}"/>'
            )
        x = plane.x(10**decade)
        parts.append(
            f'<text x="{x:.1f}" y="{plane.bottom + 20:.0f}" text-anchor="middle">{_time(decade)}</text>'
        )
    return parts


def _time(decade: int) -> str:
    """Name a power of ten of milliseconds.

    >>> _time(0), _time(4)
    ('1 ms', '10 s')
    """
    value_ms = 10.0**decade
    return f"{value_ms / 1000:g} s" if value_ms >= 1000 else f"{value_ms:g} ms"  # noqa: PLR2004 - a second
