"""Every sentence that a failed comparison says. Reports hold facts; the wording is only here.

A message leads with what a tired reader needs: the verdict and the subject, the first difference
with both values, and who is off. The table follows, in execution order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from parity import message_layers
from parity.compare import Difference
from parity.report import Entry, Problem, Report
from parity.text import WIDTH, column, cut, printable, wrap
from parity.verdict import Verdict

ROWS = 10
"""Differing entries shown at the default verbosity; the rest are counted."""

__all__ = ["WIDTH", "cut", "printable", "render", "wrap"]

MEANING: Mapping[Verdict, str] = {
    Verdict.AGREE: "within tolerance",
    Verdict.ROUNDING: "float32 rounding: in float64 the sides agree, so they are one function",
    Verdict.CHAOS: "rounding amplified by a closed loop; the horizon moves with precision",
    Verdict.LATENT: "hidden by this data: within tolerance in float32, apart in float64",
    Verdict.DIVERGE: "the sides compute different things",
    Verdict.INVALID: "proves nothing",
}
_ROUNDED = "within tolerance in float32; in float64 apart by a rounding to float32"
_COLOURS: Mapping[Verdict, str] = {
    Verdict.AGREE: "green",
    Verdict.ROUNDING: "yellow",
    Verdict.CHAOS: "yellow",
    Verdict.LATENT: "magenta",
    Verdict.DIVERGE: "red",
    Verdict.INVALID: "red",
}


def render(report: Report, *, verbosity: int = 0, colour: bool = False) -> str:
    """The report as text of at most 80 columns (names are cut in the middle to fit).

    Args:
        verbosity: 0 shows the first differing entries, 1 all of them, 2 agreeing ones and the
            hypotheses that were tried as well.
        colour: use ANSI colours; the text is the same without.
    """
    lines = [headline(report, colour=colour), *wrap(opening(report), "  ")]
    first = report.first_divergence
    if first is not None:
        lines += first_difference(report, first)
        lines += source_lines(report, first)
    lines += [line for p in report.problems for line in wrap(problem_text(p), "  ")]
    lines += _causes(report)
    lines += wrap(unexplained(report), "  ")
    lines += message_layers.layers(report.subject, verbosity=verbosity)
    notes = message_layers.notes(report.subject, report.causes)
    lines += [line for note in notes for line in wrap(printable(note), "  ")]
    shown = list(report.entries if verbosity >= 2 else report.failing)
    if shown:
        cap = len(shown) if verbosity else ROWS
        lines += ["", *table(shown[:cap])]
        if len(shown) > cap:
            lines.append(f"  ... and {len(shown) - cap} more entries that differ (-v shows all)")
    if verbosity >= 2:
        lines += message_layers.tried(report.subject)
    lines += ["", *footer(report)]
    return "\n".join(lines)


def unexplained(report: Report) -> str:
    """What is said of a user's pair that differs where no cause was found; empty elsewhere."""
    asked = report.subject.get("check") in ("function", "optimizer", "environment", "agent")
    if not asked or report.causes or report.first_divergence is None or report.passed:
        return ""
    return (
        "no known cause removes this difference; the place is sure: compare what both sides "
        "compute there"
    )


def headline(report: Report, *, colour: bool = False) -> str:
    """``DIVERGE  component/check[case]-float32-eager``."""
    word = paint(report.verdict, str(report.verdict).upper()) if colour else None
    return f"{word or str(report.verdict).upper()}  {printable(report.identifier)}"


def opening(report: Report) -> str:
    """Why a check does not fail although differences follow; empty for other verdicts."""
    worst = report.evidence.worst if report.evidence is not None else None
    error = f" (worst error {worst.max_abs:.2g})" if worst is not None else ""
    why = (
        "a rounding to float32 inside explains it" if _rounds(report) else "other data may show it"
    )
    return {
        Verdict.ROUNDING: (
            f"the check passes: in float64 the sides agree{error}, so they compute one function; "
            "what differs below is what float32 rounds"
        ),
        Verdict.CHAOS: (
            "the check passes: the sides part as far as rounding grows in a closed loop, and later "
            "in float64 than in float32"
        ),
        Verdict.LATENT: (
            f"the check passes in float32, in float64 the sides are apart{error}: {why} "
            "(--strict makes it a failure)"
        ),
    }.get(report.verdict, "")


