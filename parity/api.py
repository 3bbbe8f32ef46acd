"""``compare`` and ``assert_parity``: the harness in two calls, for arrays you already have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from parity.errors import InvalidInput, ParityMismatch, VacuousComparison
from parity.report import Problem, Report, build_report
from parity.tolerance import Tolerance
from parity.trace import Trace, flatten
from parity.verdict import Verdict


def compare(
    *,
    torch: Any = None,
    tf: Any = None,
    reference: Any = None,
    tolerance: Tolerance | float | Mapping[str, Tolerance] | None = None,
    expect_zero: Iterable[str] = (),
    **others: Any,
) -> Report:
    """Compare nested arrays of two or more sides; the first difference, in order, leads.

    Args:
        torch, tf, reference: traces, or arrays in nested mappings, sequences, named tuples and
            dataclasses; tensors of either framework are taken as they are. Mappings keep their
            order: put first what is computed first.
        tolerance: one bound for all entries, or glob of entry names -> bound; the default of each
            entry's dtype where none matches. A bare number needs no reason here, since it stands
            in your own test.
        expect_zero: globs of entries that are zero on purpose; any other entry of nothing but
            zeros makes the comparison ``invalid``.
        others: further sides by name.

    Returns:
        The report. A mismatch of values, shapes, dtypes or names is data in it and is never
        raised, and neither is a comparison that proves nothing (empty, all zero, unreadable):
        its verdict is ``invalid``.

    Raises:
        InvalidInput: fewer than two sides were given: there is nothing to report on.
    """
    given = {"torch": torch, "tf": tf, "reference": reference, **others}
    sides = {side: tree for side, tree in given.items() if tree is not None}
    if len(sides) < 2:
        have = ", ".join(sides) or "none"
        raise InvalidInput(f"compare needs two sides (torch=, tf=, reference=), got {have}")
    problems: list[Problem] = []
    trees = list(sides.values())
    if any(_same_leaves(a, b) for i, a in enumerate(trees) for b in trees[i + 1 :]):
        problems.append(Problem("same-object", details={"sides": list(sides)}))
    traces = {side: _trace(tree, side, problems) for side, tree in sides.items()}
    return build_report(
        traces,
        tolerances=_as_table(tolerance),
        expect_zero=expect_zero,
        problems=problems,
    )


def assert_parity(**arguments: Any) -> Report:
    """:func:`compare`, and raise unless the sides agree.

    Raises:
        ParityMismatch: they differ; ``error.report`` holds the evidence.
        VacuousComparison: the comparison proves nothing.
    """
    __tracebackhide__ = True
    report = compare(**arguments)
    if report.verdict is Verdict.INVALID:
        raise VacuousComparison(str(report), report)
    if not report.passed:
        raise ParityMismatch(str(report), report)
    return report


def _same_leaves(left: Any, right: Any) -> bool:
    """One object, or two containers of the very same arrays; a few shared inputs are ordinary."""
    if isinstance(left, Trace) or isinstance(right, Trace):
        return left is right
    pairs = list(zip(flatten(left), flatten(right), strict=False))
    return bool(pairs) and all(
        a is b and not isinstance(a, (bool, int, float)) for (_, a), (_, b) in pairs
    )


def _trace(tree: Any, side: str, problems: list[Problem]) -> Trace:
    """The tree as a trace; a leaf that holds no numbers becomes a finding, not an exception."""
    if isinstance(tree, Trace):
        return tree
    trace = Trace(side=side)
    for name, leaf in flatten(tree):
        try:
            trace.add(name, leaf)
        except Exception as error:  # whatever a foreign array type raises is the finding
            problems.append(Problem("unreadable", name, {"side": side, "why": str(error)}))
    return trace


def _as_table(
    tolerance: Tolerance | float | Mapping[str, Tolerance] | None,
) -> Mapping[str, Tolerance]:
    if tolerance is None:
        return {}
    if isinstance(tolerance, Mapping):
        return tolerance
    if isinstance(tolerance, Tolerance):
        return {"*": tolerance}
    return {"*": Tolerance(float(tolerance), "given by the caller")}
