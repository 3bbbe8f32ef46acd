"""Watches TensorFlow operations for operands that silently broadcast into something larger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.framework import op_callbacks

from parity.backends.base import Broadcast, grown, user_line

_ELEMENTWISE_NAMES = """
Add AddV2 Sub Mul MulNoNan Div DivNoNan RealDiv FloorDiv TruncateDiv FloorMod Mod
TruncateMod Maximum Minimum Pow SquaredDifference Xlogy Xlog1py Xdivy Atan2 Select
SelectV2 Equal NotEqual Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr
BitwiseAnd BitwiseOr BitwiseXor ClipByValue NextAfter ApproximateEqual
"""
_ELEMENTWISE = frozenset(_ELEMENTWISE_NAMES.split())


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
        if grown(shapes, result):
            events.append(Broadcast(name, shapes, result, user_line(tf, keras)))

    eagerly = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)  # a function traced before would not be seen
    op_callbacks.add_op_callback(seen)
    try:
        yield events
    finally:
        op_callbacks.remove_op_callback(seen)
        tf.config.run_functions_eagerly(eagerly)
