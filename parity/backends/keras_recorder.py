"""Records every leaf layer of a Keras model or ``tf.Module`` during one eager call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from parity import progress
from parity.backends import seen
from parity.backends.base import (
    Backend,
    LayerCall,
    LayerGradients,
    argument_names,
    calling_line,
)
from parity.backends.keras_tree import is_leaf, walk
from parity.layouts import kind_of, library_class


class Recorder:
    """Wraps ``__call__`` of the layer classes for the length of one call.

    Layers are reached wherever they are kept (attributes, Python lists, functional graphs), since
    it is the class that is wrapped. The output tensors are kept, so that the tape can be asked for
    their gradients.
    """

    def __init__(
        self,
        backend: Backend,
        module: Any,
        force: Callable[[str, Any], Any] | None = None,
        instead: Callable[[str], Any] | None = None,
    ) -> None:
        """
        Args:
            force: ``force(path, output)`` may return another output, with which the model goes on.
            instead: ``instead(path)`` may return an output; the layer is not run at all then.
        """
        self._force = force
        self._instead = instead
        self.calls: list[LayerCall] = []
        self.outputs: list[Any] = []
        """The recorded output tensors (nested), one for each call."""
        self._backend = backend
        self._layers = walk(module)
        self._paths = {id(layer): path for path, layer in self._layers}
        self._used: dict[str, int] = {}
        self._busy = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        owners = {keras.layers.Layer}
        for _, layer in self._layers:
            owners.add(next((c for c in type(layer).__mro__ if "__call__" in vars(c)), keras.Layer))
        originals = {owner: vars(owner)["__call__"] for owner in owners}
        eagerly = tf.config.functions_run_eagerly()
        tf.config.run_functions_eagerly(True)  # a traced function would hide its layers
        try:
            for owner, original in originals.items():
                owner.__call__ = self._wrapped(original)
            yield
        finally:
            for owner, original in originals.items():
                owner.__call__ = original
            tf.config.run_functions_eagerly(eagerly)

    def _wrapped(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            if self._busy or not tf.executing_eagerly() or _symbolic((args, kwargs)):
                return original(layer, *args, **kwargs)
            if not is_leaf(layer):
                return original(layer, *args, **kwargs)
            return self._record(functools.partial(original, layer), layer, args, kwargs)

        return call

    def _record(self, run: Callable[..., Any], layer: Any, args: Any, kwargs: Any) -> Any:
        inputs = [_array(t) for t in tf.nest.flatten((args, kwargs)) if tf.is_tensor(t)]
        replaced = self._replaced(layer)
        if replaced is not None:
            self.calls.append(LayerCall(self._path(layer), kind_of("tf", layer), inputs, None))
            return replaced
        progress.step(f"layer {self._path(layer, count=False)}")
        progress.did("layers")
        calls_before = len(self.calls)
        self._busy = library_class("tf", layer) is not None
        try:
            with split_activation(layer, self._forcing(layer)) as split:
                output = run(*args, **kwargs)
        finally:
            self._busy = False
        if len(self.calls) > calls_before:
            return output  # no leaf: it keeps its layers where Keras does not see them
        path = self._path(layer)
        own = split[0] if split else output
        again = _Again(self._backend, layer, args, _with_training(layer, args, kwargs))
        self._append(path, kind_of("tf", layer), inputs, own, again)
        call = self.calls[-1]
        call.layer, call.where = layer, calling_line(tf, keras)
        call.names = argument_names(
            getattr(layer, "call", layer),
            [_tensors(a) for a in args],
            {name: _tensors(kwargs[name]) for name in sorted(kwargs)},
        )
        if split:
            path = f"{path}/activation"
            after = _Activation(self._backend, layer.activation)
            self._append(path, "activation", [_array(split[1])], output, after)
            self.calls[-1].fused, self.calls[-1].layer = True, layer
            self.calls[-1].where = call.where
        return self._forced(path, output)

    def _replaced(self, layer: Any) -> Any:
        """The output that stands in for running a layer; None where it has to run."""
        if self._instead is None:
            return None
        path = self._path(layer, count=False)
        whole = self._instead(f"{path}/activation")
        if whole is not None:
            return whole
        given = self._instead(path)
        activation = fused_activation(layer)
        return given if given is None or activation is None else activation(given)

    def _forcing(self, layer: Any) -> Callable[[Any], Any]:
        return lambda before: self._forced(self._path(layer, count=False), before)

    def _forced(self, path: str, output: Any) -> Any:
        return output if self._force is None else self._force(path, output)

    def _append(
        self, path: str, kind: str, inputs: list[np.ndarray], output: Any, again: _Again
    ) -> None:
        arrays = tf.nest.map_structure(_array, output)
        call = LayerCall(path, kind, inputs, arrays)
        call.replay, call.replay_gradients = again.output, again.gradients
        call.rerun = again.of_other
        self.calls.append(call)
        self.outputs.append(output)

    def _path(self, layer: Any, *, count: bool = True) -> str:
        kind = kind_of("tf", layer)
        path = self._paths.get(id(layer), f"unregistered/{kind}") or kind
        number = self._used.get(path, 0) + 1
        if count:
            self._used[path] = number
        return path if number == 1 else f"{path}#{number}"


def forced_call(
    backend: Backend,
    module: Any,
    inputs: Sequence[np.ndarray],
    force: Callable[[str, list[np.ndarray]], list[np.ndarray]],
    *,
    instead: Callable[[str], np.ndarray | None] | None = None,
    training: bool = False,
) -> tuple[list[LayerCall], Any]:
    """Call a model with the outputs of its layers replaced on the way.

    Args:
        force: ``force(path, leaves of the output) -> leaves``, of the same shapes and dtypes.
        instead: ``instead(path)`` gives outputs of layers that need not run.

    Returns:
        The calls with the inputs that they were really given, and the model's output.
    """
    from parity.backends.tf_backend import call_model

    def replaced(path: str, output: Any) -> Any:
        leaves = tf.nest.flatten(output)
        if not all(tf.is_tensor(leaf) for leaf in leaves):
            return output
        new = force(path, [_array(leaf) for leaf in leaves])
        return tf.nest.pack_sequence_as(output, [tf.constant(leaf) for leaf in new])

    def given(path: str) -> Any:
        array = None if instead is None else instead(path)
        return None if array is None else tf.constant(array)

    recorder = Recorder(backend, module, replaced, given)
    with recorder.installed():
        output = call_model(module, [tf.constant(np.array(a)) for a in inputs], training=training)
    return recorder.calls, tf.nest.map_structure(_array, output)


class _Again:
    """Calls a layer as it was called, with other tensors; its output before a fused activation."""

    def __init__(self, backend: Backend, layer: Any, args: Any, kwargs: Any) -> None:
        self._backend, self._layer = backend, layer
        self._arguments = (args, kwargs)

    def output(self, inputs: Sequence[np.ndarray]) -> Any:
        return tf.nest.map_structure(_array, self._call([tf.constant(a) for a in inputs]))

    def of_other(self, layer: Any, inputs: Sequence[np.ndarray], **keywords: Any) -> Any:
        args, kwargs = self._arguments
        other = type(self)(self._backend, layer, args, {**kwargs, **keywords})
        return other.output(inputs)

    def gradients(self, inputs: Sequence[np.ndarray], output_gradient: Any) -> LayerGradients:
        tensors = [tf.constant(a) for a in inputs]
        slots = [slot for slot in self._slots() if slot.trainable]
        floats = [t for t in tensors if is_float(t)]
        sources = [*floats, *(native for slot in slots for native in slot.natives)]
        with tf.GradientTape() as tape:
            for source in sources:
                tape.watch(source)
            output = self._call(tensors)
        # keras wraps containers: flatten each side by itself rather than demand one structure
        leaves, weights = tf.nest.flatten(output), tf.nest.flatten(output_gradient)
        live = [
            (leaf, tf.constant(weight, leaf.dtype))
            for leaf, weight in zip(leaves, weights, strict=True)
            if is_float(leaf) and weight is not None
        ]
        found: list[Any] = [None] * len(sources)
        if live and sources:
            targets, given = [leaf for leaf, _ in live], [weight for _, weight in live]
            found = tape.gradient(targets, sources, output_gradients=given)
        arrays = iter([None if g is None else _array(g) for g in found])
        of_inputs = [next(arrays) if is_float(t) else None for t in tensors]
        return LayerGradients(
            of_inputs, {s.path: s.gradient([next(arrays) for _ in s.natives]) for s in slots}
        )

    def _slots(self) -> list[Any]:
        return self._backend.slots(self._layer)

    def _call(self, tensors: Sequence[Any]) -> Any:
        fresh = iter(tensors)
        flat = [next(fresh) if tf.is_tensor(x) else x for x in tf.nest.flatten(self._arguments)]
        args, kwargs = tf.nest.pack_sequence_as(self._arguments, flat)
        with split_activation(self._layer) as split:
            output = self._layer(*args, **kwargs)
        return split[0] if split else output


class _Activation(_Again):
    """The activation of a layer, on its own."""

    def __init__(self, backend: Backend, activation: Callable[[Any], Any], *_: Any) -> None:
        super().__init__(backend, activation, (tf.constant(0.0),), {})

    def _slots(self) -> list[Any]:
        has_state = isinstance(self._layer, keras.layers.Layer)
        return self._backend.slots(self._layer) if has_state else []

    def _call(self, tensors: Sequence[Any]) -> Any:
        return self._layer(*tensors)


def fused_activation(layer: Any) -> Any:
    """The activation that a layer applies itself, behind its kernel; None where there is none."""
    activation = vars(layer).get("activation") if hasattr(layer, "kernel") else None
    if hasattr(layer, "recurrent_kernel") or getattr(activation, "__name__", "") == "linear":
        return None
    return activation


@contextmanager
def split_activation(layer: Any, force: Callable[[Any], Any] = lambda x: x) -> Iterator[list[Any]]:
    """Look between a layer and the activation that it applies itself.

    Yields a list that holds, once the layer has been called, the tensor before the activation and
    what ``force`` made of it for the activation to work on. It stays empty for layers that have
    none, or that use theirs otherwise (recurrent cells).
    """
    seen: list[Any] = []
    activation = fused_activation(layer)
    if activation is None:
        yield seen
        return

    def split(x: Any) -> Any:
        forced = force(x)
        seen[:] = [x, forced]
        return activation(forced)

    # past __setattr__, which tracks layers and is locked once the layer is built
    object.__setattr__(layer, "activation", split)
    try:
        yield seen
    finally:
        object.__setattr__(layer, "activation", activation)


def _with_training(layer: Any, args: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a call, with the mode that the layer would take from the layers around it."""
    context = _context(layer)
    knows = "training" in argument_names(getattr(layer, "call", layer), [1] * 9, {})
    if context is None or not knows or len(args) > 1 or kwargs.get("training") is not None:
        return dict(kwargs)
    return {**kwargs, "training": context}


def _context(layer: Any) -> bool | None:
    """``training`` of the call in progress; None where there is none."""
    try:
        if isinstance(layer, keras.layers.Layer):
            from keras.src.backend.common import global_state

            around = global_state.get_global_attribute("current_call_ctx")
            return None if around is None else around.get_value("training")
        from tf_keras.src.engine import base_layer_utils

        return base_layer_utils.call_context().training  # type: ignore[no-any-return]
    except (ImportError, AttributeError):  # another version keeps it elsewhere
        return None


def _tensors(argument: Any) -> int:
    return sum(tf.is_tensor(x) for x in tf.nest.flatten(argument))


def is_float(value: Any) -> bool:
    return bool(tf.is_tensor(value) and value.dtype.is_floating)


def _array(value: Any) -> np.ndarray:
    return seen(value)


def _symbolic(arguments: Any) -> bool:
    return any(isinstance(x, keras.KerasTensor) for x in tf.nest.flatten(arguments))
