"""What a page shows of a report, as plain data: the templates only lay it out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parity import message, message_layers
from parity.html.layers import ERRORS, NAME, layer_rows, owner, tree
from parity.report import Entry, Report
from parity.verdict import Verdict

DETAILED = 1200
"""Entries whose histograms a page carries; differing ones come first."""

SYMBOLS: Mapping[str, str] = {
    "agree": "✓",
    "rounding": "≈",
    "chaos": "∿",
    "latent": "◐",
    "diverge": "✖",
    "invalid": "?",
}
"""A verdict without its colour."""

LEVELS: Sequence[tuple[float, str, str]] = (
    (0.1, "·", "under a tenth of the tolerance"),
    (1.0, "✓", "within tolerance"),
    (10.0, "▲", "up to 10 times the tolerance"),
    (1e3, "▲▲", "up to 1,000 times the tolerance"),
    (math.inf, "✖", "more than 1,000 times the tolerance, or another structure"),
)
"""Share of the tolerance that was used -> symbol, meaning; the index is the colour."""


def safe(text: str) -> str:
    """A text from anywhere, harmless and not too long; it is escaped where it is shown."""
    return message.cut(message.printable(text), NAME)


def level(headroom: float, structural: bool = False) -> int:
    """Which of :data:`LEVELS` a share of the tolerance falls into."""
    if structural or math.isnan(headroom):
        return len(LEVELS) - 1
    return next(i for i, (bound, _, _) in enumerate(LEVELS) if headroom <= bound)


def report_view(report: Report) -> dict[str, Any]:
    """Everything that a page says about one report; strings are safe to print, not escaped."""
    first = report.first_divergence
    wide = {e.name: e for e in report.evidence.entries} if report.evidence else {}
    kept = _detailed(report.entries)
    entries = [_entry(i, e, wide.get(e.name), e.name in kept) for i, e in enumerate(report.entries)]
    tried = _tried(report)
    layers = layer_rows(report.subject, {row["name"]: row for row in entries})
    return {
        "id": _title(report),
        "verdict": str(report.verdict),
        "symbol": SYMBOLS[str(report.verdict)],
        "meaning": message.MEANING[report.verdict],
        "passed": report.passed,
        "subject": _subject(report),
        "sides": list(report.sides),
        "first": None if first is None else _first(report, first, layers),
        "first_index": None if first is None else report.entries.index(first),
        "problems": [message.problem_text(p) for p in report.problems],
        "causes": [_cause(c) for c in report.causes],
        "notes": [
            *filter(None, [message.unexplained(report)]),
            *(message.printable(n) for n in message_layers.notes(report.subject, report.causes)),
        ],
        "layers": tree(layers),
        "pairs": len([r for r in layers if r["torch"] and r["tf"]]),
        "tried": tried,
        "panels": _panels(report, layers, entries, tried),
        "entries": entries,
        "points": _points(report, layers, entries),
        "values": report.values_compared,
        "agreeing": len(report.entries) - len(report.failing),
        "evidence": _evidence(report),
        "reproduce": message.printable(report.reproduce),
        "details": {
            str(i): compact(e.detail)
            for i, e in enumerate(report.entries)
            if e.detail is not None and e.name in kept
        },
    }


def _title(report: Report) -> str:
    """The two sides by their names, where a user named them; else the check's own id."""
    labels = [str(report.subject.get(side) or "") for side in ("torch", "tf")]
    if report.subject.get("component") or not all(labels):
        return message.printable(report.identifier)
    return message.printable(" and ".join(label.rpartition(":")[2] for label in labels))


def compact(detail: Mapping[str, Any]) -> dict[str, Any]:
    """A detail with ranges for edges and six digits for numbers: a page holds thousands."""
    small: dict[str, Any] = {k: detail[k] for k in ("size", "sampled", "finite")}
    small["worst"] = [{k: _short(v) for k, v in row.items()} for row in detail["worst"]]
    if "edges" in detail:
        small["range"] = _short([detail["edges"][0], detail["edges"][-1]])
        small["counts"] = detail["counts"]
        gap = detail["difference"]
        small["gap_range"] = _short([gap["edges"][0], gap["edges"][-1]])
        small["gap_counts"] = gap["counts"]
    return small


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        return [_short(v) for v in value]
    return value


