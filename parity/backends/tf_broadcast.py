"""Watches TensorFlow operations for operands that silently broadcast into something larger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.framework import op_callbacks

from parity.backends.base import Broadcast, called_arguments, grown, user_line

_ELEMENTWISE_NAMES = """
Add AddV2 Sub Mul MulNoNan Div DivNoNan RealDiv FloorDiv TruncateDiv FloorMod Mod
TruncateMod Maximum Minimum Pow SquaredDifference Xlogy Xlog1py Xdivy Atan2 Select
SelectV2 Equal NotEqual Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr
BitwiseAnd BitwiseOr BitwiseXor ClipByValue NextAfter ApproximateEqual
"""
_ELEMENTWISE = frozenset(_ELEMENTWISE_NAMES.split())


def _own(shapes: tuple[tuple[int, ...], ...]) -> bool:
    """True where a library function combines what it shaped itself, as ``tf.sequence_mask`` does.

    A loss or an operator that combines the very arguments which the user gave is the user's.
    """
    arguments = called_arguments(tf, keras)
    given = {shape for value in arguments for shape in _shapes(value)}
    return bool(arguments) and not given.issuperset(shape for shape in shapes if shape)


def _shapes(value: Any) -> Iterator[tuple[int, ...]]:
    """The shapes of the tensors in an argument; nested numbers are a tensor as well."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tf.TensorShape):
        shape = None if shape.rank is None else tuple(shape)
    if isinstance(shape, tuple):
        yield tuple(d or 0 for d in shape)
    elif isinstance(value, (list, tuple, dict)):
        inside = list(value.values() if isinstance(value, dict) else value)
        below = [list(_shapes(v)) for v in inside]
        yield from (shape for shapes in below for shape in shapes)
        yield (len(inside), *(below[0][0] if below and below[0] else ()))


@contextmanager
def watch_broadcasts() -> Iterator[list[Broadcast]]:
    """A list that fills with the elementwise operations whose result outgrew their operands."""
    events: list[Broadcast] = []

    def seen(
        op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        name = op_type.decode() if isinstance(op_type, bytes) else str(op_type)
        if name not in _ELEMENTWISE or any(x.shape.rank is None for x in (*inputs, *outputs)):
            return
        shapes = tuple(tuple(d or 0 for d in x.shape) for x in inputs)
        result = tuple(d or 0 for d in outputs[0].shape)
        if grown(shapes, result) and not _own(shapes):
            events.append(Broadcast(name, shapes, result, user_line(tf, keras)))

    eagerly = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)  # a function traced before would not be seen
    op_callbacks.add_op_callback(seen)
    try:
        yield events
    finally:
        op_callbacks.remove_op_callback(seen)
        tf.config.run_functions_eagerly(eagerly)
