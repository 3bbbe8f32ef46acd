"""Two pictures as SVG text: the contenders of one update, and how they go with its size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from scripts.bench_measure import Seconds, ratio, spread

COLOURS = {
    "floor": "#777777",
    "torch-eager": "#e08a76",
    "torch-compile": "#c4462d",
    "torch-graph": "#7d2418",
    "tf-eager": "#a9cbe8",
    "tf-function": "#5c9bd1",
    "tf-xla": "#1f6fb2",
    "sb3": "#8a6d1b",
    "jax": "#3a7d44",
}
DASHES = {"torch-eager": "4 3", "tf-function": "4 3", "sb3": "1 3", "jax": "8 3"}
"""Lines are told apart without colour too."""
WIDTH, LEFT, ROW = 760, 130, 26
PANEL, TALL, EDGE = 380, 280, 48


def bars(seconds: Seconds, title: str) -> str:
    """A bar per contender: median milliseconds, a line for the quartiles, the ratio to the floor.

    What takes over four times the floor is cut off there, and says so.
    """
    names = sorted(seconds, key=lambda n: spread(seconds[n])[0])
    limit = 4 * spread(seconds["floor"])[0]
    full = min(max(spread(seconds[n])[2] for n in names), limit)
    scale = (WIDTH - LEFT - 210) / full
    body = [f'<text x="10" y="18" font-size="13" font-weight="600">{escape(title)}</text>']
    for i, name in enumerate(names):
        middle, low, high = spread(seconds[name])
        y = 30 + i * ROW
        length = min(middle, full) * scale
        cut = " …" if middle > full else ""
        label = f"{middle * 1e3:.2f} ms, {ratio(seconds, name, 'floor')[0]:.2f} x floor{cut}"
        body.append(
            f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{LEFT}" y="{y + 3}" width="{length:.1f}" height="16" '
            f'fill="{COLOURS[name]}"/>'
            f'<text x="{LEFT + max(length, min(high, full) * scale) + 8:.1f}" y="{y + 15}">'
            f"{escape(label)}</text>"
        )
        if not cut:
            left, right = (LEFT + min(t, full) * scale for t in (low, high))
            body.append(
                f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y + 11}" y2="{y + 11}" '
                'stroke="#000" stroke-width="1.5"/>'
            )
    return _svg("".join(body), WIDTH, 40 + len(names) * ROW, title)


def lines(panels: Mapping[str, Mapping[int, Seconds]], title: str) -> str:
    """A panel per size that is changed: seconds over the floor's, both axes logarithmic."""
    body = []
    for i, (label, points) in enumerate(panels.items()):
        body.append(f'<g transform="translate({i * PANEL} 0)">{_panel(label, points)}</g>')
    drawn = {name for points in panels.values() for name in _drawn(points)}
    shown = [name for name in COLOURS if name in drawn]
    for i, name in enumerate(shown):
        x, y = EDGE + i % 4 * 170, TALL + 18 + i // 4 * 18
        body.append(
            f'<line x1="{x}" x2="{x + 30}" y1="{y - 4}" y2="{y - 4}" {_stroke(name)}/>'
            f'<text x="{x + 36}" y="{y}">{escape(name)}</text>'
        )
    return _svg("".join(body), PANEL * len(panels), TALL + 48, title)


def _drawn(points: Mapping[int, Seconds]) -> list[str]:
    """Who has a line: all but TensorFlow's single operations, ten times above the others."""
    return [n for n in COLOURS if n != "tf-eager" and any(n in s for s in points.values())]


def _panel(label: str, points: Mapping[int, Seconds]) -> str:
    sizes = sorted(points)
    found = {
        name: [(s, ratio(points[s], name, "floor")[0]) for s in sizes if name in points[s]]
        for name in _drawn(points)
    }
    top = max(2.0, *(r for line in found.values() for _, r in line))

    def at(size: float, value: float) -> str:
        span = math.log(sizes[-1] / sizes[0]) or 1.0
        x = EDGE + (PANEL - EDGE - 24) * math.log(size / sizes[0]) / span
        y = 30 + (TALL - 70) * (1 - math.log(value / 0.9) / math.log(top / 0.9))
        return f"{x:.1f},{y:.1f}"

    parts = [_grid(sizes, top, at, label)]
    for name, line in found.items():
        path = " ".join(at(size, max(value, 0.9)) for size, value in line)
        parts.append(f'<polyline points="{path}" fill="none" {_stroke(name)}/>')
    return "".join(parts)


def _grid(sizes: Sequence[int], top: float, at: object, label: str) -> str:
    assert callable(at)
    parts = [
        f'<text x="{PANEL / 2}" y="{TALL - 6}" text-anchor="middle">{escape(label)}</text>'
        f'<text x="{EDGE}" y="18" font-size="12" font-weight="600">seconds / floor\'s</text>'
    ]
    for value in (1, 1.2, 1.5, 2, 3, 5, 10, 20, 50):
        if value <= top:
            y = at(sizes[0], value).split(",")[1]
            parts.append(
                f'<line x1="{EDGE}" x2="{PANEL - 24}" y1="{y}" y2="{y}" stroke="#ddd"/>'
                f'<text x="{EDGE - 5}" y="{float(y) + 4:.1f}" text-anchor="end" fill="#555">'
                f"{value:g}</text>"
            )
    for size in sizes:
        x = at(size, 1).split(",")[0]
        parts.append(
            f'<text x="{x}" y="{TALL - 24}" text-anchor="middle" fill="#555">{size:,}</text>'
        )
    return "".join(parts)


def _stroke(name: str) -> str:
    dash = f' stroke-dasharray="{DASHES[name]}"' if name in DASHES else ""
    return f'stroke="{COLOURS[name]}" stroke-width="2"{dash}'


def _svg(body: str, width: int, height: int, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="system-ui, sans-serif" font-size="12" role="img" '
        f'aria-label="{escape(title)}"><rect width="100%" height="100%" fill="#fff"/>{body}</svg>\n'
    )
