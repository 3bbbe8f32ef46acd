"""Plots as inline SVG: error against depth, and curves. Drawn here, coloured by the style sheet.

SVG needs no library, no network and no script, prints well, and is read by screen readers through
its title. Where there are more points than pixels, each column of pixels keeps its worst point.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from parity.text import cut, printable

WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 34
COLUMNS = 400
"""Points drawn at most per series."""
TEXT = 300
"""Characters of what a mark or the whole plot is called."""
CLOSE = 80
"""Of more points the marks are smaller."""
FLOOR = 1e-18
"""Zero on a logarithmic axis: under the smallest rounding of float64."""

SERIES: Sequence[tuple[str, str, str]] = (
    ("propagated32", "propagated, float32", "circle"),
    ("propagated64", "propagated, float64", "square"),
    ("local32", "local, float32", "diamond"),
    ("local64", "local, float64", "triangle"),
)
"""Key of a point -> legend and mark; marks tell series apart without colour."""


def error_plot(points: Sequence[Mapping[str, Any]], *, xlabel: str = "layer") -> str:
    """Errors in execution order on a logarithmic scale.

    Args:
        points: rows of ``name``, ``index`` (of the entry to open) and any of the keys of
            :data:`SERIES`, each an error or None.
    """
    series = []
    for key, label, mark in SERIES:
        rows = [
            (i, float(p[key]), p["name"], p.get("index"))
            for i, p in enumerate(points)
            if p.get(key) is not None and not math.isnan(float(p[key]))
        ]
        if rows:
            series.append((key, label, mark, _thinned(rows)))
    if len(points) < 2 or not series:
        return ""  # one point is no curve
    return log_plot(series, len(points), xlabel=xlabel, ylabel="max |difference|")


def log_plot(
    series: Sequence[tuple[str, str, str, Sequence[tuple[int, float, str, Any]]]],
    count: int,
    *,
    xlabel: str,
    ylabel: str,
    marks: bool = True,
    bound: float | None = None,
) -> str:
    """An SVG of series over 0 .. count - 1.

    Args:
        series: key (its CSS class), legend, mark, and points: x, y, name, index of an entry.
        bound: drawn as a line across.
    """
    values = [y for *_, rows in series for _, y, *_ in rows if 0 < y < math.inf]
    values += [] if bound is None else [bound]
    low = math.floor(math.log10(max(min(values, default=1e-8), FLOOR))) - 1
    high = math.ceil(math.log10(max(values, default=1.0))) + (0 if values else 1)
    high = max(high, low + 2)

    def x_of(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (x + 0.5) / max(count, 1)

    def y_of(y: float) -> float:
        power = low if y <= 0 else min(max(math.log10(y), low), high)
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - power) / (high - low)

    zero = any(y <= 0 for *_, rows in series for _, y, *_ in rows)
    body = [_axes(low, high, y_of, xlabel, ylabel, zero)]
    for key, label, mark, rows in series:
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y, *_ in rows)
        body.append(f'<g class="series {key}"><polyline points="{path}"/>')
        if marks:
            size = 1.0 if len(rows) <= CLOSE else 0.5
            body += [
                _mark(mark, x_of(x), y_of(y), f"{name[:80]}: {y:.2g} ({label})", index, size)
                for x, y, name, index in rows
            ]
        body.append("</g>")
    if bound is not None:
        body.append(_bound(bound, y_of(bound)))
    title = _safe(f"{ylabel} by {xlabel}: " + ", ".join(label for _, label, *_ in series))
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">'
        f"{''.join(body)}</svg>"
    )


def _thinned(rows: list[tuple[int, float, str, Any]]) -> list[tuple[int, float, str, Any]]:
    """The worst of each group of neighbours, where there are too many to draw."""
    if len(rows) <= COLUMNS:
        return rows
    size = -(-len(rows) // COLUMNS)
    return [max(rows[i : i + size], key=lambda r: r[1]) for i in range(0, len(rows), size)]


def _axes(low: int, high: int, y_of: Any, xlabel: str, ylabel: str, zero: bool) -> str:
    """Grid and labels; the lowest line stands for zero where something is zero."""
    step = max(1, (high - low) // 6)
    lines = [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y_of(10.0**p):.1f}" '
        f'y2="{y_of(10.0**p):.1f}"/>'
        f'<text class="tick" x="{LEFT - 6}" y="{y_of(10.0**p) + 4:.1f}" text-anchor="end">'
        f"{'0' if zero and p == low else f'1e{p}'}</text>"
        for p in range(low, high + 1, step)
    ]
    middle = (TOP + HEIGHT - BOTTOM) / 2
    lines.append(
        f'<text class="label" x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
        f"{escape(xlabel)}</text>"
        f'<text class="label" transform="translate(11 {middle}) rotate(-90)" '
        f'text-anchor="middle">{escape(ylabel)}</text>'
    )
    return "".join(lines)


def legend_mark(mark: str) -> str:
    """A mark on its own, as the legend shows it."""
    drawn = _mark(mark, 8, 7, "", None)
    return f'<svg class="key" viewBox="0 0 16 14" aria-hidden="true">{drawn}</svg>'


def _safe(text: str) -> str:
    return escape(cut(printable(text), TEXT))


def _bound(bound: float, y: float) -> str:
    return (
        f'<line class="bound" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="tick" x="{WIDTH - RIGHT}" y="{y - 4:.1f}" text-anchor="end">'
        f"bound {bound:g}</text>"
    )


def _mark(mark: str, x: float, y: float, text: str, index: Any, size: float = 1.0) -> str:
    """A point; the page's script opens the entry that it stands for."""
    opens = "" if index is None else f' data-open="{int(index)}"'
    title = f"<title>{_safe(text)}</title>" if text else ""
    # hollow ones are larger, to be seen behind the filled
    r = size * (4.6 if mark in ("circle", "diamond") else 2.9)
    if mark == "circle":
        return f'<circle{opens} cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}">{title}</circle>'
    shapes = {
        "square": ((-r, -r), (r, -r), (r, r), (-r, r)),
        "diamond": ((0, -r - 1), (r + 1, 0), (0, r + 1), (-r - 1, 0)),
        "triangle": ((0, -r - 1), (r + 1, r), (-r - 1, r)),
    }
    corners = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in shapes[mark])
    return f'<polygon{opens} points="{corners}">{title}</polygon>'
