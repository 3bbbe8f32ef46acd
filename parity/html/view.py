"""What a page shows of a report, as plain data: the templates only lay it out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parity import message, message_layers
from parity.report import Entry, Report
from parity.verdict import Verdict

DETAILED = 1200
"""Entries whose histograms a page carries; differing ones come first."""

NAME = 300
"""Characters of a name that a page shows; the middle of a longer one goes."""

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
    layers = _layers(report, {row["name"]: row for row in entries})
    return {
        "id": _title(report),
        "verdict": str(report.verdict),
        "symbol": SYMBOLS[str(report.verdict)],
        "meaning": message.MEANING[report.verdict],
        "passed": report.passed,
        "subject": _subject(report),
        "sides": list(report.sides),
        "first": None if first is None else _first(report, first),
        "first_index": None if first is None else report.entries.index(first),
        "problems": [message.problem_text(p) for p in report.problems],
        "causes": [_cause(c) for c in report.causes],
        "notes": [
            *filter(None, [message.unexplained(report)]),
            *(message.printable(n) for n in message_layers.notes(report.subject)),
        ],
        "layers": layers,
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


def _layers(report: Report, entries: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Paired layers in execution order; errors from the table where there is one."""
    subject = report.subject
    told = {(row["torch"], row["tf"]): row for row in subject.get("table") or ()}
    narrow = {(row["torch"], row["tf"]): row for row in subject.get("table32") or ()}
    rows = []
    for pair in subject.get("layers") or ():
        key = (pair["torch"], pair["tf"])
        row, row32 = told.get(key, {}), narrow.get(key, {})
        entry = entries.get(message.printable(f"forward/{pair['torch']}/output"))
        rows.append(
            {
                "torch": message.printable(pair["torch"]),
                "tf": message.printable(pair["tf"]),
                "kind": message.printable(str(pair["kind"])),
                "propagated32": entry["max_abs"] if entry else None,
                "propagated64": entry["max_abs64"] if entry else None,
                "local32": row32.get("local"),
                "local64": row.get("local"),
                "verdict": _layer_verdict(row, entry),
                "level": _layer_level(row, entry),
                "index": entry["index"] if entry else None,
                "where": {
                    k: message.printable(str(v)) for k, v in (row.get("where") or {}).items()
                },
            }
        )
    return rows


def _layer_verdict(row: Mapping[str, Any], entry: Mapping[str, Any] | None) -> str:
    """A layer that only hands on what came in is not at fault."""
    known = {"differs": "differs here", "input": "input differs", "float32": "float32 inside"}
    if row.get("verdict") in known:
        return known[row["verdict"]]
    return "handed on" if entry and entry["level"] > 1 else ""


def _layer_level(row: Mapping[str, Any], entry: Mapping[str, Any] | None) -> int:
    if row.get("verdict") in ("differs", "input"):
        return max(2, entry["level"] if entry else 2)
    return int(entry["level"]) if entry else 0


def _points(
    report: Report, layers: Sequence[Mapping[str, Any]], entries: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Error against depth: of the layers, else of the entries in execution order."""
    if layers:
        keys = ("propagated32", "propagated64", "local32", "local64")
        return [
            {"name": r["torch"], "index": r["index"], **{k: r[k] for k in keys}} for r in layers
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


def _first(report: Report, entry: Entry) -> dict[str, Any]:
    lines = message.first_difference(report, entry)
    return {
        "name": message.cut(message.printable(entry.name), NAME),
        "lines": [" ".join(line.split()) for line in lines[1:]],
        "place": message.place_text(report, entry),
        "source": [" ".join(line.split()) for line in message.source_lines(report, entry)],
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
    return {
        **text,
        "before": cause.get("before"),
        "after": cause.get("after"),
        "alternatives": [message.printable(str(a)) for a in others],
    }


def _evidence(report: Report) -> str:
    evidence = report.evidence
    if evidence is None:
        return ""
    if evidence.verdict is Verdict.DIVERGE and evidence.worst and evidence.worst.structural:
        return "float64: diverge, in structure"
    error = f"worst error {evidence.worst.max_abs:.2g}" if evidence.worst else "nothing compared"
    return f"float64: {evidence.verdict} ({error})"


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
