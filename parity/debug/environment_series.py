"""How one environment's field, over all steps, follows from the other's: scaled, clipped, late."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from parity.tolerance import RUNNING_STATISTICS, SAME_ARRAY, SAME_NUMBER


@dataclass(frozen=True)
class Relation:
    """``tf = f(torch)``, or the reverse: a cause, its words, and the error that is left."""

    cause: str
    text: str
    after: float


def relation(
    field: str,
    left: np.ndarray,
    right: np.ndarray,
    bound: float,
    begins: Collection[int] = (),
) -> Relation | None:
    """The first relation of two series ``[steps, ...]`` that holds at every step.

    Args:
        field: ``reward``, ``observation`` or ``observation/...``: what the words say.
        bound: the error up to which a relation holds, relative to the largest value.
        begins: rows at which an episode begins: what is late there is of the episode before.
    """
    if left.shape != right.shape:
        return _of_shapes(field, left, right, bound)
    a, b = (np.asarray(x, np.float64) for x in (left, right))
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    limit = bound * max(1.0, float(np.abs(a).max(initial=0)), float(np.abs(b).max(initial=0)))
    what = field.split("/")[0]
    for found in (
        *_rounded(left, right),
        *_sign(what, a, b),
        *_scaled(what, a, b, limit),
        *_clipped(what, a, b, limit),
        *_late(a, b, limit, begins),
        *_reordered(what, a, b),
        *_running(what, a, b),
        *_affine(what, a, b, limit),
    ):
        return found
    return None


def _of_shapes(field: str, left: np.ndarray, right: np.ndarray, bound: float) -> Relation | None:
    """The same numbers in another order of axes, or flattened."""
    if left.size != right.size or left.shape[0] != right.shape[0]:
        return None
    if left.ndim == right.ndim:
        from itertools import permutations

        for order in permutations(range(1, left.ndim)):
            moved = left.transpose(0, *order)
            if moved.shape == right.shape and np.array_equal(moved, right):
                text = f"tf's {field} is torch's with the axes {tuple(n - 1 for n in order)}"
                return Relation("axis-order", text, 0.0)
    if np.array_equal(left.reshape(right.shape), right):
        shapes = f"{left.shape[1:]} in torch, {right.shape[1:]} in tf"
        return Relation("observation-order", f"the {field} is flattened on one side: {shapes}", 0.0)
    return None


def _rounded(left: np.ndarray, right: np.ndarray) -> Iterator[Relation]:
    for a, b, side in ((left, right, "tf"), (right, left, "torch")):
        if a.dtype == np.float64 and np.array_equal(a.astype(np.float32), b.astype(np.float32)):
            if np.array_equal(b, b.astype(np.float32)):
                yield Relation("dtype", f"{side} rounds to float32 what the other keeps", 0.0)


def _sign(what: str, a: np.ndarray, b: np.ndarray) -> Iterator[Relation]:
    for x, y, side in ((a, b, "tf"), (b, a, "torch")):
        if what == "reward" and np.array_equal(np.sign(x), y) and len(np.unique(np.abs(x))) > 1:
            yield Relation("reward-clip", f"{side} takes the sign of the reward", 0.0)


def _scaled(what: str, a: np.ndarray, b: np.ndarray, limit: float) -> Iterator[Relation]:
    if np.unique(a).size < 2 and what != "reward":
        return
    size = float((a * a).sum())
    factor = float((a * b).sum()) / size if size else 0.0
    if (
        factor
        and not np.isclose(factor, 1.0, rtol=SAME_NUMBER)
        and (after := float(np.abs(b - factor * a).max())) <= limit * max(1, abs(factor))
    ):
        if factor == -1.0 or np.isclose(factor, -1.0, rtol=SAME_NUMBER):
            yield Relation("sign", f"tf's {what} has the other sign", after)
        else:
            yield Relation(f"{what}-scale", f"tf's {what} is {factor:.6g} times torch's", after)


def _clipped(what: str, a: np.ndarray, b: np.ndarray, limit: float) -> Iterator[Relation]:
    for x, y, side in ((a, b, "tf"), (b, a, "torch")):
        low, high = float(y.min()), float(y.max())
        if low == high and not (x == low).any():
            continue
        hit = (np.abs(x - y) > limit) & ((y == low) | (y == high))
        if hit.any() and (after := float(np.abs(np.clip(x, low, high) - y).max())) <= limit:
            ends = [f"{v:.6g}" for v, at in ((low, x < low), (high, x > high)) if at.any()]
            text = f"{side} clips the {what} at {' and '.join(ends)}"
            yield Relation(f"{what}-clip", text, after)


def _late(
    a: np.ndarray, b: np.ndarray, limit: float, begins: Collection[int]
) -> Iterator[Relation]:
    rows = [t for t in range(1, len(a)) if t not in begins]
    if len(rows) < 3:
        return
    before = [t - 1 for t in rows]
    for x, y, side in ((a, b, "tf"), (b, a, "torch")):
        if np.unique(x, axis=0).shape[0] > 2:
            after = float(np.abs(y[rows] - x[before]).max())
            if after <= limit:
                yield Relation("off-by-one", f"{side} is one step late", after)


def _reordered(what: str, a: np.ndarray, b: np.ndarray) -> Iterator[Relation]:
    if a.ndim < 2 or what != "observation":
        return
    for axis in range(1, a.ndim):
        if np.array_equal(np.flip(a, axis), b):
            text = f"axis {axis - 1} of tf's observation runs backwards (frames, newest first)"
            yield Relation("observation-order", text, 0.0)
        for by in range(1, min(a.shape[axis], 8)):
            if np.array_equal(np.roll(a, by, axis), b) and a.ndim == 2 and a.shape[1] > 2:
                text = f"tf's observation is torch's, rolled by {by}"
                yield Relation("observation-order", text, 0.0)
    if a.ndim == 2:
        order = [
            next((j for j in range(a.shape[1]) if np.array_equal(a[:, j], b[:, i])), None)
            for i in range(a.shape[1])
        ]
        if None not in order and order != list(range(a.shape[1])):
            text = f"tf's components are torch's in the order {order}"
            yield Relation("observation-order", text, 0.0)
    elif a.shape[1] == a.shape[2] and np.array_equal(a.swapaxes(1, 2), b):
        yield Relation("axis-order", "tf's frames are transposed", 0.0)


def _running(what: str, a: np.ndarray, b: np.ndarray) -> Iterator[Relation]:
    """One side divides by running statistics, as NormalizeObservation does."""
    if what != "observation" or len(a) < 4:
        return
    for x, y, side in ((a, b, "tf"), (b, a, "torch")):
        mean, variance, count = np.zeros(x.shape[1:]), np.ones(x.shape[1:]), 1e-4
        worst = 0.0
        for row, made in zip(x, y, strict=True):
            delta, total = row - mean, count + 1
            mean = mean + delta / total
            variance = (variance * count + delta**2 * count / total) / total
            count = total
            worst = max(worst, float(np.abs((row - mean) / np.sqrt(variance + 1e-8) - made).max()))
        if worst < RUNNING_STATISTICS:
            text = f"{side} normalises observations by running statistics, the other does not"
            yield Relation("observation-normalisation", text, worst)


def _affine(what: str, a: np.ndarray, b: np.ndarray, limit: float) -> Iterator[Relation]:
    """``tf = factor * torch + shift``, each component with its own numbers."""
    x, y = a.reshape(len(a), -1), b.reshape(len(b), -1)
    if len(x) < 4 or x.shape[1] > 4096:
        return
    centred = x - x.mean(0)
    size = (centred**2).sum(0)
    moving = size > 1e-20
    factor = np.where(moving, (centred * (y - y.mean(0))).sum(0) / np.where(moving, size, 1), 1.0)
    shift = y.mean(0) - factor * x.mean(0)
    after = float(np.abs(y - factor * x - shift).max())
    if after > limit * max(1.0, float(np.abs(factor).max())):
        return
    changed = np.flatnonzero(
        ~(np.isclose(factor, 1) & np.isclose(shift, 0, atol=SAME_ARRAY["atol"]))
    )
    if not moving.any() or not changed.size:
        return
    near = np.isclose(factor[changed], 1.0).all()
    kind = f"{what}-shift" if near else f"{what}-scale"
    number = ", ".join(f"{factor[i]:.5g} * torch {shift[i]:+.5g}" for i in changed[:3])
    where = f" in components {changed.tolist()[:8]}" if x.shape[1] > 1 else ""
    yield Relation(kind, f"tf's {what} is {number}{where}", after)
