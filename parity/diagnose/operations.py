"""Hypotheses about single operations: another one of its family, other axes, another setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import numpy as np

from parity.debug.intermediates import Value
from parity.debug.sites import Site
from parity.diagnose.base import Bench, Change, Hypothesis
from parity.tolerance import SAME_NUMBER

REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm")
#: Operations that stand for one another where someone mixed them up, and the cause that it is.
OTHERS: dict[str, tuple[tuple[str, str], ...]] = {
    "Mean": (("Sum", "loss-reduction"), ("Max", "other-operation"), ("Min", "other-operation")),
    "Sum": (("Mean", "loss-reduction"), ("Max", "other-operation"), ("Prod", "other-operation")),
    "Max": (("Min", "other-operation"), ("Mean", "other-operation"), ("Sum", "other-operation")),
    "Min": (("Max", "other-operation"), ("Mean", "other-operation")),
    "Maximum": (("Minimum", "other-operation"),),
    "Minimum": (("Maximum", "other-operation"),),
    "AddV2": (("Sub", "sign"),),
    "Sub": (("AddV2", "sign"),),
    "Greater": (("GreaterEqual", "boundary"), ("Less", "comparison"), ("LessEqual", "comparison")),
    "GreaterEqual": (("Greater", "boundary"), ("Less", "comparison"), ("LessEqual", "comparison")),
    "Less": (("LessEqual", "boundary"), ("Greater", "comparison"), ("GreaterEqual", "comparison")),
    "LessEqual": (("Less", "boundary"), ("Greater", "comparison"), ("GreaterEqual", "comparison")),
    "Equal": (("NotEqual", "comparison"),),
    "NotEqual": (("Equal", "comparison"),),
    "LogicalAnd": (("LogicalOr", "comparison"),),
    "LogicalOr": (("LogicalAnd", "comparison"),),
    "ArgMax": (("ArgMin", "other-operation"),),
    "ArgMin": (("ArgMax", "other-operation"),),
    "Floor": (("Ceil", "rounding-mode"), ("Rint", "rounding-mode")),
    "Ceil": (("Floor", "rounding-mode"), ("Rint", "rounding-mode")),
    "Square": (("Abs", "other-operation"),),
    "TensorScatterUpdate": (
        ("TensorScatterAdd", "other-operation"),
        ("TensorScatterMax", "other-operation"),
    ),
    "TensorScatterAdd": (("TensorScatterUpdate", "other-operation"),),
    "Abs": (("Square", "other-operation"),),
}
_ORDERED = ("Sub", "RealDiv", "Pow", "FloorMod", "FloorDiv", "Atan2", "DivNoNan", "TruncateMod",
            "Greater", "Less", "GreaterEqual", "LessEqual", "MatMul", "Xlogy")  # fmt: skip
_MOST_UNSEEN = 40
_SWITCHES = frozenset(
    "half_pixel_centers align_corners exclusive reverse keep_dims transpose_a transpose_b adj_x "
    "adj_y sorted is_training".split()
)
_UNARY_OPS = frozenset(
    "Exp Log Softmax LogSoftmax Sigmoid Tanh Relu Softplus Square Sqrt Abs Sign Neg Elu Selu Erf "
    "Softsign Relu6 Log1p Expm1 Reciprocal Rsqrt Inv LeakyRelu ClipByValue Round Floor".split()
)


def suspects_first(bench: Bench) -> list[Site]:
    """Sites, those whose value has no counterpart first, then what went into them."""
    unmatched = [s for s, vs in bench.sites.items() if any(v.partner is None for v in vs)]
    first = bench.suspect.site if bench.suspect is not None else None
    head = [first] if first is not None and first in bench.sites else []
    return list(dict.fromkeys([*head, *unmatched, *bench.sites]))


def floating(bench: Bench, site: Site) -> bool:
    return any(v.array.dtype.kind == "f" for v in bench.sites[site])


def calls(bench: Bench, site: Site) -> list[Value]:
    return [v for v in bench.sites[site] if v.call is not None]


def families(bench: Bench) -> Iterator[Hypothesis]:
    """Another operation of the same family, and operands in the other order."""
    from parity.backends import tf_edits as edits

    for site in suspects_first(bench):
        for other, cause in OTHERS.get(site.op, ()):
            change = run_as(other)
            yield at_site(site, change, cause, 1.0, was=site.op, wanted=other)
        for name, function, cause in _rewritten(site.op):
            yield at_site(site, edits.instead(function), cause, 0.8, was=site.op, wanted=name)
        if site.op in _ORDERED:
            yield at_site(site, edits.swapped, "operand-order", 1.1)
        if site.op in ("ConcatV2", "Pack"):
            yield from _joined(bench, site)
        if site.op == "Mean" and not floating(bench, site):
            yield at_site(site, _averaged(bench), "integer-cast", 0.9, dtype="an integer")


def _averaged(bench: Bench) -> Callable[[Any], Any]:
    """The mean of integers, which TensorFlow rounds down, as a number."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    wide = tf.float64 if bench.bound_dtype == "float64" else tf.float32

    def change(call: Any) -> Any:
        return call.run([tf.cast(edits.tensor(call.inputs[0]), wide), *call.inputs[1:]])

    return change


