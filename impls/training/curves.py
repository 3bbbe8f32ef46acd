"""Learning curves of runs, torch and TensorFlow side by side, as one SVG.

Drawn here as text: a curve needs a line, a band and axes, and no library is installed for that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import numpy as np

from impls.errors import ConfigError
from impls.training.runs import Folder

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 360, 240, 52, 36, 26
COLOURS = {"torch": "#c4462d", "tf": "#1f6fb2"}
DASHES = {"torch": "", "tf": ' stroke-dasharray="5 3"'}
"""The frameworks are told apart without colour too."""

Curve = tuple[np.ndarray, np.ndarray]


def curves(paths: Sequence[Path]) -> str:
    """The SVG: a panel for each algorithm and environment, a line and a band for each framework.

    The line is the mean of the evaluations over seeds, the band reaches from the lowest to the
    highest.

    Raises:
        ConfigError: a folder holds no run, or no run has been evaluated yet.
    """
    panels: dict[tuple[str, str], dict[str, list[Curve]]] = defaultdict(lambda: defaultdict(list))
    for path in paths:
        folder = Folder(path)
        asked, rows = folder.asked(), folder.rows()
        if rows:
            steps = np.array([row["step"] for row in rows])
            scores = np.array([row["evaluation"] for row in rows])
            panels[asked.algorithm, asked.env][asked.framework].append((steps, scores))
    if not panels:
        raise ConfigError("curves: none of these runs has been evaluated yet")
    columns = min(len(panels), 3)
    rows_ = -(-len(panels) // columns)
    body = [
        f'<g transform="translate({i % columns * WIDTH} {i // columns * HEIGHT})">'
        f"{_panel(f'{name} on {env}', sides)}</g>"
        for i, ((name, env), sides) in enumerate(panels.items())
    ]
    width, height = columns * WIDTH, rows_ * HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="system-ui, sans-serif" font-size="11" role="img" '
        'aria-label="Evaluation score by environment steps">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(body)}</svg>\n'
    )


def merged(runs: Sequence[Curve]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Steps, mean, lowest and highest over runs, at the steps of the shortest."""
    count = min(len(steps) for steps, _ in runs)
    scores = np.stack([s[:count] for _, s in runs])
    return runs[0][0][:count], scores.mean(0), scores.min(0), scores.max(0)


def _panel(title: str, sides: Mapping[str, Sequence[Curve]]) -> str:
    found = {name: merged(runs) for name, runs in sides.items()}
    low = min(float(m[2].min()) for m in found.values())
    high = max(float(m[3].max()) for m in found.values())
    high = high if high > low else low + 1.0
    last = max(float(m[0][-1]) for m in found.values())

    def point(x: float, y: float) -> str:
        right, down = WIDTH - LEFT - 12, HEIGHT - TOP - BOTTOM
        return f"{LEFT + right * x / last:.1f},{TOP + down * (high - y) / (high - low):.1f}"

    parts = [_axes(title, low, high, last)]
    for i, (name, (steps, mean, lowest, highest)) in enumerate(sorted(found.items())):
        colour, dash = COLOURS.get(name, "#555"), DASHES.get(name, "")
        upper = [point(x, y) for x, y in zip(steps, highest, strict=True)]
        lower = [point(x, y) for x, y in zip(steps, lowest, strict=True)]
        line = " ".join(point(x, y) for x, y in zip(steps, mean, strict=True))
        parts.append(
            f'<polygon points="{" ".join(upper + lower[::-1])}" fill="{colour}" opacity=".15"/>'
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>'
            f'<text x="{LEFT + 8 + 110 * i}" y="{HEIGHT - 4}" fill="{colour}">{escape(name)}, '
            f"{len(sides[name])} seeds</text>"
        )
    return "".join(parts)


def _axes(title: str, low: float, high: float, last: float) -> str:
    down, right = HEIGHT - TOP - BOTTOM, WIDTH - LEFT - 12
    parts = [f'<text x="{LEFT}" y="16" font-size="12" font-weight="600">{escape(title)}</text>']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = TOP + down * (1 - share)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end" fill="#555">'
            f"{low + share * (high - low):.0f}</text>"
        )
    for share in (0.0, 0.5, 1.0):
        x = LEFT + right * share
        anchor = "start" if share == 0 else "end" if share == 1 else "middle"
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="{anchor}" fill="#555">'
            f"{last * share:,.0f}</text>"
        )
    return "".join(parts)
