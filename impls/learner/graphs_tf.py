"""Functions of tensors as TensorFlow graphs that cost little to call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tensorflow as tf

Key = tuple[Any, ...]


class Source:
    """A function whose results are arguments of another one, and are made inside of its graph.

    Calling it runs nothing: it returns what stands for its results. :class:`Graphs`, called with
    all of them or some, runs both functions as one graph, in this order. So what the function does
    besides (rows that it stores) is done once, by the call that takes its results; a second one is
    an error.

    Args:
        function: takes tensors, returns a mapping of tensors.
        specs: shape and dtype of its arguments; a size that may change is None.
    """

    def __init__(
        self, function: Callable[..., Mapping[str, tf.Tensor]], *specs: tf.TensorSpec
    ) -> None:
        self.function, self.specs = function, specs
        traced = tf.function(function, autograph=False).get_concrete_function(*specs)
        self._results = [(n, s.shape, s.dtype) for n, s in traced.structured_outputs.items()]

    def __call__(self, *inputs: tf.Tensor) -> dict[str, Later]:
        call = _Call(self, inputs)
        return {name: Later(call, name, shape, dtype) for name, shape, dtype in self._results}


class _Call:
    """A function with the tensors that it is to be run on, once."""

    def __init__(self, source: Source, inputs: tuple[tf.Tensor, ...]) -> None:
        self.source = source
        self._inputs: tuple[tf.Tensor, ...] | None = inputs

    def taken(self) -> tuple[tf.Tensor, ...]:
        if self._inputs is None:
            raise RuntimeError("this batch was made inside of an earlier graph: sample another one")
        inputs, self._inputs = self._inputs, None
        return inputs


class Later(NamedTuple):
    """A tensor that is made inside of the graph to which it is given: see :class:`Source`."""

    call: _Call
    name: str
    shape: tf.TensorShape
    dtype: tf.DType


class Graphs:
    """A function as graphs: one for the layout of its first arguments, one for every other size.

    ``tf.function`` binds, checks and hashes the arguments of each call in Python. With the six
    arrays of a batch this takes 0.33 ms of a core, as long as a small update. Here a graph is found
    by the shapes of its arguments and called directly: 0.10 ms.

    A second size of an axis makes a graph in which this axis has any size, so that batches of many
    sizes take two graphs (XLA still compiles each size, when it first comes).

    Arguments may be made in the graph itself: see :class:`Source`.

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
        for tensor in flat:
            if type(tensor) is Later:
                return self._after(tensor.call, tuple(form), flat)
        key = (*form, *[(tensor.shape, tensor.dtype) for tensor in flat])
        graph = self._graphs.get(key)
        if graph is None:
            graph = self._graphs[key] = _direct(self._function_of(tuple(form)), flat)
        return graph(flat)

    def _after(self, call: _Call, form: Key, flat: list[Any]) -> Any:
        """The function on what a source makes, both in one graph."""
        source = call.source
        places = tuple([t.name if type(t) is Later else None for t in flat])
        rest = [t for t in flat if type(t) is not Later]
        key = (source, form, places, *[(tensor.shape, tensor.dtype) for tensor in rest])
        graph = self._graphs.get(key)
        if graph is None:
            function, count = self._function_of(form), len(source.specs)

            def both(*tensors: tf.Tensor) -> Any:
                made, given = source.function(*tensors[:count]), iter(tensors[count:])
                return function(*[next(given) if n is None else made[n] for n in places])

            # its own graph stays as it is, compiled by XLA or not: the same bits
            whole = tf.function(both, autograph=False)
            graph = self._graphs[key] = _direct(whole, [*source.specs, *rest])
        return graph([*call.taken(), *rest])

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


def graphs_if(wanted: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """What turns functions into graphs, or leaves them as they are."""
    return Graphs if wanted else _same


def _same(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _direct(function: Any, flat: list[tf.Tensor]) -> Callable[[list[tf.Tensor]], Any]:
    """The graph for tensors like these, called without looking at each of them again."""
    graph = function.get_concrete_function(*flat)
    quick = getattr(graph, "_call_flat", None)
    if quick is None:  # not a documented name: other versions take the documented, slower way
        return lambda tensors: graph(*tensors)
    captured = graph.captured_inputs
    return lambda tensors: quick(tensors, captured)
