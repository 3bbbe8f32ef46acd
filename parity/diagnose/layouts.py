"""Hypotheses about axes and indices: a reshape for a transpose, pairs reversed, off by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from parity.debug.intermediates import Value
from parity.debug.sites import Site
from parity.diagnose.base import Bench, Change, Hypothesis
from parity.diagnose.operations import REDUCTIONS, at_site, calls, suspects_first


def layouts(bench: Bench) -> Iterator[Hypothesis]:
    """Axes in another order: a reshape for a transpose, reversed pairs of padding, a flip."""
    from parity.backends import tf_edits as edits

    inputs = [np.asarray(a) for a in bench.inputs["tf"].values()]
    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None:
            continue
        yield from _reshaped(site, value)
        yield from _window(site, value)
        yield from _moved_output(site, value)
        yield from _parts(site, value)
        for index, given in enumerate(value.call.inputs):
            array = edits.array(given)
            if array is None:
                continue
            if array.dtype.kind in "iu" and 0 < array.size <= 16:
                yield from _integers(site, value, index, array)
            elif array.dtype.kind in "fiub" and array.ndim >= 2:
                yield from _transposes(site, index, array, inputs)


def _reshaped(site: Site, value: Value) -> Iterator[Hypothesis]:
    """A reshape to a permutation of the shape: torch transposes."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    given = edits.array(value.call.inputs[0]) if value.call.inputs else None
    if site.op != "Reshape" or given is None or given.ndim != value.array.ndim or given.ndim > 4:
        return
    for order in permutations(range(given.ndim)):
        if tuple(given.shape[i] for i in order) != value.array.shape:
            continue

        def change(call: Any, order: Any = order) -> Any:
            return tf.transpose(edits.tensor(call.inputs[0]), order)

        facts = {"order": order, "shape": given.shape}
        yield at_site(site, change, "reshape-for-transpose", 0.8, **facts)


def _window(site: Site, value: Value) -> Iterator[Hypothesis]:
    """A slice one step early or late: v[:-1] for v[1:]."""
    from parity.backends import tf_edits as edits

    given = edits.array(value.call.inputs[0]) if value.call.inputs else None
    if site.op not in ("StridedSlice", "Slice") or given is None or given.ndim != value.array.ndim:
        return
    for axis in range(given.ndim):
        length, room = value.array.shape[axis], given.shape[axis]
        others = [d for d in range(given.ndim) if d != axis]
        if length == room or any(given.shape[d] != value.array.shape[d] for d in others):
            continue
        for start in range(room - length + 1):
            piece = np.take(given, range(start, start + length), axis)
            if not np.array_equal(piece, value.array):
                continue
            for step in (1, -1, 2, -2):
                if 0 <= start + step <= room - length:
                    change = _slice(axis, start + step, length)
                    facts = {"form": f"{abs(step)} step {'later' if step > 0 else 'earlier'}",
                             "axis": axis}  # fmt: skip
                    yield at_site(site, change, "off-by-one", 0.8 + 0.1 * abs(step), **facts)


def _slice(axis: int, start: int, length: int) -> Any:
    from parity.backends import tf_edits as edits

    def change(call: Any) -> Any:
        x = edits.tensor(call.inputs[0])
        index = tuple(
            slice(start, start + length) if d == axis else slice(None) for d in range(x.shape.rank)
        )
        return x[index]

    return change


def _moved_output(site: Site, value: Value) -> Iterator[Hypothesis]:
    """Two axes of equal size exchanged in what comes out."""
    from parity.backends import tf_edits as edits

    shape = value.array.shape
    if value.array.dtype.kind != "f" or not 2 <= len(shape) <= 4:
        return
    for a in range(len(shape)):
        for b in range(a + 1, len(shape)):
            if shape[a] == shape[b] > 1:
                order = list(range(len(shape)))
                order[a], order[b] = b, a
                change = edits.after(_transposed(order))
                yield at_site(site, change, "axis-order", 1.1, order=tuple(order), shape=shape)


def _transposed(order: Sequence[int]) -> Any:
    import tensorflow as tf

    return lambda x: tf.transpose(x, order)


def _parts(site: Site, value: Value) -> Iterator[Hypothesis]:
    """The parts of a split in another order."""
    if site.op not in ("Split", "SplitV", "Unpack"):
        return
    count = len(value.call.outputs)
    if not 2 <= count <= 4:
        return
    for order in list(permutations(range(count)))[1:]:

        def change(call: Any, order: tuple[int, ...] = order) -> Any:
            parts = call.run()
            return [parts[i] for i in order]

        yield at_site(site, change, "split-order", 0.8, was=tuple(range(count)), wanted=order)


def numbering(bench: Bench) -> Iterator[Hypothesis]:
    """Integers counted from one where the other side counts from zero."""
    for name, given in bench.inputs["tf"].items():
        array = np.asarray(given)
        if array.dtype.kind not in "iu" or array.size < 2:
            continue
        for step in (-1, 1):

            def moved(inputs: Any, name: str = name, step: int = step) -> Any:
                return {n: np.asarray(a) + step if n == name else a for n, a in inputs.items()}

            facts = {"input": name, "wanted": f"{name} {'+' if step > 0 else '-'} 1", "was": name}
            yield Hypothesis("off-by-one", Change(inputs=(moved,)), facts, None, 0.9)


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
