"""Changes to single TensorFlow operations, to be tried under :mod:`tf_intercept`.

Each is a function of the intercepted call that returns what to put in place of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from parity.backends.tf_intercept import PASS, Edit, OpCall, as_tensors
from parity.debug.sites import Site

Change = Callable[[OpCall], Any]


def at(site: Site, change: Change, occurrences: Callable[[int], bool] | None = None) -> Edit:
    """Apply a change to the forward calls of one site."""

    def edit(call: OpCall) -> Any:
        if call.site != site or call.backward or call.session.rehearsing:
            return PASS
        if occurrences is not None and not occurrences(call.occurrence):
            return PASS
        return change(call)

    return edit


def together(edits: Sequence[Edit]) -> Edit:
    """Several edits of different sites as one."""

    def edit(call: OpCall) -> Any:
        for one in edits:
            found = one(call)
            if found is not PASS:
                return found
        return PASS

    return edit


def after(function: Callable[[Any], Any]) -> Change:
    """Apply a function to the result."""

    def change(call: OpCall) -> Any:
        return function(call.run())

    return change


def instead(function: Callable[..., Any]) -> Change:
    """Compute something else from the operands."""

    def change(call: OpCall) -> Any:
        return function(*tensors(call))

    return change


def bypass(operand: int) -> Change:
    """The operand itself in place of the result."""

    def change(call: OpCall) -> Any:
        return tensor(call.inputs[operand])

    return change


def operand(index: int, value: Callable[..., Any]) -> Change:
    """Another value for one operand."""

    def change(call: OpCall) -> Any:
        inputs = list(call.inputs)
        inputs[index] = value(call)
        return call.run(inputs)

    return change


def swapped(call: OpCall) -> Any:
    """The two operands exchanged."""
    return call.run([call.inputs[1], call.inputs[0], *call.inputs[2:]])


def attribute(name: str, value: Any) -> Change:
    def change(call: OpCall) -> Any:
        return call.run(attributes={**call.attributes, name: value})

    return change


def latest(site: Site, output: int = 0) -> Callable[[OpCall], Any]:
    """The value that a site made last: in a loop, that of the same turn."""

    def value(call: OpCall) -> Any:
        found = call.session.latest[site]
        return found[output] if isinstance(found, (list, tuple)) else found

    return value


def latest_or(site: Site, default: Any) -> Callable[[OpCall], Any]:
    """The same; ``default`` where the site has made nothing yet."""
    held = latest(site)
    return lambda call: held(call) if site in call.session.latest else default


def tensor(value: Any) -> Any:
    return value if isinstance(value, tf.Tensor) else tf.convert_to_tensor(value)


def tensors(call: OpCall) -> list[Any]:
    """The operands as tensors, numbers among them in the dtype of the others."""
    if call.plain is not None:
        like = next((x.dtype for x in call.inputs if isinstance(x, np.ndarray)), None)
        return [tensor(x) if isinstance(x, np.ndarray) else tf.constant(x, like)
                for x in call.inputs]  # fmt: skip
    return as_tensors(call.op, call.inputs)


def constant_like(value: float, old: Any) -> Any:
    """A number in the form in which the old one was given."""
    if isinstance(old, tf.Tensor):
        return tf.constant(value, dtype=old.dtype)
    if isinstance(old, np.generic):
        return old.dtype.type(value)
    return type(old)(value)


def array(value: Any) -> np.ndarray | None:
    """An operand's or result's values; None where it holds none."""
    if isinstance(value, tf.Tensor):
        if value.dtype in (tf.resource, tf.variant, tf.string):
            return None
        return np.asarray(value.numpy())
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        return np.asarray(value)
    return None


# Functions of one tensor, by the name under which they are reported -----------------------------


def finite_gradient(operation: Callable[..., Any]) -> Callable[..., Any]:
    """The same values; where the gradient would be NaN or infinite it is zero."""

    def function(*operands: Any) -> Any:
        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def inner(*xs: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(xs)
                y = operation(*xs)

            def backward(upstream: Any) -> Any:
                found = tape.gradient(y, xs, output_gradients=upstream)
                return [None if g is None else _finite(g) for g in found]

            return y, backward

        return inner(*operands)

    return function


def _finite(gradient: Any) -> Any:
    gradient = tf.convert_to_tensor(gradient)
    return tf.where(tf.math.is_finite(gradient), gradient, tf.zeros_like(gradient))


def shared_extremum(larger: bool) -> Callable[[Any, Any], Any]:
    """Element-wise maximum or minimum that shares the gradient on a tie."""

    def shared(a: Any, b: Any) -> Any:
        gap = tf.abs(a - b)
        return 0.5 * (a + b + gap) if larger else 0.5 * (a + b - gap)

    return shared


def exact_extremum(larger: bool) -> Callable[[Any, Any], Any]:
    """The same, with the exact value of the operation: only the gradient is the shared one."""

    def function(a: Any, b: Any) -> Any:
        value = tf.maximum(a, b) if larger else tf.minimum(a, b)
        return _with_gradient_of(shared_extremum(larger)(a, b), value)

    return function


def _with_gradient_of(differentiated: Any, value: Any) -> Any:
    return differentiated + tf.stop_gradient(value - differentiated)


UNARY: dict[str, Callable[[Any], Any]] = {
    "negation": tf.negative,
    "exp": tf.exp,
    "log": tf.math.log,
    "softmax": tf.nn.softmax,
    "log_softmax": tf.nn.log_softmax,
    "sigmoid": tf.sigmoid,
    "log_sigmoid": tf.math.log_sigmoid,
    "tanh": tf.tanh,
    "relu": tf.nn.relu,
    "softplus": tf.math.softplus,
    "square": tf.square,
    "sqrt": tf.sqrt,
    "abs": tf.abs,
    "reciprocal": tf.math.reciprocal,
    "one minus": lambda x: 1 - x,
    "clip to [-1, 1]": lambda x: tf.clip_by_value(x, -1, 1),
    "clip to [0, 1]": lambda x: tf.clip_by_value(x, 0, 1),
    "zero mean": lambda x: x - tf.reduce_mean(x),
    "standardisation": lambda x: (x - tf.reduce_mean(x)) / (tf.math.reduce_std(x) + 1e-8),
    "L2 normalisation": lambda x: x / tf.norm(x, axis=-1, keepdims=True),
    "sign": tf.sign,
    "floor": tf.floor,
    "round": tf.round,
}
