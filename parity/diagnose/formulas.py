"""Hypotheses about formulas that torch computes otherwise: safe, or by quadrant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.suspects import calls


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
