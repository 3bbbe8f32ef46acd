"""Records every leaf layer of a Keras model or ``tf.Module`` during one eager call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from parity.backends import to_numpy
from parity.backends.base import LayerCall
from parity.backends.keras_tree import is_leaf, walk
from parity.layouts import kind_of


class Recorder:
    """Wraps ``__call__`` of the layer classes for the length of one call.

    Layers are reached wherever they are kept (attributes, Python lists, functional graphs), since
    it is the class that is wrapped. Every output is watched by the tape, so that its gradient can
    be asked for afterwards.
    """

    def __init__(self, module: Any, tape: tf.GradientTape) -> None:
        self.calls: list[LayerCall] = []
        self.outputs: list[Any] = []
        """The recorded output tensors (nested), one for each call."""
        self._tape = tape
        self._layers = walk(module)
        self._paths = {id(layer): path for path, layer in self._layers}
        self._used: dict[str, int] = {}
        self._busy = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        owners = {keras.layers.Layer}
        for _, layer in self._layers:
            owners |= {c for c in type(layer).__mro__ if "__call__" in vars(c) and c is not type}
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
            return self._record(original, layer, args, kwargs)

        return call

    def _record(self, original: Callable[..., Any], layer: Any, args: Any, kwargs: Any) -> Any:
        path = self._path(layer)
        inputs = [to_numpy(t).copy() for t in tf.nest.flatten((args, kwargs)) if tf.is_tensor(t)]
        self._busy = True
        try:
            with _split_activation(layer, self._watch) as split:
                output = original(layer, *args, **kwargs)
        finally:
            self._busy = False
        self._watch(output)
        kind = kind_of("tf", layer)
        replay = functools.partial(_replay, layer, args, kwargs)
        if split:
            before = split[0]
            self._append(LayerCall(path, kind, inputs, to_numpy(before), replay=replay), before)
            after = LayerCall(f"{path}/activation", "activation", [to_numpy(before)], to_numpy(output))
            after.fused = True
            after.replay = functools.partial(_replay_activation, layer.activation)
            self._append(after, output)
        else:
            arrays = tf.nest.map_structure(to_numpy, output)
            self._append(LayerCall(path, kind, inputs, arrays, replay=replay), output)
        return output

    def _append(self, call: LayerCall, output: Any) -> None:
        self.calls.append(call)
        self.outputs.append(output)

    def _watch(self, output: Any) -> None:
        for tensor in tf.nest.flatten(output):
            if tf.is_tensor(tensor) and tensor.dtype.is_floating:
                self._tape.watch(tensor)

    def _path(self, layer: Any) -> str:
        path = self._paths.get(id(layer)) or kind_of("tf", layer)
        self._used[path] = count = self._used.get(path, 0) + 1
        return path if count == 1 else f"{path}#{count}"


def _symbolic(arguments: Any) -> bool:
    return any(isinstance(x, keras.KerasTensor) for x in tf.nest.flatten(arguments))


@contextmanager
def _split_activation(layer: Any, watch: Callable[[Any], None]) -> Iterator[list[Any]]:
    """Look between a layer and the activation that it applies itself.

    Yields a list that holds the tensor before the activation once the layer has been called; it
    stays empty for layers that have none, or that use theirs otherwise (recurrent cells).
    """
    seen: list[Any] = []
    activation = vars(layer).get("activation") if hasattr(layer, "kernel") else None
    if (
        activation is None
        or hasattr(layer, "recurrent_kernel")
        or getattr(activation, "__name__", "") == "linear"
    ):
        yield seen
        return

    def split(x: Any) -> Any:
        seen[:] = [x]
        watch(x)
        return activation(x)

    # past __setattr__, which tracks layers and is locked once the layer is built
    object.__setattr__(layer, "activation", split)
    try:
        yield seen
    finally:
        object.__setattr__(layer, "activation", activation)


def _replay(layer: Any, args: Any, kwargs: Any, inputs: Sequence[np.ndarray]) -> Any:
    """Call the layer as before with other tensors; its output before a fused activation."""
    fresh = iter(inputs)
    flat = [
        tf.constant(next(fresh)) if tf.is_tensor(x) else x for x in tf.nest.flatten((args, kwargs))
    ]
    again_args, again_kwargs = tf.nest.pack_sequence_as((args, kwargs), flat)
    with _split_activation(layer, lambda _: None) as split:
        output = layer(*again_args, **again_kwargs)
    return to_numpy(split[0]) if split else tf.nest.map_structure(to_numpy, output)


def _replay_activation(activation: Callable[[Any], Any], inputs: Sequence[np.ndarray]) -> Any:
    return to_numpy(activation(tf.constant(inputs[0])))
