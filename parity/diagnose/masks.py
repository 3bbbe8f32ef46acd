"""Hypotheses about masks and operands: a mask missing, another mask, another value, a shift."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.base import Bench, Change, Hypothesis
from parity.diagnose.operations import calls, floating, suspects_first

Source = Callable[[Any], Any]
_PICKING = ("GatherV2", "GatherNd", "OneHot", "Equal", "NotEqual", "ResourceGather")
"""Operations whose integers choose what comes out."""


def masks(bench: Bench) -> Iterator[Hypothesis]:
    """A value that is multiplied by a mask on the torch side only, or by another mask."""
    yield from _tried(bench, ("mask", "inverse"))


def shifted_masks(bench: Bench) -> Iterator[Hypothesis]:
    """The same with a mask that is shifted by a step, or cumulated."""
    yield from _tried(bench, tuple(n for n in _TRANSFORMS if n not in ("mask", "inverse")))


def _tried(bench: Bench, names: tuple[str, ...]) -> Iterator[Hypothesis]:
    from parity.backends import tf_edits as edits

    sources = list(binary_values(bench))
    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None or not floating(bench, site) or site.op in ("Fill", "Identity"):
            continue
        for label, shape, source in sources:
            if site.op in ("Mean", "Sum") and "mask" in names:
                yield from _masked_mean(bench, site, value, label, shape, source)
            if not _fits(shape, value.array.shape):
                continue
            for name in names:
                function = _TRANSFORMS[name]
                if len(shape) == 0 and name not in ("mask", "inverse"):
                    continue
                change = edits.at(site, masked(source, function))
                facts = {"mask": label, "form": name}
                rank = 1.2 if name in ("mask", "inverse") else 1.4
                yield Hypothesis("mask-missing", Change((change,)), facts, site, rank)
            if site.op == "Mul":
                yield from _other_mask(site, value, label, shape, source, names)


def _is_masked(array: np.ndarray, mask: np.ndarray, form: str) -> bool:
    """Whether the mask was applied already: then only the divisor is wrong."""
    kept = np.asarray(mask if form == "mask" else 1 - mask)
    while kept.ndim < array.ndim and kept.shape[-1:] != array.shape[-1:]:
        kept = kept[..., None]
    return not np.any(array[np.broadcast_to(kept, array.shape) == 0])


def _array_of(bench: Bench, label: str) -> np.ndarray | None:
    """The mask that a label stands for, where it comes from an input."""
    name, equals, number = label.partition(" == ")
    if name not in bench.inputs["tf"] or (equals and not number.lstrip("-").isdigit()):
        return None
    held = np.asarray(bench.inputs["tf"][name])
    return (held == int(number)).astype(np.int64) if equals else held


def _masked_mean(
    bench: Bench, site: Site, value: Any, label: str, shape: tuple[int, ...], source: Source
) -> Iterator[Hypothesis]:
    """A mean over all elements in place of one over those that the mask leaves."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    given = edits.array(value.call.inputs[0])
    if given is None or not _fits(shape, given.shape):
        return
    for name in ("mask", "inverse"):

        def change(call: Any, name: str = name) -> Any:
            x = edits.tensor(call.inputs[0])
            mask = _TRANSFORMS[name](tf.cast(source(call), x.dtype)) * tf.ones_like(x)
            axes, keep = call.inputs[1], call.attributes.get("keep_dims", False)
            total = tf.reduce_sum(x * mask, axes, keepdims=keep)
            return total / tf.reduce_sum(mask, axes, keepdims=keep) if site.op == "Mean" else total

        held = _array_of(bench, label)
        masked = held is not None and site.op == "Mean" and _is_masked(given, held, name)
        facts = {"mask": label, "form": f"a mean over the {name}", "masked": masked}
        cause = "weighted-mean" if masked else "mask-missing"
        yield Hypothesis(cause, Change((edits.at(site, change),)), facts, site, 1.15)


def _other_mask(
    site: Site,
    value: Any,
    label: str,
    shape: tuple[int, ...],
    source: Source,
    names: tuple[str, ...],
) -> Iterator[Hypothesis]:
    from parity.backends import tf_edits as edits

    for index in (0, 1):
        array = edits.array(value.call.inputs[index])
        if array is None or array.shape != shape or not _is_binary(array):
            continue
        for name in names:
            function = _TRANSFORMS[name]
            wanted = edits.operand(index, _cast_like(index, source, function))
            facts = {"mask": label, "form": name}
            change = Change((edits.at(site, wanted),))
            yield Hypothesis("mask-other", change, facts, site, 1.1)


