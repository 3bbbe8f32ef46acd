"""Hypotheses about what an operation is given: another operand, another start, a shift in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.mask_values import Source, shifted_by
from parity.diagnose.suspects import calls, floating, known, suspects_first

_PICKING = ("GatherV2", "GatherNd", "OneHot", "Equal", "NotEqual", "ResourceGather")
"""Operations whose integers choose what comes out."""


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

                index = f"{name}{f' {step:+d}' if step else ''}".replace(" -", " - ")
                facts = {"wanted": f"element {index} of each row", "rows": index, "index": 0}
                yield Hypothesis("other-operand", Change((edits.at(site, change),)), facts, site, 1)


def continued(bench: Bench) -> Iterator[Hypothesis]:
    """A series taken as it is, where torch takes the next step of it, and an input at the end."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    floats = {n: np.asarray(a) for n, a in bench.inputs["tf"].items()
              if np.asarray(a).dtype.kind == "f"}  # fmt: skip
    for site in suspects_first(bench):
        given = calls(bench, site)
        if len(given) != 1:
            continue
        for index, operand in enumerate(given[0].call.inputs[:3]):
            array = edits.array(operand)
            if array is None or array.dtype.kind != "f" or array.ndim == 0 or len(array) < 2:
                continue
            for name, last in floats.items():
                if last.shape != array.shape[1:]:
                    continue
                for front in (False, True):
                    if not known(bench, _next(last, front), array):
                        continue

                    def value(call: Any, i: int = index, n: str = name, f: bool = front) -> Any:
                        x = edits.tensor(call.inputs[i])
                        end = tf.cast(bench.input(n)(call), x.dtype)[None]
                        return tf.concat([end, x[:-1]] if f else [x[1:], end], 0)

                    step = "before" if front else "after"
                    facts = {"was": "each step's own value", "wanted": f"that of the step {step}, "
                             f"with {name} at the {'start' if front else 'end'}"}  # fmt: skip
                    change = Change((edits.at(site, edits.operand(index, value)),))
                    yield Hypothesis("off-by-one", change, facts, site, 0.8)


def counted_from(bench: Bench) -> Iterator[Hypothesis]:
    """Numbers counted from one where torch counts from zero, or the reverse."""
    from parity.backends import tf_edits as edits

    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        if site.op != "Range" or value is None or value.array.size < 2:
            continue
        first = float(value.array.reshape(-1)[0])
        for step in (-1, 1):
            change = Change((edits.at(site, edits.after(_moved_by(step))),))
            facts = {
                "was": f"numbers from {first:g} on",
                "wanted": f"numbers from {first + step:g}",
            }
            yield Hypothesis("off-by-one", change, facts, site, 0.8)


def _moved_by(step: int) -> Callable[[Any], Any]:
    return lambda x: x + step


def _next(last: np.ndarray, front: bool) -> Callable[[Any], Any]:
    return lambda x: np.concatenate([last[None], x[:-1]] if front else [x[1:], last[None]])


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
    "one step later": lambda x: shifted_by(0.0, 1)(x),
    "one step earlier": lambda x: shifted_by(0.0, -1)(x),
    "one step later, first repeated": lambda x: _edge(1)(x),
    "one step earlier, last repeated": lambda x: _edge(-1)(x),
    "rolled by one": lambda x: _rolled(1)(x),
    "rolled back by one": lambda x: _rolled(-1)(x),
    "reversed": lambda x: _reversed(x),
}
