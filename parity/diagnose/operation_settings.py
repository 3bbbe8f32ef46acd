"""Hypotheses about how an operation is called: its axes, switches and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any

from parity.debug.intermediates import Value
from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Hypothesis
from parity.diagnose.suspects import at_site, calls, suspects_first

REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm")

_SWITCHES = frozenset(
    "half_pixel_centers align_corners exclusive reverse keep_dims transpose_a transpose_b adj_x "
    "adj_y sorted is_training".split()
)


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
    from parity.diagnose.known_numbers import torch_numbers

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


def parameters(bench: Bench) -> Iterator[Hypothesis]:
    """An activation with the parameter that torch's has: the beta of softplus, the alpha of elu."""
    from parity.backends import tf_edits as edits

    wanted = dict(_of_torch(bench))
    for site in bench.sites:
        for torch_op, name, function in _PARAMETRIC.get(site.op, ()):
            number = wanted.get(torch_op)
            if number is None or number == 1.0 or not number:
                continue
            facts = {"switch": name, "was": 1.0, "wanted": number}
            change = edits.instead(partial(function, number))
            yield at_site(site, change, "activation-slope", 0.7, **facts)


def _of_torch(bench: Bench) -> Iterator[tuple[str, float]]:
    """The first number that each operation of torch was called with."""
    for value in bench.theirs:
        numbers = getattr(value.call, "numbers", None)
        if numbers and not value.backward:
            yield value.op, float(numbers[0])


def _softplus(beta: float, x: Any) -> Any:
    import tensorflow as tf

    return tf.math.softplus(beta * x) / beta


def _elu(alpha: float, x: Any) -> Any:
    import tensorflow as tf

    return tf.where(x > 0, x, alpha * tf.math.expm1(tf.minimum(x, 0.0)))


def _celu(alpha: float, x: Any) -> Any:
    import tensorflow as tf

    return tf.where(x > 0, x, alpha * tf.math.expm1(tf.minimum(x, 0.0) / alpha))


#: tf's operation -> torch's, what its parameter is called, the function with the parameter first.
_PARAMETRIC: dict[str, tuple[tuple[str, str, Callable[..., Any]], ...]] = {
    "Softplus": (("softplus", "beta", _softplus),),
    "Elu": (("elu", "alpha", _elu), ("celu", "alpha", _celu)),
}