def _rounds(report: Report) -> bool:
    """True where a value rounded to float32 is the whole of what the float64 run shows."""
    return {c["cause"] for c in report.causes} == {"float32-inside"}


def first_difference(report: Report, entry: Entry) -> list[str]:
    """Where the sides part, with the values there and who is off."""
    d = _leading_pair(report, entry)
    lines = wrap(f"first difference: {printable(entry.name)}{_place(d)}", "", indent="    ")
    if d.problem == "missing":
        holder = d.sides[0] if d.shapes[0] is not None else d.sides[1]
        lacking = d.sides[1] if holder == d.sides[0] else d.sides[0]
        return [*lines, f"  only {holder} has it; {lacking} records no such entry"]
    if d.problem == "shape":
        return [*lines, "  shapes differ: " + _both(d.sides, d.shapes)]
    if d.problem == "dtype":
        return [*lines, "  dtypes differ: " + _both(d.sides, d.dtypes)]
    if d.values is not None:
        values = [f"{s} {v:.10g}" for s, v in zip(d.sides, d.values, strict=True)]
        lines.append("  " + "   ".join(values + _reference_value(entry, d)))
    if d.problem == "non-finite":
        lines.append("  NaN or infinity on one side only")
        return lines
    gap = abs(d.values[0] - d.values[1]) if d.values else d.max_abs
    lines.append(f"  |{d.sides[0]} - {d.sides[1]}| = {gap:.3g}, allowed {d.allowed:.3g}")
    return lines + [f"  {line}" for line in who_is_off(entry)]


def who_is_off(entry: Entry) -> list[str]:
    """Which side the float64 reference speaks against. Evidence, not part of the verdict."""
    against = {
        next(s for s in d.sides if s != "reference"): d
        for d in entry.differences
        if "reference" in d.sides and not d.structural
    }
    if not against:
        return []
    off = [side for side, d in against.items() if not d.agrees]
    errors = ", ".join(f"{side} {d.max_abs:.2g}" for side, d in against.items())
    if not off:
        return [f"both are within tolerance of the reference ({errors})"]
    verb = "is" if len(off) == 1 else "are"
    return [f"{' and '.join(off)} {verb} off the float64 reference (errors: {errors})"]


def source_lines(report: Report, entry: Entry) -> list[str]:
    """Where the sides' code stands: of the side that is off, else of both."""
    sources = report.subject.get("source") or {}
    off = [
        next(side for side in d.sides if side != "reference")
        for d in entry.differences
        if "reference" in d.sides and not d.agrees
    ]
    sides = [s for s in sources if s in off] or [s for s in sources if s != "reference"]
    return [f"  {side} is in {printable(str(sources[side]))}" for side in sides]


def table(entries: list[Entry]) -> list[str]:
    """One row per entry, in execution order: the pair furthest apart."""
    lines = [f"  {'entry':<32} {'pair':<15} {'differing':>11} {'max abs':>8} {'needs':>7}"]
    for entry in entries:
        d = entry.worst
        name, pair = column(entry.name, 32), column("-".join(_short(d.sides)), 15)
        if d.structural and d.problem != "non-finite":
            lines.append(f"  {name} {pair} {structure_text(d):>28}")
            continue
        over = f"{d.over}/{d.size}"
        lines.append(f"  {name} {pair} {over:>11} {d.max_abs:>8.1e} {d.needed:>7.1e}")
    return lines


def footer(report: Report) -> list[str]:
    """What would have passed, what was compared, the evidence, and how to see it again."""
    lines = []
    needed = max((d.needed for e in report.failing for d in e.differences), default=0.0)
    if needed and not any(d.structural for e in report.failing for d in e.differences):
        scale = max(d.headroom for e in report.failing for d in e.differences)
        name = max(report.failing, key=lambda e: e.worst.needed).name
        # just over the bound, two digits would say that the bound itself is enough
        shown = f"{needed:.2g}" if scale > 1.1 else f"{needed:.4g}"
        lines += wrap(
            f"would pass at: atol >= {shown}, {scale:.3g} times the tolerance "
            f"(set by {printable(name)})",
            "",
        )
    agreeing = len(report.entries) - len(report.failing)
    lines += wrap(
        f"compared {report.values_compared:,} values in {len(report.entries)} entries of "
        f"{', '.join(report.sides)}; {agreeing} agree",
        "",
    )
    if report.evidence is not None:
        worst = report.evidence.worst
        error = f"worst error {worst.max_abs:.2g}" if worst else "nothing compared"
        rows = sampled(report.evidence)
        lines += wrap(f"float64 evidence{rows}: {report.evidence.verdict} ({error})", "")
    latent = report.verdict is Verdict.LATENT and _rounds(report)
    meaning = _ROUNDED if latent else MEANING[report.verdict]
    lines += wrap(f"verdict {report.verdict}: {meaning}", "")
    if report.reproduce:
        lines.append(f"reproduce: {report.reproduce}")  # one line: it is made to be pasted
    return lines


