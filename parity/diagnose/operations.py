"""Hypotheses about single operations: another one of its family, other operands' order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Hypothesis
from parity.diagnose.suspects import at_site, calls, floating, suspects_first

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


def families(bench: Bench) -> Iterator[Hypothesis]:
    """Another operation of the same family, and operands in the other order."""
    from parity.backends import tf_edits as edits

    for site in suspects_first(bench):
        for other, cause in OTHERS.get(site.op, ()):
            if other in _EXTREMES and _is_count(bench, site):
                continue  # of zeros and ones the largest is one: as if nothing were done
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


_EXTREMES = ("Max", "Min", "Prod")


def _is_count(bench: Bench, site: Site) -> bool:
    """Whether it adds up zeros and ones."""
    from parity.backends import tf_edits as edits

    value = next(iter(calls(bench, site)), None)
    given = edits.array(value.call.inputs[0]) if value is not None else None
    return given is not None and given.size > 0 and set(np.unique(given)) <= {0, 1}


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


def quotients(bench: Bench) -> Iterator[Hypothesis]:
    """A product in place of a quotient, or the reverse."""
    for site in suspects_first(bench):
        for op, other in (("Mul", "RealDiv"), ("RealDiv", "Mul")):
            if site.op == op:
                names = {"Mul": "a product", "RealDiv": "a quotient"}
                facts = {"was": names[op], "wanted": names[other]}
                yield at_site(site, run_as(other), "other-operation", 1.05, **facts)