def _cast_like(index: int, source: Source, function: Callable[[Any], Any]) -> Source:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    def value(call: Any) -> Any:
        wanted = edits.tensor(call.inputs[index]).dtype
        return function(tf.cast(source(call), wanted))

    return value


def binary_values(bench: Bench) -> Iterator[tuple[str, tuple[int, ...], Source]]:
    """Arrays of zeros and ones: inputs, pairs of them, and values made on the way."""
    from parity.backends import tf_edits as edits

    inputs = {n: np.asarray(a) for n, a in bench.inputs["tf"].items() if _is_binary(np.asarray(a))}
    for name, array in bench.inputs["tf"].items():
        held = np.asarray(array)
        if held.dtype.kind in "iu" and held.size > 1 and not _is_binary(held):
            for number in (0, -1, -100, int(held.max())):
                if np.any(held == number) and not np.all(held == number):
                    inputs[f"{name} == {number}"] = (held == number).astype(np.int64)
    for name, array in inputs.items():
        yield name, array.shape, _held(bench, name)
        if array.ndim and len(array) > 1:
            for reverse in (False, True):
                label = f"{name}[t]" + (" from the end" if reverse else "")
                yield label, array.shape[1:], _row(bench, name, len(array), reverse)
    for a, x in inputs.items():
        for b, y in inputs.items():
            if a < b and x.shape == y.shape:
                yield f"{a} or {b}", x.shape, _pair(bench, a, b, np.maximum)
            if a != b and x.shape == y.shape:
                yield f"{a} and not {b}", x.shape, _pair(bench, a, b, lambda p, q: p * (1 - q))
    for site, values in bench.sites.items():
        arrays = [v.array for v in values]
        if site.op in ("Identity", "ReadVariableOp") or any(a.ndim == 0 for a in arrays[:1]):
            if not (arrays and arrays[0].ndim == 0 and len(arrays) > 1):
                continue
        if (
            all(set(np.unique(a)) <= {0, 1} for a in arrays)
            and len({float(x) for a in arrays for x in np.unique(a)}) == 2
        ):
            ones = np.ones_like(arrays[0])
            yield site.source or site.op, arrays[0].shape, edits.latest_or(site, ones)


def _is_binary(array: np.ndarray) -> bool:
    return array.dtype.kind in "fiub" and array.size > 1 and set(np.unique(array)) == {0, 1}


def _held(bench: Bench, label: str) -> Source:
    """An input of the run, or where it equals a number."""
    name, equals, number = label.partition(" == ")

    def value(call: Any) -> Any:
        held = bench.callers["tf"].current[name]
        return (np.asarray(held) == int(number)).astype(np.int64) if equals else held

    return value


def _row(bench: Bench, label: str, length: int, reverse: bool) -> Source:
    """The row of an input that belongs to the turn of the loop."""
    whole = _held(bench, label)

    def value(call: Any) -> Any:
        if call.occurrence >= length:
            raise IndexError("no loop over this axis")
        return whole(call)[length - 1 - call.occurrence if reverse else call.occurrence]

    return value