def _joined(bench: Bench, site: Site) -> Iterator[Hypothesis]:
    """The parts of a concatenation in another order."""
    value = next(iter(calls(bench, site)), None)
    parts = value.call.inputs[0] if value is not None and value.call.inputs else ()
    if not isinstance(parts, (list, tuple)) or not 2 <= len(parts) <= 4:
        return
    for order in list(permutations(range(len(parts))))[1:]:

        def change(call: Any, order: tuple[int, ...] = order) -> Any:
            return call.run([[call.inputs[0][i] for i in order], *call.inputs[1:]])

        cause = "operand-order" if site.op == "ConcatV2" else "element-order"
        if order == tuple(range(len(parts)))[::-1] and len(parts) > 2:
            cause = "reversed-axis"
        yield at_site(site, change, cause, 0.9, order=order, axis=0)


def run_as(op: str) -> Callable[[Any], Any]:
    def change(call: Any) -> Any:
        return call.run(op=op)

    return change


def _rewritten(op: str) -> list[tuple[str, Callable[..., Any], str]]:
    """Functions of the operands that another framework computes under the same name."""
    import tensorflow as tf

    def truncated(a: Any, b: Any) -> Any:
        return a - b * _trunc(a / b)

    def away(x: Any) -> Any:
        return tf.sign(x) * tf.floor(tf.abs(x) + 0.5)

    def huber(x: Any) -> Any:
        size = tf.abs(x)
        return tf.where(size <= 1, x * x / 2, size - 0.5)

    def log_cosh(x: Any) -> Any:
        return tf.abs(x) + tf.math.softplus(-2 * tf.abs(x)) - np.log(2.0)

    table: dict[str, list[tuple[str, Callable[..., Any], str]]] = {
        "Square": [("Huber", huber, "loss-kind"), ("log cosh", log_cosh, "loss-kind")],
        "SquaredDifference": [
            ("Huber", lambda a, b: huber(a - b), "loss-kind"),
            ("absolute difference", lambda a, b: tf.abs(a - b), "loss-kind"),
            ("log cosh", lambda a, b: log_cosh(a - b), "loss-kind"),
        ],
        "FloorMod": [("truncated remainder", truncated, "modulo")],
        "TruncateMod": [("floored remainder", tf.math.floormod, "modulo")],
        "Mod": [("floored remainder", tf.math.floormod, "modulo")],
        "FloorDiv": [("true division", _divided, "division"),
                     ("division rounded towards zero", lambda a, b: _trunc(a / b), "division")],
        "TruncateDiv": [("division rounded down", tf.math.floordiv, "division")],
        "Round": [("halves away from zero", away, "rounding-mode"),
                  ("towards zero", lambda x: _trunc(x), "rounding-mode")],
        "Rint": [("halves away from zero", away, "rounding-mode")],
        "Floor": [("towards zero", lambda x: _trunc(x), "rounding-mode")],
    }  # fmt: skip
    return table.get(op, [])


def _divided(a: Any, b: Any) -> Any:
    import tensorflow as tf

    wide = a.dtype if a.dtype.is_floating else tf.float64
    return tf.cast(tf.cast(a, wide) / tf.cast(b, wide), tf.float32 if wide != a.dtype else wide)


def _trunc(x: Any) -> Any:
    import tensorflow as tf

    return tf.sign(x) * tf.floor(tf.abs(x))


def input_name(bench: Bench, array: np.ndarray) -> str:
    """What the user calls an array that is one of the inputs."""
    for name, given in bench.inputs["tf"].items():
        held = np.asarray(given)
        if held.shape == array.shape and np.array_equal(held.astype(array.dtype), array):
            return name
    return "its other operand"


