"""The gate's wording, and its forms: terminal, JUnit XML, Markdown, JSON."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from typing import Any
from xml.etree import ElementTree

from parity.gate import Finding, GateResult, error_of
from parity.report import SCHEMA
from parity.results import Row, plain
from parity.summary import Line
from parity.tolerance import ERROR_GROWTH

WIDTH = 80
SHOWN_NOTES = 5
"""Notes of one kind that are listed before the rest is only counted."""


def explain(finding: Finding) -> str:
    """One sentence: what was found, with the numbers on both sides."""
    old, new, details = finding.before, finding.after, finding.details
    kind = finding.kind
    if kind == "failed" and new is not None:
        return _failure(new)
    if kind == "raised":
        return f"raised before a verdict: {details['message']}"
    if kind == "grew" and old is not None and new is not None:
        return (
            f"error {error_of(old):.1e} -> {error_of(new):.1e}, over {details['limit']:.1e} "
            f"({ERROR_GROWTH:g} times the baseline's, which counts as at least "
            f"{details['floor']:.1e})"
        )
    if kind == "disappeared" and old is not None:
        why = f"skipped: {details['skipped']}" if details.get("skipped") else "not in the report"
        return f"{why}; the baseline compared {old['values_compared']:,} values"
    if kind == "values" and old is not None and new is not None:
        gone = old["values_compared"] - new["values_compared"]
        return (
            f"{gone:,} of {old['values_compared']:,} compared values disappeared, "
            f"{new['values_compared']:,} are left"
        )
    if kind == "recompiled":
        counts = [f"{s} {was} -> {now} graphs" for s, (was, now) in details["sides"].items()]
        return f"compiled more often: {', '.join(counts)}"
    if kind == "verdict" and old is not None and new is not None:
        return f"{old['verdict']} -> {new['verdict']}"
    return _explain_rest(finding)


def terminal(result: GateResult) -> list[Line]:
    """At most 80 columns: the answer, each reason to fail, then the notes."""
    lines = []
    for finding in result.findings:
        lines += _wrapped(f"{finding.kind.upper()}: {finding.id}".rstrip(": "), "", "red")
        lines += _wrapped(explain(finding), "    ", "")
    by_kind: dict[str, list[Finding]] = {}
    for note in result.notes:
        by_kind.setdefault(note.kind, []).append(note)
    for kind, notes in by_kind.items():
        for note in notes[:SHOWN_NOTES]:
            lines += _wrapped(f"{kind}: {note.id}: {explain(note)}".replace(": : ", ": "), "", "")
        if len(notes) > SHOWN_NOTES:
            lines.append(Line(f"{kind}: {len(notes) - SHOWN_NOTES} more"))
    style = "green" if result.passed else "red"
    return [*lines, *_wrapped(headline(result), "", style)]


def headline(result: GateResult) -> str:
    """``gate passed: 648 checks`` or ``gate failed: 2 of 648 checks: 1 grew, 1 disappeared``."""
    checks = f"{len(result.ids):,} check" + ("" if len(result.ids) == 1 else "s")
    if result.passed:
        return f"gate passed: {checks}"
    kinds = Counter(finding.kind for finding in result.findings)
    return f"gate failed ({checks}): " + ", ".join(f"{n} {kind}" for kind, n in kinds.items())


def as_json(result: GateResult) -> str:
    """The findings and notes with their rows, schema 1."""

    def entry(finding: Finding) -> dict[str, Any]:
        return {
            "kind": finding.kind,
            "id": finding.id,
            "message": explain(finding),
            "before": finding.before,
            "after": finding.after,
            "details": finding.details,
        }

    document = {
        "schema": SCHEMA,
        "passed": result.passed,
        "checks": len(result.ids),
        "findings": [entry(f) for f in result.findings],
        "notes": [entry(f) for f in result.notes],
    }
    return json.dumps(plain(document), indent=1, allow_nan=False)


def markdown(result: GateResult) -> str:
    """For a pull request or a job summary."""
    lines = [f"### Parity: {headline(result)}", ""]
    if result.findings:
        lines += ["| | check | what |", "|---|---|---|"]
        lines += [f"| {f.kind} | {_code(f.id)} | {_cell(explain(f))} |" for f in result.findings]
        lines.append("")
    if result.notes:
        lines += ["<details><summary>Notes</summary>", ""]
        lines += [
            f"- {n.kind}: " + (f"{_code(n.id)}: " if n.id else "") + _cell(explain(n))
            for n in result.notes
        ]
        lines += ["", "</details>", ""]
    return "\n".join(lines)


def junit(result: GateResult) -> bytes:
    """A test case per check of either run; findings about no such check are cases of their own."""
    by_id: dict[str, list[Finding]] = {name: [] for name in result.ids}
    for finding in result.findings:
        by_id.setdefault(finding.id or "report", []).append(finding)
    failed = sum(bool(found) for found in by_id.values())
    counts = {"tests": str(len(by_id)), "failures": str(failed), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "parity-gate", **counts})
    for name, found in by_id.items():
        # `component/check[case]-dtype-mode`; a user's own ids are node ids of pytest
        head = re.split(r"[\[/]|::", name, maxsplit=1)[0]
        attributes = {"classname": _xml(f"parity.{head}"), "name": _xml(name)}
        case = ElementTree.SubElement(suite, "testcase", attributes)
        if found:
            kinds = ", ".join(finding.kind for finding in found)
            text = "\n".join(_xml(explain(finding)) for finding in found)
            message = {"message": _xml(f"{kinds}: {text}".partition("\n")[0]), "type": kinds}
            ElementTree.SubElement(case, "failure", message).text = text
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def baseline_text(document: dict[str, Any]) -> str:
    """JSON with a line per check, so that a diff of two baselines reads check by check."""
    rows = [json.dumps(plain(row), allow_nan=False) for row in document["checks"]]
    head = {name: value for name, value in document.items() if name != "checks"}
    text = json.dumps(plain(head), indent=1, allow_nan=False)
    return text[: text.rindex("\n}")] + ',\n "checks": [\n  ' + ",\n  ".join(rows) + "\n ]\n}\n"


def baseline_diff(before: dict[str, Any] | None, after: dict[str, Any]) -> list[Line]:
    """What changes when a baseline is replaced: checks that come, go, or carry other numbers."""
    old = {row["id"]: row for row in (before or {"checks": []})["checks"]}
    new = {row["id"]: row for row in after["checks"]}
    lines = []
    for name in sorted({*old, *new}):
        if name not in new:
            lines += _wrapped(f"- {name}: {_figures(old[name])}", "", "red")
        elif name not in old:
            lines += _wrapped(f"+ {name}: {_figures(new[name])}", "", "green")
        elif _figures(old[name]) != _figures(new[name]):
            change = f"~ {name}: {_figures(old[name])} -> {_figures(new[name])}"
            lines += _wrapped(change, "", "yellow")
    same = len(set(old) & set(new)) - sum(line.text.startswith("~ ") for line in lines)
    return [*lines, Line(f"{len(new):,} checks in the new baseline, {same:,} of them unchanged")]


def _failure(row: Row) -> str:
    place = f" at {row['first_divergence']}" if row.get("first_divergence") else ""
    problems = [p["kind"] for p in row.get("problems") or ()]
    kinds = dict.fromkeys(k for k in (row.get("problem"), *problems) if k not in (None, "values"))
    what = f" ({', '.join(map(str, kinds))})" if kinds else f": error {error_of(row):.1e}"
    return f"{row['verdict']}{place}{what}"


def _explain_rest(finding: Finding) -> str:
    """Findings about the ledger, the platform or the report as a whole."""
    new, details, kind = finding.after, finding.details, finding.kind
    if kind == "exceeded" and new is not None:
        return f"error {error_of(new):.1e}, but accepted up to {details['bound']:.1e} only"
    if kind == "expired":
        return f"accepted until {details['expires']}: {details['reason']} ({details['link']})"
    if kind == "unused":
        return "accepted, but nothing here needs it: take the entry out of the ledger"
    if kind == "accepted" and new is not None:
        return (
            f"error {error_of(new):.1e}, accepted up to {details['bound']:.1e} until "
            f"{details['expires']}: {details['reason']} ({details['link']})"
        )
    if kind == "nothing":
        return f"the report holds no checks, the baseline {details['checks']:,}"
    if kind == "new" and new is not None:
        return f"not in the baseline yet ({_figures(new)}); --update adds it"
    if kind == "platform":
        changes = [f"{n} {a} -> {b}" for n, (a, b) in details["changes"].items()]
        return f"not the baseline's, so last bits may differ: {', '.join(changes)}"
    raise ValueError(f"no wording for a finding of kind {kind!r}")


def _figures(row: Row) -> str:
    """Two digits of the error: the rest differs from run to run of another platform."""
    text = f"{row['verdict']}, error {error_of(row):.1e}, {row['values_compared']:,} values"
    compiles = row.get("compiles") or {}
    return text + "".join(f", {side} {n} graphs" for side, n in compiles.items())


def _wrapped(text: str, indent: str, style: str) -> list[Line]:
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent or "    ",
        break_on_hyphens=False,
    )
    return [Line(line, style) for line in lines]


def _cell(text: str) -> str:
    """Text inside a Markdown table."""
    escaped = re.sub(r"([\\`*_\[\]|])", r"\\\1", " ".join(text.split()))
    return escaped.replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    return "`" + " ".join(text.split()).replace("`", "'").replace("|", "\\|") + "`" if text else ""


def _xml(text: str) -> str:
    """Without the control characters that XML cannot hold at all."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)