def sampled(evidence: Report) -> str:
    """Where the evidence was taken on some of the rows: on how many, and which."""
    rows = evidence.subject.get("rows")
    if not rows:
        return ""
    text = f" on {len(rows)} of {evidence.subject['of']} rows, those furthest apart in float32"
    left_out = evidence.subject.get("without")
    return text + (f", without {len(left_out)} large gradients that agree" if left_out else "")


def problem_text(problem: Problem) -> str:
    """A finding that is not a difference of numbers, and what to do about it."""
    make = _PROBLEMS.get(problem.kind) or message_layers.PROBLEMS.get(problem.kind)
    name = printable(problem.name)
    if make is None:
        facts = ", ".join(f"{k}={v}" for k, v in problem.details.items())
        return f"{problem.kind}: {name} {facts}".rstrip()
    return make(name, problem.details)


def _unmatched(name: str, d: Mapping[str, Any]) -> str:
    hint = f"; did you mean {printable(str(d['suggestion']))}?" if d.get("suggestion") else ""
    missing, present = ", ".join(d["missing"]), ", ".join(d["present"])
    return f"unmatched: {name} is recorded by {present}, not by {missing}{hint}"


def _gradient(name: str, d: Mapping[str, Any]) -> str:
    where = printable(str(d.get("input", name)))
    if d.get("found") == "none":
        return (
            f"no gradient reaches {where} on {d['side']}, where one must: it is detached, stopped, "
            "or the output does not depend on it"
        )
    return f"a gradient reaches {where} on {d['side']}, where none may: a stop-gradient is missing"


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


_PROBLEMS: Mapping[str, Callable[[str, Mapping[str, Any]], str]] = {
    "nothing-compared": lambda name, d: (
        f"nothing was compared: {', '.join(d['sides'])} hold no values; "
        "check that the recorders ran"
    ),
    "empty": lambda name, d: (
        f"empty: {name} has no elements; an empty array agrees with anything, so give the case data"
    ),
    "all-zero": lambda name, d: (
        f"all zero: {name} is zero on every side, which would hide most faults; give the case "
        "other data, or list the entry in expect_zero if zero is the point"
    ),
    "no-finite": lambda name, d: (
        f"nothing finite: {name} is NaN or infinite throughout, on every side; that both fail "
        "alike proves nothing, so give the case data on which they don't"
    ),
    "same-object": lambda name, d: (
        f"one object was given as {' and '.join(d['sides'])}: it always agrees with itself"
    ),
    "unreadable": lambda name, d: f"unreadable: {name} of {d['side']}: {printable(d['why'])}",
    "statistics": lambda name, d: (
        f"not proved: of {d['values']:,} values in {_entries(d['entries'])} ({name} first) a side "
        "recorded statistics only; none of them is too far apart, which does not show that the "
        "values agree; record with --detail full"
    ),
    "unmatched": _unmatched,
    "broadcast": lambda name, d: (
        f"silent broadcast in {d.get('side', name)}: {d['operation']} of shapes "
        f"{' and '.join(str(tuple(s)) for s in d['shapes'])} grew to {tuple(d['result'])}"
        f"{' at ' + printable(str(d['where'])) if d.get('where') else ''}; "
        "give both operands the same shape"
    ),
    "gradient": _gradient,
    "order": lambda name, d: (
        "the sides call the same layers in another order: "
        + "; ".join(f"{side}: {printable(str(order))}" for side, order in d.items())
    ),
    "layer-error": lambda name, d: (
        f"{name}: the layer of {d['side']} refuses the other side's input: "
        f"{printable(str(d['error']))}"
    ),
    "retrace": lambda name, d: (
        f"{d['side']} traced {name} {d['traces']} times, declared {d['declared']}: "
        + (
            "something in its arguments changes from call to call (a Python number, a shape)"
            if d["traces"] > d["declared"]
            else "a branch that should have a graph of its own shares one, or nothing was compiled"
        )
    ),
    "network": lambda name, d: (
        f"the network {name} differs by itself ({d['verdict']}), first at {d['place']}"
    ),
    "environment-stopped": lambda name, d: (
        f"the {name} environment raised where the other went on, {printable(str(d['why']))}"
    ),
    "info-missing": lambda name, d: (
        f"info: {name} is reported by {d['has']} only; add it on the other side, or drop it"
    ),
    "parted": lambda name, d: (
        f"the {d.get('who', 'sides')} parted first, at step {d.get('step')}: field "
        f"{d.get('field')} differs while everything before it agrees"
    ),
}