def _detailed(entries: Sequence[Entry]) -> set[str]:
    ordered = sorted(entries, key=lambda e: e.agrees)  # stable: execution order within each
    return {entry.name for entry in ordered[:DETAILED]}


def _entry(index: int, entry: Entry, wide: Entry | None, detailed: bool) -> dict[str, Any]:
    d = entry.worst
    structural = d.structural and d.problem != "non-finite"
    return {
        "index": index,
        "name": message.cut(message.printable(entry.name), NAME),
        "pair": "-".join(d.sides),
        "problem": d.problem or "",
        "structure": message.structure_text(d) if structural else "",
        "over": d.over,
        "size": d.size,
        "max_abs": d.max_abs,
        "max_rel": d.max_rel,
        "max_ulp": d.max_ulp,
        "allowed": d.allowed,
        "because": message.printable(entry.tolerance.because),
        "headroom": d.headroom,
        "max_abs64": None if wide is None else wide.worst.max_abs,
        "level": level(d.headroom, d.structural),
        "agrees": entry.agrees,
        "shape": " ".join(str(list(s)) for s in dict.fromkeys(d.shapes) if s is not None),
        "dtype": " ".join(dict.fromkeys(t for t in d.dtypes if t is not None)),
        "worst": [] if d.worst is None else list(d.worst),
        "values": [] if d.values is None else list(d.values),
        "detailed": detailed and entry.detail is not None,
    }


