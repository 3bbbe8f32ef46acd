"""Curves on logarithmic axes as SVG text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

Curves = Mapping[str, Sequence[tuple[float, float]]]

PANEL, TALL, EDGE = 400, 260, 52
STYLES = {"check": ("#c4462d", ""), "plain": ("#1f6fb2", "4 3")}
"""Lines are told apart without colour too."""


def picture(panels: Mapping[str, Curves], title: str) -> str:
    """A panel for each set of curves, side by side, under their labels."""
    body = [f'<text x="10" y="18" font-size="13" font-weight="600">{escape(title)}</text>']
    for i, (label, curves) in enumerate(panels.items()):
        body.append(f'<g transform="translate({i * PANEL} 26)">{_panel(label, curves)}</g>')
    for i, (name, (colour, dash)) in enumerate(STYLES.items()):
        x, y = EDGE + i * 120, TALL + 44
        body.append(
            f'<line x1="{x}" x2="{x + 30}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" '
            f'stroke-width="2" stroke-dasharray="{dash}"/><text x="{x + 36}" y="{y}">{name}</text>'
        )
    width, height = max(PANEL * len(panels), PANEL), TALL + 56
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" role="img">'
        f"<title>{escape(title)}</title>"
        f'<rect width="{width}" height="{height}" fill="#fff"/>{"".join(body)}</svg>\n'
    )


def _panel(label: str, curves: Curves) -> str:
    points = [point for curve in curves.values() for point in curve]
    (left, right), (low, high) = (_decades([p[k] for p in points]) for k in (0, 1))

    def at(x: float, y: float) -> tuple[float, float]:
        along = (math.log10(x) - left) / (right - left)
        up = (math.log10(y) - low) / (high - low)
        return EDGE + along * (PANEL - EDGE - 24), TALL - 34 - up * (TALL - 70)

    body = [f'<text x="{EDGE}" y="16">{escape(label)}</text>']
    for power in range(low, high + 1):
        x, y = at(10.0**left, 10.0**power)
        body.append(
            f'<line x1="{x:.1f}" x2="{PANEL - 24}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g} s</text>'
        )
    for power in range(left, right + 1):
        x, y = at(10.0**power, 10.0**low)
        body.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="36" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{10.0**power:,.0f}</text>'
        )
    for name, curve in curves.items():
        colour, dash = STYLES[name]
        places = [at(*point) for point in curve]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        body.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dash}"/>'
        )
        body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    return "".join(body)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)
