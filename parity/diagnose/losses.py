"""Hypotheses about losses: guards against log(0), logits, broadcasting, the order of arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.suspects import calls

_TINY = 1e-2
_SILENT = ("Fill", "ReadVariableOp", "Identity", "Cast")
_GUARDS = ("Minimum", "Maximum", "ClipByValue", "AddV2", "Add", "Sub")


def argument_order(bench: Bench) -> Iterator[Hypothesis]:
    """Two arguments of the tf side exchanged."""
    inputs = bench.inputs["tf"]
    names = [n for n, a in inputs.items() if np.asarray(a).dtype.kind in "fiub"]
    for a, b in combinations(names, 2):
        same = np.shape(inputs[a]) == np.shape(inputs[b])
        if not same or np.array_equal(inputs[a], inputs[b]):
            continue

        def exchanged(given: Mapping[str, np.ndarray], a: str = a, b: str = b) -> Any:
            return {n: given[b] if n == a else given[a] if n == b else v for n, v in given.items()}

        def back(trace: Any, a: str = a, b: str = b) -> Any:
            names = {f"grad/{a}": f"grad/{b}", f"grad/{b}": f"grad/{a}"}
            return _renamed(trace, names)

        change = Change(inputs=(exchanged,), outputs=(back,))
        yield Hypothesis("argument-order", change, {"first": a, "second": b}, None, 0.7)


def _renamed(trace: Any, names: Mapping[str, str]) -> Any:
    from parity.trace import Trace

    values = {names.get(n, n): v for n, v in trace.items()}
    order = [n for n in trace if n in values] + [n for n in values if n not in trace]
    return Trace({n: values[n] for n in order}, side=trace.side, meta=trace.meta)


def guards(bench: Bench) -> Iterator[Hypothesis]:
    """Another guard against log(0) or division by zero: a clip, an added epsilon, none."""
    from parity.backends import tf_edits as edits

    found = list(_guard_sites(bench))
    logs = [s for s in bench.sites if s.op in ("Log", "Log1p")]
    if not found and not logs:
        return
    removed = [edits.at(site, edits.bypass(index)) for site, index, _ in found]
    old = next((v for _, _, v in found), None)
    for label, function in _log_guards().items():
        changed = [edits.at(site, edits.instead(function)) for site in logs]
        if changed or removed:
            facts = {"was": old, "wanted": label}
            rank = 0.9 if label == "max(log p, -100)" else 1.0
            change = Change((*removed, *changed))
            yield Hypothesis("log-guard", change, facts, (logs or [found[0][0]])[0], rank)
    for new in (1e-6, 1e-7, 1e-8, 1e-10, 1e-12, 1e-5, 1e-4, 1e-3, 1e-16):
        changes = [edits.at(s, _guarded(i, v, new)) for s, i, v in found if v != new]
        if changes:
            facts = {"was": old, "wanted": f"{new:g}"}
            cause = "log-guard" if logs else "epsilon-value"
            yield Hypothesis(cause, Change(tuple(changes)), facts, found[0][0], 0.95)


def _log_guards() -> dict[str, Callable[[Any], Any]]:
    import tensorflow as tf

    def clamped(x: Any) -> Any:
        # log(0) is replaced before the maximum, or its gradient would be NaN
        safe = tf.where(x > 0, x, tf.ones_like(x))
        return tf.where(x > 0, tf.maximum(tf.math.log(safe), -100.0), -100.0 * tf.ones_like(x))

    found: dict[str, Callable[..., Any]] = {
        "none": tf.math.log,
        "max(log p, -100)": clamped,
    }
    for epsilon in (1e-8, 1e-7, 1e-6, 1e-10, 1e-12, 1e-5):
        found[f"log(p + {epsilon:g})"] = lambda x, e=epsilon: tf.math.log(x + e)
        found[f"log(max(p, {epsilon:g}))"] = lambda x, e=epsilon: tf.math.log(tf.maximum(x, e))
        found[f"log(clip(p, {epsilon:g}, 1 - {epsilon:g}))"] = lambda x, e=epsilon: tf.math.log(
            tf.clip_by_value(x, e, 1 - e)
        )
    return found


def _guard_sites(bench: Bench) -> Iterator[tuple[Site, int, float]]:
    """Operations that keep a value away from zero or one: (site, index of the value, epsilon)."""
    from parity.backends import tf_edits as edits

    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        if value is None or site.op not in _GUARDS or len(value.call.inputs) < 2:
            continue
        arrays = [edits.array(x) for x in value.call.inputs]
        for index, array in enumerate(arrays[:2]):
            other = arrays[1 - index]
            if array is None or other is None or other.ndim or array.shape != value.array.shape:
                continue
            number = float(other)
            tiny = min(abs(number), abs(1.0 - number))
            if 0 < tiny < _TINY:
                yield site, index, tiny


def _guarded(index: int, old: float, new: float) -> Callable[[Any], Any]:
    from parity.backends import tf_edits as edits

    def change(call: Any) -> Any:
        inputs = list(call.inputs)
        for i, given in enumerate(inputs):
            array = edits.array(given)
            if i == index or array is None or array.ndim:
                continue
            near_one = abs(1.0 - float(array)) < _TINY
            inputs[i] = edits.constant_like(1.0 - new if near_one else new, edits.tensor(given))
        return call.run(inputs)

    return change


def epsilon_places(bench: Bench) -> Iterator[Hypothesis]:
    """An epsilon inside the root on one side and outside on the other, or absent."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        if value is None or site.op not in ("AddV2", "Add") or len(value.call.inputs) != 2:
            continue
        arrays = [edits.array(x) for x in value.call.inputs]
        for index in (0, 1):
            other = arrays[1 - index]
            if other is None or other.ndim or not 0 < float(other) < 0.1:
                continue
            epsilon = float(other)

            def inside(call: Any, i: int = index, e: float = epsilon) -> Any:
                x = edits.tensor(call.inputs[i])
                return tf.sqrt(x * x + edits.constant_like(e, x))

            def maximum(call: Any, i: int = index, e: float = epsilon) -> Any:
                x = edits.tensor(call.inputs[i])
                return tf.maximum(x, edits.constant_like(e, x))

            facts = {"was": epsilon}
            yield Hypothesis("epsilon-placement", Change((edits.at(site, inside),)),
                             {**facts, "wanted": "inside the root"}, site, 0.9)  # fmt: skip
            yield Hypothesis("epsilon-placement", Change((edits.at(site, maximum),)),
                             {**facts, "wanted": "as a lower bound"}, site, 1.0)  # fmt: skip
            yield from _outside(bench, site, index, epsilon)