def axes(bench: Bench) -> Iterator[Hypothesis]:
    """Reductions over other axes, a softmax along another one, switches of operations."""
    from parity.backends import tf_edits as edits

    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None:
            continue
        if site.op in REDUCTIONS:
            yield from _other_axes(site, value)
        if site.op in ("Softmax", "LogSoftmax"):
            yield from _softmax_axes(site, value)
        if site.op in ("Cumsum", "Cumprod", "ConcatV2", "ReverseV2"):
            yield from _axis_operand(site, value)
        yield from _resized(site, value)
        for name, setting in value.call.attributes.items():
            if isinstance(setting, bool) and name in _SWITCHES:
                change = edits.attribute(name, not setting)
                cause = "axis-order" if name.startswith(("transpose", "adj")) else "switch"
                facts = {"switch": name, "was": setting, "wanted": not setting}
                yield at_site(site, change, cause, 1.0, **facts)
            elif name == "batch_dims" and site.op == "GatherV2":
                yield from _batched(site, int(setting))
            elif isinstance(setting, float) and name in ("alpha", "epsilon"):
                yield from _slopes(bench, site, name, setting)
            elif name == "padding" and setting in ("SAME", "VALID", b"SAME", b"VALID"):
                wanted = "VALID" if setting in ("SAME", b"SAME") else "SAME"
                change = edits.attribute(name, wanted)
                yield at_site(site, change, "padding", 1.0, name=name, was=setting, wanted=wanted)


def _batched(site: Site, old: int) -> Iterator[Hypothesis]:
    """Rows that each take their own elements, or all take the same ones."""
    from parity.backends import tf_edits as edits

    for new in (0, 1, 2):
        if new != old:
            facts = {"switch": "batch_dims", "was": old, "wanted": new}
            yield at_site(site, edits.attribute("batch_dims", new), "switch", 0.9, **facts)


def _slopes(bench: Bench, site: Site, name: str, old: float) -> Iterator[Hypothesis]:
    """A number among the settings of an operation."""
    from parity.backends import tf_edits as edits
    from parity.diagnose.values import torch_numbers

    numbers = [v for _, v in torch_numbers(bench) if 0 < abs(v) < 10]
    cause = "activation-slope" if name == "alpha" else "epsilon-value"
    for new in list(dict.fromkeys([0.01, 0.2, 0.3, 1e-5, 1e-3, *numbers]))[:16]:
        if new != old:
            facts = {"switch": name, "was": old, "wanted": new}
            yield at_site(site, edits.attribute(name, new), cause, 0.9, **facts)


def _resized(site: Site, value: Value) -> Iterator[Hypothesis]:
    """The conventions of resizing, two switches together."""
    settings = value.call.attributes
    if not site.op.startswith("Resize") or "half_pixel_centers" not in settings:
        return
    now = (settings.get("align_corners", False), settings["half_pixel_centers"])
    for wanted in ((False, False), (True, False), (False, True)):
        if wanted == now:
            continue

        def change(call: Any, w: tuple[bool, bool] = wanted) -> Any:
            both = {"align_corners": w[0], "half_pixel_centers": w[1]}
            return call.run(attributes={**call.attributes, **both})

        yield at_site(site, change, "resize-convention", 0.8, was=now, wanted=wanted)


def _other_axes(site: Site, value: Value) -> Iterator[Hypothesis]:
    from parity.backends import tf_edits as edits

    given = edits.array(value.call.inputs[0])
    old = edits.array(value.call.inputs[1])
    if given is None or old is None or given.ndim == 0:
        return
    now = tuple(sorted(int(a) % given.ndim for a in old.reshape(-1)))
    options = [c for k in range(1, given.ndim + 1) for c in combinations(range(given.ndim), k)]
    for keep in (False, True):
        for axes_ in options:
            if axes_ == now and keep == bool(value.call.attributes.get("keep_dims", False)):
                continue
            change = _reduce(axes_, keep)
            yield at_site(site, change, "reduction-axis", 1.0, was=now, wanted=axes_, keep=keep)


def _reduce(axes_: tuple[int, ...], keep: bool) -> Callable[[Any], Any]:
    def change(call: Any) -> Any:
        inputs = [call.inputs[0], list(axes_)]
        return call.run(inputs, {**call.attributes, "keep_dims": keep})

    return change


