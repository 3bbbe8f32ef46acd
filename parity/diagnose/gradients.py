"""Hypotheses that leave every value alone and change what flows back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.suspects import at_site, calls, floating, suspects_first

_SINGULAR = ("Log", "Sqrt", "Pow", "RealDiv", "Rsqrt", "Reciprocal", "Inv", "Xlogy", "Acos",
             "Asin", "Atan2", "Xdivy", "Log1p", "DivNoNan", "Acosh", "Atanh",
             "EuclideanNorm")  # fmt: skip


def only_gradients(bench: Bench) -> bool:
    """True where the first entry that differs is a gradient."""
    name = bench.first or ""
    if name.startswith("grad/") or "grad" in name.lower():
        return True
    array = bench.tf[name] if name in bench.tf else None
    return (
        array is not None
        and any(
            v.backward and v.array.shape == array.shape and np.array_equal(v.array, array)
            for v in bench.ours
        )
        and not any(
            not v.backward
            and v.array.shape == array.shape
            and np.array_equal(v.array, array)
            and v.op not in ("Identity", "input")
            for v in bench.ours
        )
    )


def stops(bench: Bench) -> Iterator[Hypothesis]:
    """A gradient stopped on one side only."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    for site in bench.sites:
        if site.op == "StopGradient":
            yield at_site(site, edits.bypass(0), "stop-gradient-extra", 0.5)
    for name in bench.inputs["tf"]:
        if f"grad/{name}" in bench.tf:
            yield Hypothesis(
                "stop-gradient-missing", _stopped(bench, name), {"input": name}, None, 0.55
            )
    # the latest place on the way is the one to name, unless torch detaches at an earlier one
    detached = [v.array for v in bench.theirs if v.op == "detach" and not v.backward]
    for number, site in enumerate(reversed(list(bench.sites))):
        if floating(bench, site) and site.op != "StopGradient":
            rank = 0.6 + 0.001 * number
            value = bench.sites[site][0].array
            if np.any(value) and any(
                d.shape == value.shape and np.allclose(d, value) for d in detached
            ):
                rank = 0.5
            yield at_site(site, edits.after(tf.stop_gradient), "stop-gradient-missing", rank)


def operand_stops(bench: Bench) -> Iterator[Hypothesis]:
    """A gradient stopped in one use of a value, and not in another."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        if value is None or not floating(bench, site) or site.op == "StopGradient":
            continue
        for index, given in enumerate(value.call.inputs[:3]):
            array = edits.array(given)
            if array is None or array.dtype.kind != "f":
                continue
            change = edits.operand(
                index, lambda call, i=index: tf.stop_gradient(edits.tensor(call.inputs[i]))
            )
            yield at_site(site, change, "stop-gradient-missing", 0.65, operand=index)


def _stopped(bench: Bench, name: str) -> Change:
    """No gradient flows back through one of the inputs."""

    @contextmanager
    def inside() -> Iterator[None]:
        caller = bench.callers["tf"]
        before, caller.stopped = caller.stopped, (*caller.stopped, name)
        try:
            yield
        finally:
            caller.stopped = before

    return Change(inside=(inside,))


def ties(bench: Bench) -> Iterator[Hypothesis]:
    """Conventions at ties, at kinks and at the bounds of a clip."""
    for site in suspects_first(bench):
        for cause, change, facts in _conventions(bench, site):
            yield at_site(site, change, cause, 0.5, **facts)
        if site.op in _SINGULAR:
            change = _finite_gradient
            yield at_site(site, change, _singular(bench, site), 0.6, operation=site.op)


def unpicked(bench: Bench) -> Iterator[Hypothesis]:
    """Everything that is singular somewhere, made harmless there at once."""
    from parity.backends import tf_edits as edits

    sites = []
    for site in bench.sites:
        arrays = [v.array for v in bench.sites[site]]
        for value in calls(bench, site):
            arrays += [a for a in (edits.array(x) for x in value.call.inputs) if a is not None]
        if any(a.dtype.kind == "f" and not np.isfinite(a).all() for a in arrays) or (
            site.op in _SINGULAR
        ):
            if floating(bench, site) and len(calls(bench, site)[0].call.inputs) <= 3:
                sites.append(site)
    picks = [s for s in bench.sites if s.op in ("SelectV2", "Select")]
    changes = tuple(edits.at(s, _finite_gradient) for s in sites if s not in picks)
    if changes:
        facts = {"operation": sites[0].op, "picked": bool(picks)}
        yield Hypothesis("nan-gradient", Change(changes), facts, (picks or sites)[0], 0.7)


def steps(bench: Bench) -> Iterator[Hypothesis]:
    """Both bounds of a clip opened at once; a rounding that lets the gradient through."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    bounds = [s for s in bench.sites if s.op in ("Maximum", "Minimum")]
    lines: dict[Any, list[Site]] = {}
    for site in bounds:
        lines.setdefault(site.user, []).append(site)
    for group in lines.values():
        if len(group) > 1:
            changes = [edits.at(s, edits.instead(_open_clip(s.op == "Maximum"))) for s in group]
            facts = {"wanted": "open", "was": "closed"}
            yield Hypothesis("clip-gradient", Change(tuple(changes)), facts, group[0], 0.55)
            passing = tuple(edits.at(s, _passing) for s in group)
            yield Hypothesis(
                "straight-through", Change(passing), {"operation": group[0].op}, group[0], 0.56
            )
    for site in bench.sites:
        if site.op in ("Round", "Rint", "Floor", "Ceil", "Sign", "ClipByValue", "Minimum",
                       "Maximum", "Cast"):  # fmt: skip

            def through(call: Any) -> Any:
                x, y = edits.tensor(call.inputs[0]), call.run()
                if not x.dtype.is_floating or not y.dtype.is_floating or x.shape != y.shape:
                    raise ValueError("no straight way through")
                return x + tf.stop_gradient(y - x)

            yield at_site(site, through, "straight-through", 0.75, operation=site.op)


