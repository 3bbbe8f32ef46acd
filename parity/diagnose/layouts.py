"""Hypotheses about axes and indices: a reshape for a transpose, pairs reversed, off by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from parity.debug.intermediates import Value
from parity.debug.sites import Site
from parity.diagnose.base import Bench, Hypothesis
from parity.diagnose.operations import REDUCTIONS, at_site, calls, suspects_first


def layouts(bench: Bench) -> Iterator[Hypothesis]:
    """Axes in another order: a reshape for a transpose, reversed pairs of padding, a flip."""
    from parity.backends import tf_edits as edits

    inputs = [np.asarray(a) for a in bench.inputs["tf"].values()]
    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None:
            continue
        for index, given in enumerate(value.call.inputs):
            array = edits.array(given)
            if array is None:
                continue
            if array.dtype.kind in "iu" and 0 < array.size <= 16:
                yield from _integers(site, value, index, array)
            elif array.dtype.kind in "fiub" and array.ndim >= 2:
                yield from _transposes(site, index, array, inputs)


def _transposes(
    site: Site, index: int, array: np.ndarray, inputs: list[np.ndarray]
) -> Iterator[Hypothesis]:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    for source in inputs:
        if source.shape == array.shape or sorted(source.shape) != sorted(array.shape):
            continue
        if not np.array_equal(source.reshape(-1).astype(array.dtype), array.reshape(-1)):
            continue
        for order in permutations(range(source.ndim)):
            if tuple(source.shape[i] for i in order) != array.shape:
                continue

            def moved(call: Any, order: Any = order, source: Any = source) -> Any:
                flat = tf.reshape(edits.tensor(call.inputs[index]), source.shape)
                return tf.transpose(flat, order)

            yield at_site(site, edits.operand(index, moved), "reshape-for-transpose", 0.9,
                       order=order, shape=source.shape)  # fmt: skip
    for order in permutations(range(min(array.ndim, 4))):
        if array.ndim > 4 or order == tuple(range(array.ndim)):
            continue
        if tuple(array.shape[i] for i in order) == array.shape:
            change = edits.operand(
                index, lambda call, o=order: tf.transpose(edits.tensor(call.inputs[index]), o)
            )
            yield at_site(site, change, "axis-order", 1.2, order=order, shape=array.shape)
    for axis in range(array.ndim):
        change = edits.operand(
            index, lambda call, a=axis: tf.reverse(edits.tensor(call.inputs[index]), [a])
        )
        yield at_site(site, change, "reversed-axis", 1.6, axis=axis)


def _integers(site: Site, value: Value, index: int, array: np.ndarray) -> Iterator[Hypothesis]:
    """Another order of a list of integers, or one of them off by one."""
    from parity.backends import tf_edits as edits

    if site.op in REDUCTIONS or site.op in ("Cast", "OneHot", "ExpandDims", "Fill", "AddV2", "Sub"):
        return
    variants: list[tuple[str, np.ndarray]] = []
    if array.ndim == 2:
        orders = list(permutations(range(len(array))))[1:24]
        variants += [("pair-order", array[list(o)]) for o in orders]
        variants += [("pair-order", array[:, ::-1])]
    elif array.ndim == 1 and site.op == "Transpose":
        orders = list(permutations(range(len(array))))[:24]
        variants += [("axis-order", np.array(o, array.dtype)) for o in orders]
    if site.op in ("StridedSlice", "Roll", "GatherV2", "Slice", "Pad", "PadV2", "MirrorPad"):
        for place in np.ndindex(array.shape):
            for step in (1, -1):
                moved = array.copy()
                moved[place] += step
                variants.append(("off-by-one", moved))
    if site.op == "Roll":
        variants.append(("shift-direction", -array))
    for cause, new in variants:
        if np.array_equal(new, array):
            continue
        change = edits.operand(index, lambda call, new=new: new)
        facts = {"was": array.tolist(), "wanted": new.tolist()}
        yield at_site(site, change, cause, 1.0, **facts)