def _softmax_axes(site: Site, value: Value) -> Iterator[Hypothesis]:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    function = tf.nn.softmax if site.op == "Softmax" else tf.nn.log_softmax
    for axis in range(value.array.ndim - 1):

        def along(x: Any, axis: int = axis) -> Any:
            return function(x, axis=axis)

        yield at_site(site, edits.instead(along), "reduction-axis", 1.0, was=(-1,), wanted=(axis,))


def _axis_operand(site: Site, value: Value) -> Iterator[Hypothesis]:
    from parity.backends import tf_edits as edits

    place = len(value.call.inputs) - 1
    old = edits.array(value.call.inputs[place])
    if old is None or old.size != 1:
        return
    for axis in range(value.array.ndim):
        if axis == int(old.reshape(-1)[0]) % value.array.ndim:
            continue
        shaped = [axis] if old.ndim else axis
        change = edits.operand(place, lambda call, shaped=shaped: shaped)
        yield at_site(
            site, change, "reduction-axis", 1.1, was=(int(old.reshape(-1)[0]),), wanted=(axis,)
        )


def bypasses(bench: Bench) -> Iterator[Hypothesis]:
    """An operation that only the tf side has: its operand in place of its result."""
    from parity.backends import tf_edits as edits

    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None or not floating(bench, site) or site.op in ("Identity", "StopGradient"):
            continue
        for index, given in enumerate(value.call.inputs[:2]):
            array = edits.array(given)
            if (
                array is None
                or array.shape != value.array.shape
                or array.dtype != value.array.dtype
            ):
                continue
            other = (
                edits.array(value.call.inputs[1 - index]) if len(value.call.inputs) > 1 else None
            )
            cause = _extra(site.op, other, value.array)
            facts = {"operation": site.op, "mask": input_name(bench, array), "form": "mask"}
            yield at_site(site, edits.bypass(index), cause, 1.2 + 0.1 * index, **facts)


def _is_mask(array: np.ndarray) -> bool:
    return array.size > 1 and set(np.unique(array)) <= {0, 1}


def clips(bench: Bench) -> Iterator[Hypothesis]:
    """Both bounds of a clip taken away at once."""
    from parity.backends import tf_edits as edits

    groups: dict[Any, list[Site]] = {}
    for site in bench.sites:
        if site.op in ("Maximum", "Minimum"):
            groups.setdefault(site.user, []).append(site)
    for group in groups.values():
        if len(group) > 1:
            changes = tuple(edits.at(s, edits.bypass(0)) for s in group)
            yield Hypothesis("clip-extra", Change(changes), {}, group[0], 1.0)


def quotients(bench: Bench) -> Iterator[Hypothesis]:
    """A product in place of a quotient, or the reverse."""
    for site in suspects_first(bench):
        for op, other in (("Mul", "RealDiv"), ("RealDiv", "Mul")):
            if site.op == op:
                facts = {"was": op, "wanted": other}
                yield at_site(site, run_as(other), "other-operation", 1.4, **facts)


def formulas(bench: Bench) -> Iterator[Hypothesis]:
    """Formulas that torch computes in another way: safe against overflow, or by quadrant."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    exps = [s for s in bench.sites if s.op == "Exp"]
    logs = [s for s in bench.sites if s.op == "Log"]
    for exp in exps:
        shifts: list[Any] = []

        def shifted(call: Any, s: list[Any] = shifts) -> Any:
            x = edits.tensor(call.inputs[0])
            s[:] = [tf.stop_gradient(tf.reduce_max(x, axis=-1, keepdims=True))]
            return tf.exp(x - s[0])

        def added(call: Any, s: list[Any] = shifts) -> Any:
            y = call.run()
            return y + tf.reshape(s[0], tf.shape(y))

        facts = {"was": "exp", "wanted": "exp of what is left when the largest is taken off"}
        yield Hypothesis("unstable-formula", Change((edits.at(exp, shifted),)), facts, exp, 0.8)
        for log in logs:
            both = (edits.at(exp, shifted), edits.at(log, added))
            yield Hypothesis("unstable-formula", Change(both), facts, log, 0.8)
    yield from _stable(bench)
    yield from _arctangents(bench)


def _stable(bench: Bench) -> Iterator[Hypothesis]:
    """A logarithm of what may be zero or infinite, for which there is a safe function."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    safe = {
        "Exp": ("log(1 + exp(x))", "softplus", tf.nn.softplus),
        "Sigmoid": ("log(sigmoid(x))", "log_sigmoid", tf.math.log_sigmoid),
        "Softmax": ("log(softmax(x))", "log_softmax", tf.nn.log_softmax),
    }
    logs = [s for s in bench.sites if s.op in ("Log", "Log1p")]
    for inner in (s for s in bench.sites if s.op in safe):
        was, wanted, function = safe[inner.op]
        for log in logs:
            first, second = _held_for(function)
            both = (edits.at(inner, first), edits.at(log, second))
            facts = {"was": was, "wanted": wanted}
            if any(not np.isfinite(v.array).all() for v in bench.ours if v.array.dtype.kind == "f"):
                yield Hypothesis("unstable-formula", Change(both), facts, log, 0.5)


