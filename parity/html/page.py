"""Reports as one HTML file that opens from disk and needs nothing else.

jinja2 fills the templates and escapes every string; what the script needs stands in the page as
JSON that can close no tag.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parity.html import view
from parity.html.plots import SERIES, error_plot, legend_mark

if TYPE_CHECKING:
    from parity.report import Report

TEMPLATES = Path(__file__).parent / "templates"


def report_page(report: Report, *, environment: Mapping[str, Any] | None = None) -> str:
    """The page of one report."""
    shown = report_view_with_plot(report)
    return render_page(f"parity: {shown['verdict']} {shown['id']}", [shown], environment)


def report_view_with_plot(report: Report) -> dict[str, Any]:
    """One report as plain data, its plot included; a suite collects these."""
    shown = view.report_view(report)
    label = "layer, in execution order" if shown["layers"] else "entry, in execution order"
    points = shown.pop("points")
    plot = error_plot(points, xlabel=label)
    present = [key for key, *_ in SERIES if any(p.get(key) is not None for p in points)]
    legend = [(key, text, mark) for key, text, mark in SERIES if key in present]
    return {**shown, "plot": plot, "legend": legend}


def render_page(
    title: str,
    reports: Sequence[Mapping[str, Any]],
    environment: Mapping[str, Any] | None = None,
    *,
    checks: Sequence[Mapping[str, Any]] = (),
    totals: Sequence[tuple[str, str]] = (),
    run: Mapping[str, Any] | None = None,
    passed: bool | None = None,
) -> str:
    """A page of reports, of checks, or of a training.

    Args:
        reports: from :func:`report_view_with_plot`; the first one fills the first screen.
        environment: a fingerprint; that of this process if None.
        checks: rows of :func:`parity.html.view.suite_rows`.
        totals: what the run came to, for the first screen.
        run: from :func:`run_view`.
        passed: of checks: whether all is well; None where there was nothing to judge.
    """
    import jinja2

    if environment is None:
        from parity.fingerprint import fingerprint

        environment = fingerprint()
    engine = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.filters.update(num=number, share=share, mark=lambda name: _drawn(legend_mark(name)))
    kept = ("details", "panels")
    data: dict[str, Any] = {key: [r[key] for r in reports] for key in kept}
    data["tried"] = [
        [
            [row["cause"], row["what"], number(row["before"]), _left(row), row["removes"]]
            for row in report["tried"]
        ]
        for report in reports
    ]
    data["tables"] = {
        **{str(n): view.table_rows(r["entries"]) for n, r in enumerate(reports)},
        "suite": view.suite_table(checks),
    }
    data["levels"] = [symbol for _, symbol, _ in view.LEVELS]
    data["symbols"] = dict(view.SYMBOLS)
    return engine.get_template("page.html").render(
        title=title,
        reports=reports,
        checks=checks,
        totals=totals,
        run=run,
        verdict={None: "", True: "agree", False: "diverge"}[passed],
        word="PASSED" if passed else "FAILED",
        symbols=view.SYMBOLS,
        plots=[_drawn(r["plot"]) for r in reports],
        environment=view.environment_view(environment),
        levels=[(symbol, text) for _, symbol, text in view.LEVELS],
        style=_drawn((TEMPLATES / "style.css").read_text(encoding="utf-8")),
        script=_drawn((TEMPLATES / "page.js").read_text(encoding="utf-8")),
        data=_drawn(inert_json(data)),
    )


def run_view(
    verdict: str,
    title: str,
    *,
    meaning: str,
    first: str = "",
    lines: Sequence[str] = (),
    facts: Sequence[tuple[str, str]] = (),
    curves: Sequence[Mapping[str, Any]] = (),
    tables: Sequence[Mapping[str, Any]] = (),
    reproduce: str = "",
) -> dict[str, Any]:
    """What a page says of two trainings; every text may be hostile, and is cut.

    Args:
        verdict: one of :data:`parity.html.view.SYMBOLS`.
        first: the first difference, on one line.
        curves: ``title``, ``svg`` (drawn by :mod:`parity.html.plots`), ``legend`` (key, text and
            mark of each series) and ``text``.
        tables: ``title``, ``columns`` (name, whether it holds numbers) and ``rows``: an index into
            :data:`parity.html.view.LEVELS`, and the cells.
    """
    return {
        "verdict": verdict,
        "symbol": view.SYMBOLS[verdict],
        "title": view.safe(title),
        "meaning": meaning,
        "first": view.safe(first),
        "lines": [view.safe(line) for line in lines],
        "facts": [(key, view.safe(value)) for key, value in facts],
        "curves": [
            {
                "text": "",
                **c,
                "svg": _drawn(c["svg"]),
                "legend": [(key, view.safe(text), mark) for key, text, mark in c.get("legend", ())],
            }
            for c in curves
        ],
        "tables": [
            {**t, "rows": [(lv, [view.safe(str(c)) for c in cells]) for lv, cells in t["rows"]]}
            for t in tables
        ],
        "reproduce": view.safe(reproduce),
    }


def write_page(path: Path, page: str) -> None:
    """Write a page; the file appears whole or not at all."""
    from parity.trace import write_atomic

    write_atomic(path, page.encode("utf-8", "replace"))


def inert_json(data: Any) -> str:
    """JSON that may stand inside of a script element: no character of it can end that."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def number(value: Any) -> str:
    """An error as it is read: three digits, a dash where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return "0" if value == 0 else f"{value:.2g}"


def share(value: float | None) -> str:
    """A share of the tolerance: percent up to tenfold, then times."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞"
    if value < 10:
        return f"{value:.0%}"
    return f"{value:,.0f}x" if value < 1e6 else f"{value:.2g}x"


def _left(row: Mapping[str, Any]) -> str:
    return "did not run" if row["after"] is None else number(row["after"])


def _drawn(text: str) -> Any:
    """Text that this package made itself and that is markup already."""
    from markupsafe import Markup

    return Markup(text)