def selected(bench: Bench) -> Iterator[Hypothesis]:
    """Another value where a mask says so: the final observation in place of the next episode's."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    masks = [(n, np.asarray(a)) for n, a in bench.inputs["tf"].items() if _is_binary(np.asarray(a))]
    given = {n: np.asarray(a) for n, a in bench.inputs["tf"].items()}
    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None or not floating(bench, site):
            continue
        for mask, held in masks:
            for name, other in given.items():
                if other.shape != value.array.shape or other.dtype.kind != "f":
                    continue
                if held.shape != other.shape[: held.ndim]:
                    continue
                for inverse in (False, True):

                    def change(
                        call: Any, m: str = mask, o: str = name, inverse: bool = inverse
                    ) -> Any:
                        y = call.run()
                        chosen = tf.cast(bench.input(m)(call), tf.bool)
                        while chosen.shape.rank < y.shape.rank:
                            chosen = chosen[..., None]
                        chosen = tf.logical_not(chosen) if inverse else chosen
                        return tf.where(chosen, tf.cast(bench.input(o)(call), y.dtype), y)

                    facts = {"mask": mask, "form": "inverse" if inverse else "mask", "other": name}
                    yield Hypothesis(
                        "mask-missing", Change((edits.at(site, change),)), facts, site, 1.2
                    )


def _pair(bench: Bench, a: str, b: str, join: Callable[[Any, Any], Any]) -> Source:
    left, right = _held(bench, a), _held(bench, b)
    return lambda call: join(
        np.asarray(left(call), dtype=np.float64), np.asarray(right(call), dtype=np.float64)
    )


def _fits(mask: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    if len(mask) > len(shape):
        return False
    return all(m in (1, s) for m, s in zip(mask[::-1], shape[::-1], strict=False)) or (
        mask == shape[: len(mask)]
    )


def _shift(fill: float, step: int) -> Callable[[Any], Any]:
    import tensorflow as tf

    def function(mask: Any) -> Any:
        edge = tf.fill(tf.shape(mask[:1]), tf.cast(fill, mask.dtype))
        return tf.concat([edge, mask[:-1]] if step > 0 else [mask[1:], edge], 0)

    return function


def _cumulated(exclusive: bool) -> Callable[[Any], Any]:
    import tensorflow as tf

    return lambda mask: tf.math.cumprod(mask, 0, exclusive=exclusive)


_TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "mask": lambda m: m,
    "inverse": lambda m: 1 - m,
    "mask, one step later": lambda m: _shift(1.0, 1)(m),
    "mask, one step earlier": lambda m: _shift(1.0, -1)(m),
    "inverse, one step later": lambda m: _shift(1.0, 1)(1 - m),
    "inverse, one step earlier": lambda m: _shift(1.0, -1)(1 - m),
    "cumulative": lambda m: _cumulated(False)(m),
    "cumulative inverse": lambda m: _cumulated(False)(1 - m),
    "cumulative, up to the step before": lambda m: _cumulated(True)(m),
    "cumulative inverse, up to the step before": lambda m: _cumulated(True)(1 - m),
}


def masked(source: Source, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Multiply what an operation returns by a function of a mask, with axes added to fit."""
    import tensorflow as tf

    def change(call: Any) -> Any:
        value = call.run()
        mask = function(tf.cast(source(call), value.dtype))
        while mask.shape.rank < value.shape.rank and mask.shape[-1] != value.shape[-1]:
            mask = mask[..., None]
        if np.isfinite(np.asarray(value)).all():
            return value * mask
        return tf.where(mask == 0, tf.zeros_like(value), value * mask)

    return change


def operands(bench: Bench) -> Iterator[Hypothesis]:
    """Another value in the place of an operand: an input, or one made on the way."""
    from parity.backends import tf_edits as edits

    inputs = {n: np.asarray(a) for n, a in bench.inputs["tf"].items()}
    order = list(bench.sites)
    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None:
            continue
        for index, given in enumerate(value.call.inputs[:3]):
            array = edits.array(given)
            if array is None or array.ndim == 0:
                continue
            if array.dtype.kind != "f" and not (array.dtype.kind in "iu" and site.op in _PICKING):
                continue
            alike = "f" if array.dtype.kind == "f" else "iu"
            for name, other in inputs.items():
                if (
                    other.shape == array.shape
                    and other.dtype.kind in alike
                    and not np.array_equal(other.astype(array.dtype), array)
                ):
                    yield _substituted(site, index, name, bench.input(name))
                elif other.shape[1:] == array.shape and other.dtype.kind == "f" and len(other) > 1:
                    for row in (0, -1):
                        source = _fixed_row(bench, name, row)
                        yield _substituted(site, index, f"{name}[{row}]", source)
            for earlier in order[: order.index(site)]:
                held = bench.sites[earlier][0].array
                if earlier.op in ("Identity", "Fill") or held.shape != array.shape:
                    continue
                if held.dtype == array.dtype and not np.array_equal(held, array):
                    name = earlier.source or earlier.op
                    yield _substituted(site, index, name, edits.latest(earlier))