def _held_for(
    function: Callable[[Any], Any],
) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    from parity.backends import tf_edits as edits

    held: list[Any] = []

    def keep(call: Any) -> Any:
        held[:] = [edits.tensor(call.inputs[0])]
        return call.run()

    return keep, lambda call: function(held[0])


def _arctangents(bench: Bench) -> Iterator[Hypothesis]:
    """The arctangent of a quotient, which does not know the quadrant."""
    from parity.backends import tf_edits as edits

    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        if site.op != "Atan" or value is None:
            continue
        quotient = next((s for s in bench.sites if s.op == "RealDiv" and any(
            v.call.output is value.call.inputs[0] for v in calls(bench, s))), None)  # fmt: skip
        if quotient is not None:
            first, second = _by_quadrant()
            both = (edits.at(quotient, first), edits.at(site, second))
            facts = {"was": "the arctangent of a quotient", "wanted": "atan2"}
            yield Hypothesis("other-function", Change(both), facts, site, 0.8)


def _by_quadrant() -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    held: list[Any] = []

    def divided(call: Any) -> Any:
        held[:] = edits.tensors(call)
        return call.run()

    return divided, lambda call: tf.atan2(held[0], held[1])


def _extra(op: str, other: np.ndarray | None, value: np.ndarray) -> str:
    if op in ("Softmax", "LogSoftmax", "Sigmoid", "LogSigmoid"):
        return "logits-probabilities"
    if op == "Neg":
        return "sign"
    if _is_mask(value) and (other is None or _is_mask(other)):
        return "mask-other"
    if op == "Mul" and other is not None and _is_mask(other):
        return "mask-extra"
    if op in ("AddV2", "Sub", "AddN"):
        return "extra-term"
    if op in ("Mul", "RealDiv", "DivNoNan"):
        two = other is not None and other.ndim == 0 and abs(float(other)) in (0.5, 2.0)
        return "factor-two" if two else "extra-factor"
    if op in ("Minimum", "Maximum", "ClipByValue"):
        return "clip-extra"
    return "extra-operation"


def known_wraps(bench: Bench) -> Iterator[Hypothesis]:
    """The same, where torch has the result among its intermediates."""
    for site in suspects_first(bench):
        if floating(bench, site) and site.op not in ("Fill", "ReadVariableOp", "Identity", "Cast"):
            yield from (h for there, h in _wrapped(bench, site) if there)


def wraps(bench: Bench) -> Iterator[Hypothesis]:
    """An operation that only the torch side has, or another function in its place."""
    options: list[tuple[bool, Hypothesis]] = []
    for site in suspects_first(bench):
        if not floating(bench, site) or site.op in ("Fill", "ReadVariableOp", "Identity", "Cast"):
            continue
        options += _wrapped(bench, site)
    # what torch has among its intermediates is likelier; the rest only as far as time goes
    options.sort(key=lambda pair: not pair[0])
    seen = sum(1 for known, _ in options if known)
    yield from (h for _, h in options[: seen + _MOST_UNSEEN])


def _wrapped(bench: Bench, site: Site) -> list[tuple[bool, Hypothesis]]:
    from parity.backends import tf_edits as edits

    found = []
    value = bench.sites[site][0]
    for name, function in {**edits.UNARY, **_clips(bench)}.items():
        there = known(bench, function, value.array)
        found.append(
            (there, at_site(site, edits.after(function), missing(name), 1.4, operation=name))
        )
        given = calls(bench, site)
        if site.op in _UNARY_OPS and given:
            before = edits.array(given[0].call.inputs[0])
            change = edits.instead(lambda x, *_, f=function: f(x))
            there = before is not None and known(bench, function, before)
            found.append(
                (there, at_site(site, change, "other-function", 1.3, was=site.op, wanted=name))
            )
    return found


