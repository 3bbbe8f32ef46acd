"""``compare`` and ``assert_parity``: the harness in two calls, for arrays you already have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from parity.errors import InvalidInput, ParityMismatch, VacuousComparison
from parity.report import Problem, Report, build_report
from parity.tolerance import Tolerance
from parity.trace import Trace, flatten
from parity.verdict import Verdict

_POSITIONAL = "{0} takes its sides by name: parity.{0}(torch=..., tf=...)"


def compare(
    *positional: Any,
    torch: Any = None,
    tf: Any = None,
    reference: Any = None,
    tolerance: Tolerance | float | Mapping[str, Tolerance | float] | None = None,
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
        TypeError: a side was given without its name.
        InvalidInput: fewer than two sides were given: there is nothing to report on; or
            ``tolerance`` is not a bound.
    """
    if positional:
        raise TypeError(_POSITIONAL.format("compare"))
    given = {"torch": torch, "tf": tf, "reference": reference, **others}
    sides = {side: tree for side, tree in given.items() if tree is not None}
    if len(sides) < 2:
        have = ", ".join(sides) or "none"
        raise InvalidInput(f"compare needs two sides (torch=, tf=, reference=), got {have}")
    table = _as_table(tolerance)
    problems: list[Problem] = []
    leaves = {side: _leaves(tree, side, problems) for side, tree in sides.items()}
    if any(_same_leaves(a, b) for a, b in combinations(leaves.values(), 2)):
        problems.append(Problem("same-object", details={"sides": list(sides)}))
    return build_report(
        _traces(leaves, problems),
        tolerances=table,
        expect_zero=(expect_zero,) if isinstance(expect_zero, str) else expect_zero,
        problems=problems,
    )


def assert_parity(*positional: Any, **arguments: Any) -> Report:
    """:func:`compare`, and raise unless the sides agree.

    Raises:
        ParityMismatch: they differ; ``error.report`` holds the evidence.
        VacuousComparison: the comparison proves nothing.
    """
    __tracebackhide__ = True
    if positional:
        raise TypeError(_POSITIONAL.format("assert_parity"))
    report = compare(**arguments)
    if report.verdict is Verdict.INVALID:
        raise VacuousComparison(str(report), report)
    if not report.passed:
        raise ParityMismatch(str(report), report)
    return report


Leaves = list[tuple[str, Any]]


def _leaves(tree: Any, side: str, problems: list[Problem]) -> Leaves | Trace | None:
    """Names and leaves of a tree; None, and a finding, if it cannot be walked through."""
    if isinstance(tree, Trace):
        return tree
    try:
        return list(flatten(tree, keep_empty=True))
    except RecursionError:
        why = "nested too deeply, or it contains itself"
    except Exception as error:  # a container's own code raised it
        why = f"{type(error).__name__}: {error}"
    problems.append(Problem("unreadable", "value", {"side": side, "why": why}))
    return None


def _same_leaves(left: Leaves | Trace | None, right: Leaves | Trace | None) -> bool:
    """One object, or two containers of the very same arrays; a few shared inputs are ordinary."""
    if left is None or right is None:
        return False
    if isinstance(left, Trace) or isinstance(right, Trace):
        return left is right
    pairs = list(zip(left, right, strict=False))
    return bool(pairs) and all(_same(a, b) for (_, a), (_, b) in pairs)


def _same(a: Any, b: Any) -> bool:
    """One object, or two views of the same memory (``tensor`` and ``tensor.numpy()``)."""
    if a is b:
        return not isinstance(a, (bool, int, float))
    place = _memory(a)
    return place is not None and place == _memory(b)


def _memory(leaf: Any) -> tuple[Any, ...] | None:
    """Where the numbers of a NumPy array or a torch tensor stand; None for anything else."""
    try:
        if isinstance(leaf, np.ndarray):
            address, strides = leaf.__array_interface__["data"][0], leaf.strides
        else:
            address = leaf.data_ptr()
            strides = tuple(leaf.element_size() * n for n in leaf.stride())
        return (address, tuple(leaf.shape), strides) if address and 0 not in leaf.shape else None
    except Exception:  # no such tensor, or one without memory of its own
        return None


def _traces(
    leaves: Mapping[str, Leaves | Trace | None], problems: list[Problem]
) -> dict[str, Trace]:
    """A trace per side. A leaf that holds no numbers becomes a finding, not an exception.

    Its entry is left out on every side: it is unreadable on one, not missing there.
    """
    traces: dict[str, Trace] = {}
    unreadable: set[str] = set()
    if None in leaves.values():
        return {side: Trace(side=side) for side in leaves}
    for side, given in leaves.items():
        if isinstance(given, Trace):
            traces[side] = given
            continue
        traces[side] = trace = Trace(side=side)
        for name, leaf in given or ():
            try:
                trace.add(name, leaf)
            except Exception as error:  # whatever a foreign array type raises is the finding
                problems.append(Problem("unreadable", name, {"side": side, "why": str(error)}))
                unreadable.add(name)
    if not unreadable:
        return traces
    return {side: _without(trace, unreadable) for side, trace in traces.items()}


def _without(trace: Trace, names: set[str]) -> Trace:
    kept = {name: array for name, array in trace.items() if name not in names}
    return Trace(kept, side=trace.side, meta=trace.meta)


def _as_table(
    tolerance: Tolerance | float | Mapping[str, Tolerance | float] | None,
) -> Mapping[str, Tolerance]:
    if tolerance is None:
        return {}
    if isinstance(tolerance, Mapping):
        return {glob: _as_tolerance(bound) for glob, bound in tolerance.items()}
    return {"*": _as_tolerance(tolerance)}


def _as_tolerance(bound: Any) -> Tolerance:
    if isinstance(bound, Tolerance):
        return bound
    if not isinstance(bound, (int, float, np.number)):
        raise InvalidInput(f"tolerance={bound!r}: expected a number or a Tolerance")
    return Tolerance(float(bound), "given by the caller")
