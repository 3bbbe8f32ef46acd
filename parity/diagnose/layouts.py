"""Hypotheses about axes and indices: a reshape for a transpose, pairs reversed, off by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

import numpy as np

from parity.debug.intermediates import Value
from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.operation_settings import REDUCTIONS
from parity.diagnose.suspects import at_site, calls, suspects_first

_MOST_STARTS = 400
"""Windows of an array that are compared with a slice, to find out which one it is."""


def layouts(bench: Bench) -> Iterator[Hypothesis]:
    """Axes in another order: a reshape for a transpose, reversed pairs of padding, a flip."""
    from parity.backends import tf_edits as edits

    inputs = [np.asarray(a) for a in bench.inputs["tf"].values()]
    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None:
            continue
        yield from _reshaped(site, value)
        yield from _split_axes(site, value)
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


def _split_axes(site: Site, value: Value) -> Iterator[Hypothesis]:
    """A reshape to the shape that torch gets by a reshape and a transposition: heads, patches."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    given = edits.array(value.call.inputs[0]) if value.call.inputs else None
    shape = value.array.shape
    if site.op != "Reshape" or given is None or not 3 <= len(shape) <= 5 or given.ndim < 2:
        return
    for order in list(permutations(range(len(shape))))[1:]:
        first = [0] * len(shape)
        for place, axis in enumerate(order):
            first[axis] = shape[place]

        def change(call: Any, first: Any = tuple(first), order: Any = order) -> Any:
            return tf.transpose(tf.reshape(edits.tensor(call.inputs[0]), first), order)

        facts = {"order": order, "shape": tuple(first)}
        yield at_site(site, change, "reshape-for-transpose", 0.85, **facts)


def interleaved(bench: Bench) -> Iterator[Hypothesis]:
    """Every second element where torch takes a half, or the reverse."""
    from parity.backends import tf_edits as edits

    halves: dict[int, list[tuple[Site, int]]] = {}
    every: dict[int, list[tuple[Site, int]]] = {}
    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        given = edits.array(value.call.inputs[0]) if value is not None else None
        if value is None or site.op != "StridedSlice" or given is None or not value.array.ndim:
            continue
        size = value.array.shape[-1]
        if value.array.shape[:-1] != given.shape[:-1] or 2 * size != given.shape[-1]:
            continue
        for part in (0, 1):
            if np.array_equal(value.array, given[..., part::2]):
                every.setdefault(id(value.call.inputs[0]), []).append((site, part))
            if np.array_equal(value.array, given[..., part * size : (part + 1) * size]):
                halves.setdefault(id(value.call.inputs[0]), []).append((site, part))
    for groups, wanted in ((every, "halves"), (halves, "every second element")):
        for group in groups.values():
            changes = tuple(edits.at(s, _half(part, wanted == "halves")) for s, part in group)
            facts = {"was": f"{len(group)} slices", "wanted": wanted, "order": wanted}
            yield Hypothesis("element-order", Change(changes), facts, group[0][0], 0.9)
    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        if value is not None and site.op in ("Split", "SplitV") and len(value.call.outputs) == 2:
            facts = {"was": "halves", "wanted": "every second element"}
            yield at_site(site, _alternating, "element-order", 0.9, **facts)


def _half(part: int, whole: bool) -> Any:
    from parity.backends import tf_edits as edits

    def change(call: Any) -> Any:
        x = edits.tensor(call.inputs[0])
        size = x.shape[-1] // 2
        return x[..., part * size : (part + 1) * size] if whole else x[..., part::2]

    return change


def _alternating(call: Any) -> Any:
    from parity.backends import tf_edits as edits

    x = edits.tensor(call.inputs[-1] if call.op == "Split" else call.inputs[0])
    return [x[..., 0::2], x[..., 1::2]]


def _window(site: Site, value: Value) -> Iterator[Hypothesis]:
    """A slice one step early or late: v[:-1] for v[1:]."""
    from parity.backends import tf_edits as edits

    given = edits.array(value.call.inputs[0]) if value.call.inputs else None
    if site.op not in ("StridedSlice", "Slice") or given is None or given.ndim != value.array.ndim:
        return
    rooms = [g - v for g, v in zip(given.shape, value.array.shape, strict=True)]
    cut = [axis for axis, room in enumerate(rooms) if room]
    if not cut or min(rooms) < 0 or np.prod([rooms[a] + 1 for a in cut]) > _MOST_STARTS:
        return
    for starts in product(*(range(rooms[a] + 1) for a in cut)):
        begin = dict(zip(cut, starts, strict=True))
        if not np.array_equal(given[_window_at(begin, value.array.shape)], value.array):
            continue
        for axis, step in product(cut, (1, -1, 2, -2)):
            if 0 <= begin[axis] + step <= rooms[axis]:
                change = _slice({**begin, axis: begin[axis] + step}, value.array.shape)
                facts = {"form": f"{abs(step)} step {'later' if step > 0 else 'earlier'}",
                         "axis": axis}  # fmt: skip
                yield at_site(site, change, "off-by-one", 0.8 + 0.1 * abs(step), **facts)


def _window_at(begin: dict[int, int], shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(begin.get(d, 0), begin.get(d, 0) + n) for d, n in enumerate(shape))


def _slice(begin: dict[int, int], shape: tuple[int, ...]) -> Any:
    from parity.backends import tf_edits as edits

    return lambda call: edits.tensor(call.inputs[0])[_window_at(begin, shape)]


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
                return {n: _counted(a, step) if n == name else a for n, a in inputs.items()}

            facts = {"input": name, "wanted": f"{name} {'+' if step > 0 else '-'} 1", "was": name}
            yield Hypothesis("off-by-one", Change(inputs=(moved,)), facts, None, 0.9)


def _counted(array: Any, step: int) -> np.ndarray:
    """The integers one higher or lower, in their own dtype: unsigned ones wrap around."""
    held = np.asarray(array)
    return np.asarray((held.astype(np.int64) + step).astype(held.dtype))


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