def _clips(bench: Bench) -> dict[str, Callable[[Any], Any]]:
    """Clips to bounds that the torch side has among its numbers."""
    import tensorflow as tf

    from parity.diagnose.values import torch_numbers

    found: dict[str, Callable[..., Any]] = {}
    numbers = [v for n, v in torch_numbers(bench) if 0 < abs(v) <= 1000 and np.isfinite(v)]
    for bound in list(dict.fromkeys(numbers))[:6]:
        found[f"clip above {bound:g}"] = lambda x, b=bound: tf.minimum(x, tf.cast(b, x.dtype))
        found[f"clip below {bound:g}"] = lambda x, b=bound: tf.maximum(x, tf.cast(b, x.dtype))
        if bound > 0 and bound != 1:
            found[f"clip to [{-bound:g}, {bound:g}]"] = lambda x, b=bound: tf.clip_by_value(
                x, -b, b
            )
    for low, high in dict.fromkeys(_both_bounds(bench)):
        found[f"clip to [{low:g}, {high:g}]"] = lambda x, a=low, b=high: tf.clip_by_value(x, a, b)
    return found


def _both_bounds(bench: Bench) -> Iterator[tuple[float, float]]:
    """The bounds of torch's clips."""
    for value in bench.theirs:
        numbers: list[float] = list(getattr(value.call, "numbers", ()))
        if value.op in ("clamp", "clamp_", "hardtanh") and len(numbers) >= 2:
            low, high = float(numbers[-2]), float(numbers[-1])
            if np.isfinite([low, high]).all() and low < high:
                yield low, high


def known_raw(bench: Bench) -> Iterator[Hypothesis]:
    """A function that torch applies to an input, and the tf side does not."""
    yield from (h for there, h in _given_raw(bench) if there)


def given_raw(bench: Bench) -> Iterator[Hypothesis]:
    """The same, where torch does not have the result among its intermediates."""
    yield from [h for there, h in _given_raw(bench) if not there][:_MOST_UNSEEN]


def _given_raw(bench: Bench) -> list[tuple[bool, Hypothesis]]:
    from parity.backends import tf_edits as edits

    functions = {**edits.UNARY, **_clips(bench)}
    options: list[tuple[bool, Hypothesis]] = []
    for name, array in bench.inputs["tf"].items():
        held = np.asarray(array)
        if held.dtype.kind != "f" or held.ndim == 0:
            continue
        for label, function in functions.items():

            def applied(given: Any, n: str = name, f: Any = function) -> Any:
                return {k: np.asarray(f(np.asarray(a))) if k == n else a for k, a in given.items()}

            facts = {"operation": label, "input": name}
            change = Change(inputs=(applied,))
            hypothesis = Hypothesis(missing(label), change, facts, None, 1.4, values_only=True)
            if label.startswith(("clip above", "clip below")):
                hypothesis = replace(hypothesis, rank=1.35)
            options.append((known(bench, function, held), hypothesis))
    return options


def known(bench: Bench, function: Callable[[Any], Any], array: np.ndarray) -> bool:
    """Whether torch has what the function makes of this value among its intermediates."""
    try:
        made = np.asarray(function(array.astype(np.float64)))
    except Exception:
        return False
    if made.size < 1 or not np.isfinite(made).all():
        return False
    return any(
        v.array.size == made.size and v.array.dtype.kind == "f" and not v.backward
        and np.allclose(v.array.reshape(-1), made.reshape(-1), rtol=SAME_NUMBER, atol=0)
        for v in bench.theirs if v.partner is None
    )  # fmt: skip


def missing(name: str) -> str:
    if name == "negation":
        return "sign"
    if name.startswith("clip"):
        return "clip-missing"
    if name in ("softmax", "sigmoid", "log_softmax", "log_sigmoid"):
        return "logits-probabilities"
    return "missing-operation"


def at_site(
    site: Site, change: Callable[[Any], Any], cause: str, rank: float, **facts: Any
) -> Hypothesis:
    from parity.backends import tf_edits as edits

    return Hypothesis(cause, Change((edits.at(site, change),)), facts, site, rank)