def _points(
    report: Report, layers: Sequence[Mapping[str, Any]], entries: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Error against depth: of the layers, else of the entries in execution order."""
    if layers:
        keys = ERRORS
        return [
            {"name": r["torch"], "index": r["index"], **{k: r[k] for k in keys}}
            for r in layers
            if r["torch"] and r["tf"]
        ]
    wide = all("float64" in row["dtype"] for row in entries if "float" in row["dtype"])
    main = "propagated64" if wide and report.evidence is None else "propagated32"
    return [
        {
            "name": row["name"],
            "index": row["index"],
            main: row["max_abs"],
            **({"propagated64": row["max_abs64"]} if main == "propagated32" else {}),
        }
        for row in entries
        if not row["structure"]
    ]


def _first(report: Report, entry: Entry, layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    lines = message.first_difference(report, entry)
    known = {r["torch"]: r["where"] for r in layers if r["torch"]}
    code = known.get(owner(message.printable(entry.name), known)) or {}
    return {
        "name": message.cut(message.printable(entry.name), NAME),
        "lines": [" · ".join(line.strip().split("   ")) for line in lines[1:]],
        "place": message.place_text(report, entry),
        "source": [
            *(" ".join(line.split()) for line in message.source_lines(report, entry)),
            *(f"{side} is in {line}" for side, line in code.items()),
        ],
    }


def _cause(cause: Mapping[str, Any]) -> dict[str, Any]:
    text = {
        key: message.printable(str(cause[key]))
        for key in ("cause", "text", "fix", "place", "docs")
        if cause.get(key)
    }
    others = [
        a.get("cause", a) if isinstance(a, Mapping) else a for a in cause.get("alternatives", ())
    ]
    if "docs" in text:
        text["docs"] = message.more(text["docs"])
    return {
        **text,
        "before": cause.get("before"),
        "after": cause.get("after"),
        "alternatives": [message.printable(str(a)) for a in others],
    }


def _tried(report: Report) -> list[dict[str, Any]]:
    """The hypotheses that were tried, the best first."""
    words = ("cause", "place", "what")
    return [
        {**row, **{k: message.cut(message.printable(str(row[k])), NAME) for k in words}}
        for row in report.subject.get("tried") or ()
    ]


def _panels(
    report: Report,
    layers: Sequence[Mapping[str, Any]],
    entries: Sequence[Mapping[str, Any]],
    tried: Sequence[Mapping[str, Any]],
) -> dict[str, dict[str, Any]]:
    """For entries with code or hypotheses of their own: source lines, and rows of ``tried``."""
    known = {r["torch"]: r["where"] for r in layers if r["torch"]}
    places: dict[str, list[int]] = {}
    for number, row in enumerate(tried):
        places.setdefault(row["place"], []).append(number)
    panels: dict[str, dict[str, Any]] = {}
    for entry in entries:
        layer = owner(entry["name"], known)
        found = {"source": known.get(layer) or {}, "tried": places.get(layer, []) if layer else []}
        if found["source"] or found["tried"]:
            panels[str(entry["index"])] = found
    first = report.first_divergence
    if first is not None and not known:  # a function: all that was tried is about its result
        lines = {s: report.subject.get(f"{s}_line") for s in ("torch", "tf")}
        lines = {s: lines.get(s) or at for s, at in (report.subject.get("source") or lines).items()}
        said = {s: message.printable(str(line)) for s, line in lines.items() if line}
        panels[str(report.entries.index(first))] = {
            "source": said,
            "tried": list(range(len(tried))),
        }
    return panels


def _evidence(report: Report) -> str:
    evidence = report.evidence
    if evidence is None:
        return ""
    if evidence.verdict is Verdict.DIVERGE and evidence.worst and evidence.worst.structural:
        return "float64: diverge, in structure"
    error = f"worst error {evidence.worst.max_abs:.2g}" if evidence.worst else "nothing compared"
    return f"float64{message.sampled(evidence)}: {evidence.verdict} ({error})"


def _subject(report: Report) -> list[tuple[str, str]]:
    shown = ("torch", "tf", "component", "case", "check", "dtype", "mode", "device")
    facts = [(k, report.subject[k]) for k in shown if report.subject.get(k)]
    return [(k, message.printable(str(v))) for k, v in facts]


def environment_view(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Versions and settings, one row each; what is not here is left out."""
    return [(str(k), message.printable(str(v))) for k, v in facts.items() if v is not None]


def suite_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The checks of a run of the suite, for its table."""
    shown = []
    for index, row in enumerate(rows):
        headroom = _as_float(row.get("headroom"))
        shown.append(
            {
                "index": index,
                "id": message.printable(str(row["id"])),
                "component": message.printable(str(row.get("component") or "")),
                "verdict": row["verdict"],
                "symbol": SYMBOLS.get(row["verdict"], "?"),
                "max_abs": _as_float(row.get("max_abs")),
                "allowed": _as_float(row.get("allowed")),
                "headroom": headroom,
                "level": level(headroom, row["verdict"] in ("diverge", "invalid")),
                "values": row.get("values_compared", 0),
                "first": message.printable(str(row.get("first_divergence") or "")),
            }
        )
    return shown


def _as_float(value: Any) -> float:
    """Rows come through JSON, where infinity is a string."""
    return math.nan if value is None else float(value)


Row = tuple[int, int, str, Sequence[Any]]
"""Of a table of the page: level, whether it agrees, its structure if that differs, the cells."""


def table_rows(entries: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The table of entries, small: there may be thousands."""
    return [
        (
            row["level"],
            int(row["agrees"]),
            f"{row['problem']}: {row['structure']}" if row["structure"] else "",
            (
                row["index"], row["name"], row["pair"], _plain(row["headroom"]),
                _plain(row["max_abs"]), _plain(row["max_abs64"]), _plain(row["max_rel"]),
                (row["over"], row["size"]), row["shape"],
            ),
        )
        for row in entries
    ]  # fmt: skip


def suite_table(checks: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The same of the checks of a run."""
    return [
        (
            row["level"],
            int(row["verdict"] == "agree"),
            "",
            (
                row["index"], row["id"], row["verdict"], _plain(row["headroom"]),
                _plain(row["max_abs"]), row["values"], row["first"],
            ),
        )
        for row in checks
    ]  # fmt: skip


def _plain(value: float | None) -> float | str | None:
    """Six digits; what JSON lacks is a string."""
    if value is None or math.isnan(value):
        return None
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)