def _outside(bench: Bench, site: Site, index: int, epsilon: float) -> Iterator[Hypothesis]:
    """sqrt(v + eps) as sqrt(v) + eps: the addition left out, and made up for at the root."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    for root in bench.sites:
        if root.op not in ("Sqrt", "Rsqrt"):
            continue

        def outside(x: Any, op: str = root.op) -> Any:
            y = tf.sqrt(x) + edits.constant_like(epsilon, x)
            return y if op == "Sqrt" else 1 / y

        change = (edits.at(site, edits.bypass(index)), edits.at(root, edits.instead(outside)))
        facts = {"was": epsilon, "wanted": "outside the root"}
        yield Hypothesis("epsilon-placement", Change(change), facts, site, 0.9)


def broadcasts(bench: Bench) -> Iterator[Hypothesis]:
    """Operands (n,) and (n, 1) that grew to (n, n): the extra axis taken away."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits
    from parity.backends.base import grown

    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        if value is None or len(value.call.inputs) < 2:
            continue
        arrays = [edits.array(x) for x in value.call.inputs[:2]]
        if any(a is None for a in arrays):
            continue
        shapes = tuple(a.shape for a in arrays if a is not None)
        if not grown(shapes, value.array.shape):
            continue
        for index in (0, 1):
            if 1 in shapes[index]:
                change = edits.operand(
                    index, lambda call, i=index: tf.squeeze(edits.tensor(call.inputs[i]))
                )
                facts = {"shapes": [list(s) for s in shapes], "result": list(value.array.shape)}
                yield Hypothesis("silent-broadcast", Change((edits.at(site, change),)), facts,
                                 site, 0.3)  # fmt: skip
        for maker in bench.sites:
            held = bench.sites[maker][0].array
            if held.ndim == 2 and held.shape[-1] == 1 and held.shape in shapes:
                change = edits.at(maker, edits.after(lambda x: tf.squeeze(x, -1)))
                facts = {"shapes": [list(s) for s in shapes], "result": list(value.array.shape)}
                yield Hypothesis("silent-broadcast", Change((change,)), facts, site, 0.4)


