"""The rows in which float32 left more than rounding may.

Where a value comes to lie within a rounding of a kink (ReLU at zero, a clip's bound) the sides may
take different branches, and the gradient of that row differs by far more than rounding. Such rows
are few in a correct pair, and their differences go on from layer to layer in these rows alone. The
gradient of a parameter sums over all rows: what the rows add to it follows from their differences,
since the backward pass of one layer is linear in the gradient that it is given. What is left over
must be rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parity.tolerance import float32_rounding_bound

if TYPE_CHECKING:
    from parity.debug.matching import Match
    from parity.debug.module_report import Run
    from parity.report import Entry

_BY_ROW = ("forward/", "output/", "grad_output/", "grad_input/")


def doubtful(run: Run, count: int, most: int) -> list[int] | None:
    """Rows of a float32 run in which the sides are further apart than rounding explains.

    Args:
        count: rows of the inputs.
        most: more rows than these are no exception.

    Returns:
        The rows, none where all is rounding; None where other rows, or something else than rows,
        are in doubt.
    """
    rows: set[int] = set()
    summed: list[tuple[Entry, float]] = []
    for entry in run.report.failing:
        if any(not d.excusable for d in entry.differences):
            return None
        values = run.traces["torch"][entry.name]
        largest = max(abs(float(values.min())), abs(float(values.max())))
        bound = float32_rounding_bound(largest)
        if entry.worst.max_abs <= bound:
            continue
        if entry.name.startswith("grad/"):
            summed.append((entry, bound))
            continue
        if not entry.name.startswith(_BY_ROW) or values.ndim < 1 or len(values) != count:
            return None
        gap = np.abs(values - run.traces["tf"][entry.name]).reshape(count, -1).max(axis=1)
        rows.update(map(int, np.flatnonzero(~(gap <= bound))))
        if len(rows) > most:
            return None
    found = sorted(rows)
    return found if all(_follows(run, entry, found, bound) for entry, bound in summed) else None


def _follows(run: Run, entry: Entry, rows: list[int], bound: float) -> bool:
    """Whether the gradients of these rows explain how far a parameter's gradients are apart."""
    moved = next((m for m in run.plan.moved if f"grad/{m.name}" == entry.name), None)
    if moved is None or moved.match is None or not rows or _called_again(run, moved.match):
        return False
    expected = _added(moved.match, rows, moved.torch.path)
    left, right = (run.traces[side][entry.name] for side in ("torch", "tf"))
    if expected is None or expected.shape != left.shape:
        return False
    rest = left - right
    rest -= expected
    return bool(np.abs(rest, out=rest).max(initial=0.0) <= bound)


def _called_again(run: Run, match: Match) -> bool:
    """Whether the layer ran more than once: its gradient sums over its calls too."""
    layer = match.torch[-1].layer
    calls = [c for m in run.matching.matches for c in m.torch if c.layer is layer]
    return len(calls) > 1 or len(match.torch) > 1 or layer is None


def _added(match: Match, rows: list[int], name: str) -> np.ndarray | None:
    """What the differences of these rows add to the gradient of a parameter of one layer."""
    from parity.debug import axes, modules

    call = match.torch[-1]
    gradients = match.gradients()
    if call.replay_gradients is None or len(gradients) != 1:
        return None
    one, other = gradients[0].torch, gradients[0].tf
    if not isinstance(call.output_gradient, np.ndarray) or one is None or other is None:
        return None
    other = axes.to_torch(np.asarray(other), match.order)
    count = len(one) if one.ndim else 0
    if other.shape != one.shape or not call.inputs:
        return None
    given = [a[rows] if a.ndim and len(a) == count else a for a in call.inputs]
    try:
        with modules.unmoved([call.layer]):
            return call.replay_gradients(given, one[rows] - other[rows]).parameters.get(name)
    except Exception:  # a layer that takes no other number of rows
        return None
