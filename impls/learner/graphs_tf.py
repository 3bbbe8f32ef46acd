"""Functions of tensors as TensorFlow graphs that cost little to call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

Key = tuple[Any, ...]


class Graphs:
    """A function as graphs: one for the layout of its first arguments, one for every other size.

    ``tf.function`` binds, checks and hashes the arguments of each call in Python. With the six
    arrays of a batch this takes 0.33 ms of a core, as long as a small update. Here a graph is found
    by the shapes of its arguments and called directly: 0.10 ms.

    A second size of an axis makes a graph in which this axis has any size, so that batches of many
    sizes take two graphs (XLA still compiles each size, when it first comes).

    Args:
        function: takes tensors and mappings of tensors, by position; returns what a
            ``tf.function`` may return.
        xla: compile with XLA.
        any_size: False where the function has to know the sizes: each makes a graph of its own.
    """

    def __init__(
        self, function: Callable[..., Any], *, xla: bool = False, any_size: bool = True
    ) -> None:
        self._function, self._xla, self._any_size = function, xla, any_size
        self._traced: dict[Key, Any] = {}
        self._graphs: dict[Key, Callable[[list[tf.Tensor]], Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        flat: list[tf.Tensor] = []
        form: list[Any] = []
        for argument in arguments:
            if isinstance(argument, Mapping):
                form.append(tuple(argument))
                flat.extend(argument.values())
            else:
                form.append(None)
                flat.append(argument)
        if not tf.executing_eagerly():
            return self._function_of(tuple(form))(*flat)  # becomes a part of a larger graph
        key = (*form, *[(tensor.shape, tensor.dtype) for tensor in flat])
        graph = self._graphs.get(key)
        if graph is None:
            graph = self._graphs[key] = _direct(self._function_of(tuple(form)), flat)
        return graph(flat)

    def _function_of(self, form: Key) -> Any:
        """The ``tf.function`` for arguments of this form, with all tensors in a row."""
        if form not in self._traced:

            def flat(*tensors: tf.Tensor) -> Any:
                rest = iter(tensors)
                return self._function(
                    *[
                        next(rest) if names is None else {name: next(rest) for name in names}
                        for names in form
                    ]
                )

            self._traced[form] = tf.function(
                flat, autograph=False, jit_compile=self._xla, reduce_retracing=self._any_size
            )
        return self._traced[form]


def _direct(function: Any, flat: list[tf.Tensor]) -> Callable[[list[tf.Tensor]], Any]:
    """The graph for tensors like these, called without looking at each of them again."""
    graph = function.get_concrete_function(*flat)
    quick = getattr(graph, "_call_flat", None)
    if quick is None:  # not a documented name: other versions take the documented, slower way
        return lambda tensors: graph(*tensors)
    captured = graph.captured_inputs
    return lambda tensors: quick(tensors, captured)