def _passing(call: Any) -> Any:
    """The value of the operation, with the gradient of its first operand."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    x, y = edits.tensor(call.inputs[0]), call.run()
    return x + tf.stop_gradient(y - x)


def _singular(bench: Bench, site: Site) -> str:
    return "norm-gradient" if site.op in ("Sqrt", "EuclideanNorm") else "nan-gradient"


def _finite_gradient(call: Any) -> Any:
    from parity.backends import tf_edits as edits

    def operation(*xs: Any) -> Any:
        return call.run(list(xs))

    return edits.finite_gradient(operation)(*edits.tensors(call))


def _conventions(
    bench: Bench, site: Site
) -> Iterator[tuple[str, Callable[[Any], Any], dict[str, Any]]]:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    op = site.op
    if op in ("Maximum", "Minimum"):
        larger = op == "Maximum"
        zero = any(_is_zero(x) for v in calls(bench, site)[:1] for x in v.call.inputs)
        if zero and larger:
            relu = edits.instead(_relu(_zero_operand(bench, site)))
            yield "kink-gradient", relu, {"was": "maximum(x, 0)", "wanted": "relu"}
        shared = edits.exact_extremum(larger)
        yield "tie-gradient", edits.instead(shared), {"wanted": "shared", "was": "first"}
        second = edits.instead(lambda a, b: (tf.maximum if larger else tf.minimum)(b, a))
        yield "tie-gradient", second, {"wanted": "second", "was": "first"}
        yield (
            "clip-gradient",
            edits.instead(_open_clip(larger)),
            {"wanted": "open", "was": "closed"},
        )
    elif op in ("Max", "Min"):
        yield "tie-gradient", _gathered(op == "Max"), {"wanted": "one", "was": "shared"}
    elif op in ("Relu", "Relu6"):
        closed = edits.instead(lambda x: tf.maximum(x, tf.zeros_like(x)))
        yield "kink-gradient", closed, {"was": "relu", "wanted": "maximum(x, 0)"}
    elif op == "ClipByValue":
        yield "clip-gradient", edits.instead(_clip(False)), {"wanted": "open", "was": "closed"}
        yield "clip-gradient", edits.instead(_clip(True)), {"wanted": "passing", "was": "closed"}
    elif op == "Abs":
        yield "kink-gradient", edits.instead(_abs_one), {"was": "0 at 0", "wanted": "1 at 0"}


def _zero_operand(bench: Bench, site: Site) -> int:
    """Which operand is the zero: the smaller one, where the data are all zero too."""
    from parity.backends import tf_edits as edits

    call = calls(bench, site)[0].call
    sizes = {i: a.size for i, x in enumerate(call.inputs)
             if (a := edits.array(x)) is not None and not np.any(a)}  # fmt: skip
    return min(sizes, key=lambda i: (sizes[i], -i))


def _relu(zero: int) -> Callable[[Any, Any], Any]:
    import tensorflow as tf

    return lambda a, b: tf.nn.relu(b if zero == 0 else a)


def _abs_one(x: Any) -> Any:
    import tensorflow as tf

    return tf.where(x >= 0, x, -x)


def _open_clip(larger: bool) -> Callable[[Any, Any], Any]:
    import tensorflow as tf

    def function(a: Any, b: Any) -> Any:
        inside = a > b if larger else a < b
        return tf.where(inside, a, tf.stop_gradient(b) + tf.zeros_like(a))

    return function


def _clip(passing: bool) -> Callable[[Any, Any, Any], Any]:
    """A clip whose gradient is zero at its bounds, or flows through everywhere."""
    import tensorflow as tf

    def function(x: Any, low: Any, high: Any) -> Any:
        value = tf.stop_gradient(tf.clip_by_value(x, low, high))
        if passing:
            return x + tf.stop_gradient(value - x)
        return tf.where((x > low) & (x < high), x, value)

    return function


def _gathered(largest: bool) -> Callable[[Any], Any]:
    """The extremum over one axis, its gradient going to the first entry that reaches it."""
    import tensorflow as tf

    def change(call: Any) -> Any:
        from parity.backends import tf_edits as edits

        value = call.run()
        x = edits.tensor(call.inputs[0])
        axes = edits.array(call.inputs[1])
        assert axes is not None
        axis = int(axes.reshape(-1)[0]) % x.shape.rank
        if axes.size != 1:
            x, axis = tf.reshape(x, [-1]), 0
        found = tf.argmax(x, axis) if largest else tf.argmin(x, axis)
        one = tf.one_hot(found, x.shape[axis], axis=axis, dtype=x.dtype)
        picked = tf.reduce_sum(tf.where(one > 0, x, tf.zeros_like(x)), axis)
        return tf.reshape(picked, tf.shape(value))

    return change


def _is_zero(value: Any) -> bool:
    from parity.backends import tf_edits as edits

    array = edits.array(value)
    return array is not None and array.size > 0 and not np.any(array)
