"""Hypotheses about the order of elements along one axis, read from a value that torch has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.suspects import floating, suspects_first
from parity.tolerance import SAME_NUMBER

_LONGEST = 512
_MOST = 200


def along_an_axis(bench: Bench) -> Iterator[Hypothesis]:
    """A value whose slices along an axis are torch's in another order: sine and cosine in turn
    where the other side has one behind the other, parts of a concatenation exchanged."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    theirs = [v for v in bench.theirs if v.op != "input" and not v.backward
              and v.array.dtype.kind == "f" and v.array.ndim][:_MOST]  # fmt: skip
    for site in suspects_first(bench):
        values = bench.sites[site]
        held = values[0].array
        if len(values) != 1 or not floating(bench, site) or not held.ndim:
            continue
        seen: set[tuple[int, bytes]] = set()
        for other in theirs:
            if other.array.shape != held.shape or np.array_equal(other.array, held):
                continue
            for axis in range(held.ndim):
                order = _order(held, other.array, axis)
                if order is None or (axis, order.tobytes()) in seen:
                    continue
                seen.add((axis, order.tobytes()))

                def change(x: object, o: np.ndarray = order, a: int = axis) -> object:
                    return tf.gather(x, o, axis=a)

                cause, said = _reading(order)
                facts = {"was": f"its order along axis {axis}", "wanted": said, "axis": axis}
                edit = edits.at(site, edits.after(change))
                yield Hypothesis(cause, Change((edit,)), facts, site, 0.9)


def _order(ours: np.ndarray, theirs: np.ndarray, axis: int) -> np.ndarray | None:
    """Which slice of ours each slice of theirs is; None where one has no equal, or several."""
    size = ours.shape[axis]
    if not 2 <= size <= _LONGEST:
        return None
    a = np.moveaxis(ours, axis, 0).reshape(size, -1).astype(np.float64)
    b = np.moveaxis(theirs, axis, 0).reshape(size, -1).astype(np.float64)
    scale = max(1.0, float(np.abs(a[np.isfinite(a)]).max(initial=0.0)))
    first = np.abs(a[None, :, 0] - b[:, None, 0]) <= SAME_NUMBER * scale
    order = np.empty(size, np.int64)
    for row in range(size):
        fitting = [j for j in np.flatnonzero(first[row])
                   if np.allclose(a[j], b[row], rtol=0, atol=SAME_NUMBER * scale)]  # fmt: skip
        if len(fitting) != 1:
            return None
        order[row] = fitting[0]
    moved = np.array_equal(np.sort(order), np.arange(size)) and np.any(order != np.arange(size))
    return order if moved else None


def _reading(order: np.ndarray) -> tuple[str, str]:
    """The cause that an order is, and what it is called."""
    size = len(order)
    plain = np.arange(size)
    if np.array_equal(order, plain[::-1]):
        return "reversed-axis", "the reverse"
    for parts in range(2, 9):
        if size % parts == 0:
            block = plain.reshape(parts, -1)
            if np.array_equal(order, block.T.reshape(-1)):
                return "element-order", f"the elements of its {parts} parts in turn"
            if np.array_equal(order, plain.reshape(-1, parts).T.reshape(-1)):
                return "element-order", f"every {parts}th element, one group behind the other"
    for step in (1, -1):
        if size > 2 and np.array_equal(order, np.roll(plain, step)):
            return "off-by-one", f"the same, rolled by {step:+d}"
    shown = ", ".join(map(str, order[:8])) + (", ..." if size > 8 else "")
    return "element-order", f"the order [{shown}]"