def own_rows(bench: Bench) -> Iterator[Hypothesis]:
    """The same element of every row, where torch takes another one of each: its last real step."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        given = edits.array(value.call.inputs[0]) if value is not None else None
        if value is None or site.op not in ("StridedSlice", "GatherV2") or given is None:
            continue
        if given.ndim < 2 or value.array.shape != given.shape[:1] + given.shape[2:]:
            continue
        for name, chosen in bench.inputs["tf"].items():
            held = np.asarray(chosen)
            if held.dtype.kind not in "iu" or held.shape != given.shape[:1]:
                continue
            for step in (0, -1, 1):
                if held.min() + step < 0 or held.max() + step >= given.shape[1]:
                    continue

                def change(call: Any, name: str = name, step: int = step) -> Any:
                    index = tf.convert_to_tensor(bench.input(name)(call)) + step
                    x = edits.tensor(call.inputs[0])
                    return tf.gather(x, index, axis=1, batch_dims=1)

                wanted = f"element {name}{f' {step:+d}' if step else ''} of each row"
                facts = {"wanted": wanted, "index": 0}
                yield Hypothesis("other-operand", Change((edits.at(site, change),)), facts, site, 1)


def _substituted(site: Site, index: int, name: str, source: Source) -> Hypothesis:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    def value(call: Any) -> Any:
        return tf.cast(source(call), edits.tensor(call.inputs[index]).dtype)

    change = Change((edits.at(site, edits.operand(index, value)),))
    return Hypothesis("other-operand", change, {"wanted": name, "index": index}, site, 1.6)


def _fixed_row(bench: Bench, name: str, row: int) -> Source:
    return lambda call: bench.input(name)(call)[row]


def initial_values(bench: Bench) -> Iterator[Hypothesis]:
    """A value that starts at a constant, where torch starts from an input."""
    from parity.backends import tf_edits as edits

    for site in bench.sites:
        held = bench.sites[site][0].array
        if site.op not in ("Fill", "ZerosLike", "OnesLike") or held.dtype.kind != "f":
            continue
        sources: list[tuple[str, Source]] = []
        for name, given in bench.inputs["tf"].items():
            array = np.asarray(given)
            if array.dtype.kind != "f":
                continue
            if array.shape == held.shape:
                sources.append((name, bench.input(name)))
            elif array.shape[1:] == held.shape and array.ndim:
                sources += [(f"{name}[{r}]", _fixed_row(bench, name, r)) for r in (0, -1)]
        for name, source in sources:
            change = edits.at(site, _taken_from(source, held.dtype))
            facts = {"source_of": name}
            yield Hypothesis("initial-value", Change((change,)), facts, site, 1.0)


def _taken_from(source: Source, dtype: Any) -> Source:
    import tensorflow as tf

    return lambda call: tf.cast(source(call), dtype)


def shifts(bench: Bench) -> Iterator[Hypothesis]:
    """A value one step early or late, or in reverse."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None or not floating(bench, site) or value.array.ndim == 0:
            continue
        for axis in {0, value.array.ndim - 1}:
            if value.array.shape[axis] < 2:
                continue
            for name, function in _SHIFTS.items():

                def moved(x: Any, f: Any = function, axis: int = axis) -> Any:
                    swap = [axis, *(i for i in range(x.shape.rank) if i != axis)]
                    back = list(np.argsort(swap))
                    return tf.transpose(f(tf.transpose(x, swap)), back)

                change = Change((edits.at(site, edits.after(moved)),))
                cause = "reversed-axis" if name == "reversed" else "off-by-one"
                yield Hypothesis(cause, change, {"form": name, "axis": axis}, site, 1.5)


def _reversed(x: Any) -> Any:
    import tensorflow as tf

    return tf.reverse(x, [0])


def _rolled(step: int) -> Callable[[Any], Any]:
    import tensorflow as tf

    return lambda x: tf.roll(x, step, 0)


def _edge(step: int) -> Callable[[Any], Any]:
    import tensorflow as tf

    return lambda x: tf.concat([x[:1], x[:-1]] if step > 0 else [x[1:], x[-1:]], 0)


_SHIFTS: dict[str, Callable[[Any], Any]] = {
    "one step later": lambda x: _shift(0.0, 1)(x),
    "one step earlier": lambda x: _shift(0.0, -1)(x),
    "one step later, first repeated": lambda x: _edge(1)(x),
    "one step earlier, last repeated": lambda x: _edge(-1)(x),
    "rolled by one": lambda x: _rolled(1)(x),
    "rolled back by one": lambda x: _rolled(-1)(x),
    "reversed": lambda x: _reversed(x),
}
