"""The pages of ``lockstep`` and ``freerun``: the verdict, the curve, and every link."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from impls.training import freerun, lockstep
from impls.training.runs import Asked
from parity.html.page import number, render_page, run_view, share
from parity.html.plots import log_plot
from parity.html.view import level

MEANING = {
    "agree": "every link of every update is within the bound",
    "rounding": "over the bound in float32 only; in float64 the same links agree",
    "chaos": "rounding, amplified by the loop; float64 has it later",
    "diverge": "a difference that precision does not shrink: a bug",
}


def lockstep_page(result: lockstep.Result, reproduce: str) -> str:
    """Errors of each link, over the updates and at worst."""
    name, worst = result.worst
    f = result.first
    verdict = "diverge" if f is not None else "rounding" if result.roundings else "agree"
    first = ""
    if f is not None:
        first = f"First difference: update {f['update']}, {f['link']}, {f['entry']}"
    lines = [f"Error {number(float(f['error']))}, bound {result.bound:g}"] if f else []
    facts = [
        *_asked(result.asked),
        ("updates", f"{result.updates:,}"),
        ("environment steps", f"{result.steps:,}"),
        ("worst", f"{number(worst.error)} in {name}"),
        ("bound", f"{result.bound:g}"),
    ]
    if result.roundings:
        facts.append(("rounding", f"{result.roundings:,} arrays"))
    shown = run_view(
        verdict,
        f"{result.asked.algorithm} on {result.asked.env}, in lockstep",
        meaning=MEANING[verdict],
        first=first,
        lines=lines,
        facts=facts,
        curves=[_links_curve(result, name)],
        tables=[_links_table(result)],
        reproduce=reproduce,
    )
    return render_page(f"parity: {verdict}, {result.asked.algorithm} in lockstep", [], run=shown)


def _links_curve(result: lockstep.Result, name: str) -> Mapping[str, Any]:
    """The error of the worst link over the updates, and the largest of all others."""
    others: dict[int, float] = {}
    for link, curve in result.curves.items():
        for at, error in curve.items():
            others[at] = max(others.get(at, 0.0), error if link != name else 0.0)
    legend = [("propagated64", name, "square"), ("propagated32", "all other links", "circle")]
    series: Sequence[Any] = [
        (key, text, mark, _points(curve, result.updates))
        for (key, text, mark), curve in zip(legend, (result.curves[name], others), strict=True)
    ]
    svg = log_plot(series, lockstep.POINTS, xlabel=f"part of the {result.updates:,} updates",
                   ylabel="largest error", bound=result.bound)  # fmt: skip
    text = "Errors are relative to the largest magnitude of an array, at least 1."
    return {"title": "Error over the updates", "svg": svg, "legend": legend, "text": text}


def _points(curve: Mapping[int, float], updates: int) -> list[tuple[int, float, str, Any]]:
    return [
        (at, error, f"update {at * updates // lockstep.POINTS}", None)
        for at, error in sorted(curve.items())
        if not math.isnan(error)
    ]


def _links_table(result: lockstep.Result) -> Mapping[str, Any]:
    columns = [("link", False), ("largest error", True), ("of the bound", True), ("update", True),
               ("entry", False), ("values", True), ("rounding", True)]  # fmt: skip
    rows = []
    for name, w in result.links.items():
        used = w.error / result.bound
        cells = [name, number(w.error), share(used), w.update if w.error else "-", w.entry or "-",
                 f"{w.values:,}", f"{w.roundings:,}"]  # fmt: skip
        rows.append((level(used), cells))
    return {"title": "Links, in their order", "columns": columns, "rows": rows}


def freerun_page(result: freerun.Result, reproduce: str) -> str:
    """The difference of the parameters over the updates, in both precisions."""
    facts = [*_asked(result.asked), ("updates", f"{result.updates:,}")]
    for series in (result.float32, result.float64):
        far = series.horizon
        said = f"update {far:,}" if far else f"beyond {len(series.differences):,} updates"
        facts.append((f"horizon in {series.dtype}", said))
    if result.predicted is not None:
        facts.append(("predicted for float64", f"update {result.predicted:,.0f}"))
    if result.growth is not None:
        facts.append(("growth", f"{result.growth:.3g} digits per update"))
    facts.append(("float64 by what rounding allows", f"{result.excess:.2g}"))
    keys = ("propagated32", "propagated64")
    legend = [(k, s.dtype, m) for k, s, m in zip(keys, (result.float32, result.float64),
                                                 ("circle", "square"), strict=True)]  # fmt: skip
    text = (
        "Each side trains on its own from one seed; the horizon is where the line crosses "
        f"{freerun.HORIZON:g}."
    )
    curve = {"title": "Difference of the parameters over the updates", "legend": legend,
             "svg": freerun.plot(result, marks=True), "text": text}  # fmt: skip
    shown = run_view(
        result.verdict,
        f"{result.asked.algorithm} on {result.asked.env}, running freely",
        meaning=MEANING[result.verdict],
        lines=[f"float64 differs by {result.excess:.2g} times 2^-29 of what float32 differs by, "
               f"at most; rounding stays under {freerun.MARGIN:g}"],
        facts=facts,
        curves=[curve],
        reproduce=reproduce,
    )  # fmt: skip
    return render_page(f"parity: {result.verdict}, {result.asked.algorithm} freely", [], run=shown)


def _asked(asked: Asked) -> list[tuple[str, str]]:
    facts = [("environment", asked.env), ("seed", str(asked.seed)), ("dtype", asked.dtype)]
    settings = ", ".join(f"{k}={v}" for k, v in dict(asked.settings).items())
    return [*facts, *([("settings", settings)] if settings else [])]