def cause_lines(cause: Mapping[str, Any]) -> list[str]:
    """A cause that was tried and removes the difference; then the fix, one thing to a line."""
    text = f"cause: {printable(str(cause.get('cause', 'unnamed')))}"
    if cause.get("text"):
        text += f": {printable(str(cause['text']))}"
    if "before" in cause and "after" in cause:
        text += f" (error {cause['before']:.2g} -> {cause['after']:.2g})"
    lines = [text]
    if cause.get("fix"):
        lines.append(f"fix: {printable(str(cause['fix']))}")
    if cause.get("alternatives"):
        others = [a.get("cause", a) if isinstance(a, Mapping) else a for a in cause["alternatives"]]
        lines.append(f"these data also fit: {printable(', '.join(map(str, others)))}")
    if cause.get("docs"):
        lines.append(f"more: {more(str(cause['docs']))}")
    return lines


def _causes(report: Report) -> list[str]:
    lines = []
    for cause in report.causes:
        first, *rest = cause_lines(cause)
        lines += [*wrap(first, "  "), *(line for text in rest for line in wrap(text, "    "))]
    return lines


def more(docs: str) -> str:
    """Where to read on: as a command, since a reader may have no checkout with the page."""
    page, _, anchor = printable(docs).partition("#")
    return f"parity explain {anchor}" if page == "docs/porting.md" and anchor else printable(docs)


def paint(verdict: Verdict, text: str) -> str:
    """``text`` in the colour of the verdict, as ANSI escapes."""
    import click

    return click.style(text, fg=_COLOURS[verdict], bold=True)


def _leading_pair(report: Report, entry: Entry) -> Difference:
    pair = [s for s in report.sides if s != "reference"][:2]
    d = entry.pair(*pair) if len(pair) == 2 else None
    return d if d is not None and not d.agrees else entry.worst


def place_text(report: Report, entry: Entry) -> str:
    """The index of the worst element, as it is written after the entry's name."""
    return _place(_leading_pair(report, entry)).strip()


def _place(d: Difference) -> str:
    if d.structural and d.problem != "non-finite":
        return ""
    if d.statistic is not None:  # the values themselves were not recorded
        return f" in its {_STATISTICS.get(d.statistic, d.statistic)}"
    return f" at {list(d.worst)}" if d.worst else ""


_STATISTICS = {
    "nan": "count of NaN",
    "inf": "count of infinities",
    "sha256": "checksum",
    "std": "standard deviation",
}


def _both(sides: tuple[str, str], facts: tuple[Any, Any]) -> str:
    return ", ".join(f"{side} {fact}" for side, fact in zip(sides, facts, strict=True))


def _reference_value(entry: Entry, d: Difference) -> list[str]:
    """The reference's value, where it stands at the same worst element."""
    if "reference" in d.sides:  # it stands there already
        return []
    for other in entry.differences:
        if "reference" in other.sides and other.worst == d.worst and other.values:
            return [f"reference {other.values[other.sides.index('reference')]:.10g}"]
    return []


def _short(sides: tuple[str, str]) -> list[str]:
    return ["ref" if side == "reference" else side for side in sides]


def structure_text(d: Difference) -> str:
    """What differs where there are no two values to subtract."""
    if d.problem == "missing":
        return "missing on one side"
    facts = d.shapes if d.problem == "shape" else d.dtypes
    return cut(f"{facts[0]} | {facts[1]}", 28)