def kinds(bench: Bench) -> Iterator[Hypothesis]:
    """A squared error written by hand where torch has another loss of the kind."""
    from parity.backends import tf_edits as edits
    from parity.diagnose.known_numbers import torch_numbers

    numbers = [v for _, v in torch_numbers(bench) if 0 < v < 100 and v not in (0.5, 1.0, 2.0)]
    deltas = [1.0, *dict.fromkeys(numbers)][:4]
    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        if value is None or value.array.dtype.kind != "f" or not _squares(value):
            continue
        largest = float(np.sqrt(np.abs(value.array).max(initial=0.0)))
        for name, function in _kinds([d for d in deltas if d < largest]):

            def change(call: Any, function: Callable[[Any], Any] = function) -> Any:
                given = edits.tensors(call)
                return function(given[0] - given[1] if call.op == "SquaredDifference" else given[0])

            facts = {"was": "a square", "wanted": name}
            change_ = Change((edits.at(site, change),))
            yield Hypothesis("loss-kind", change_, facts, site, 0.85)


def smooth_l1(bench: Bench) -> Iterator[Hypothesis]:
    """A Huber loss where torch's is a smooth L1 loss, which is the same over its threshold."""
    from parity.diagnose.factors import scaled

    for value in bench.theirs:
        numbers = getattr(value.call, "numbers", None)
        if value.op not in ("smooth_l1_loss", "huber_loss") or not numbers or value.backward:
            continue
        d = float(numbers[-1])
        smooth = value.op == "smooth_l1_loss"
        if d in (0.0, 1.0):
            continue
        divided = f"a smooth L1 loss with beta {d:g}, which is a Huber loss over beta"
        plain = f"a Huber loss with delta {d:g}"
        wanted, was = (divided, plain) if smooth else (plain, divided)
        factor = 1 / d if smooth else d
        call = f"keras.losses.Huber(delta={d:g})" + (f" divided by {d:g}" if smooth else "")
        facts = {"was": was, "wanted": wanted, "keras": call}
        for site in bench.sites:
            if bench.sites[site][0].array.dtype.kind != "f" or site.op in _SILENT:
                continue
            yield Hypothesis("loss-kind", Change((scaled(site, factor),)), facts, site, 0.8)
            for other in _thresholds(bench, d):
                change = other + Change((scaled(site, factor),))
                said = {**facts, "was": "a Huber loss with another threshold"}
                yield Hypothesis("loss-kind", change, said, site, 0.85)
        return


def _thresholds(bench: Bench, wanted: float) -> Iterator[Change]:
    """The Huber losses of the library with another threshold."""
    from parity.diagnose import library, objects

    for seen in bench.keras_objects:
        if seen.settings.get("delta") not in (None, wanted):
            yield objects.changed(seen, "delta", wanted)
    for call in bench.library_calls:
        if call.settings.get("delta") not in (None, wanted):
            yield library.changed(call, "delta", wanted)


def _squares(value: Any) -> bool:
    """An operation that squares one thing, however it is written."""
    from parity.backends import tf_edits as edits

    given = value.call.inputs
    if value.op in ("Square", "SquaredDifference"):
        return True
    if value.op == "Mul":
        return bool(given[0] is given[1])
    power = edits.array(given[1]) if value.op == "Pow" else None
    return power is not None and power.ndim == 0 and float(power) == 2.0


def _kinds(deltas: Sequence[float]) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Losses of an error, and twice each: the 0.5 stands inside of some and before others."""
    import tensorflow as tf

    def huber(x: Any, d: float) -> Any:
        size = tf.abs(x)
        d = tf.constant(d, x.dtype)
        return tf.where(size <= d, x * x / 2, d * (size - d / 2))

    def log_cosh(x: Any) -> Any:
        return tf.abs(x) + tf.math.softplus(-2 * tf.abs(x)) - tf.math.log(tf.cast(2, x.dtype))

    def once(function: Callable[..., Any], *numbers: float) -> Callable[[Any], Any]:
        return lambda x: function(x, *numbers)

    def twice(function: Callable[..., Any], *numbers: float) -> Callable[[Any], Any]:
        return lambda x: 2 * function(x, *numbers)

    def smooth(x: Any, d: float) -> Any:
        return huber(x, d) / tf.constant(d, x.dtype)

    for make, said in ((once, ""), (twice, "twice ")):
        for d in deltas:
            yield f"{said}a Huber loss with delta {d:g}", make(huber, d)
            yield f"{said}a smooth L1 loss with beta {d:g}", make(smooth, d)
        yield f"{said}the absolute error", make(tf.abs)
        yield f"{said}log cosh", make(log_cosh)
