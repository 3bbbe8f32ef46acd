"""The TensorFlow adapter: tensors, Keras 3 (and ``tf_keras``) layers, ``tf.Module``s."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from parity import spill
from parity.backends import seen
from parity.backends.base import Backend, Broadcast, ModuleRecord, Slot
from parity.backends.keras_recorder import Recorder, is_float
from parity.backends.keras_tree import (
    all_variables,
    is_graph,
    is_layer,
    own_variables,
    unbuilt,
    walk,
)
from parity.backends.tf_broadcast import watch_broadcasts
from parity.errors import InvalidInput, ParityError
from parity.late import Late
from parity.layouts import is_composite, kind_of, layer_slots
from parity.trace import flatten

Cotangents = Callable[[str, tuple[int, ...]], np.ndarray]


class TensorFlowBackend(Backend):
    """TensorFlow tensors, Keras layers, ``tf.GradientTape``."""

    name = "tf"

    def tensor(self, array: np.ndarray, *, dtype: str | None = None, device: str = "cpu") -> Any:
        array = np.asarray(array)
        if dtype is not None and array.dtype.kind == "f":
            array = array.astype(dtype)
        with tf.device(_device(device)):
            return tf.constant(np.array(array))

    def value_and_grad(
        self,
        function: Callable[..., Any],
        inputs: Mapping[str, np.ndarray],
        *,
        wrt: Sequence[str],
        cotangents: Cotangents,
        dtype: str,
        device: str = "cpu",
    ) -> tuple[Any, dict[str, np.ndarray | None]]:
        tensors = {n: self.tensor(a, dtype=dtype, device=device) for n, a in inputs.items()}
        with tf.device(_device(device)), tf.GradientTape() as tape:
            for name in wrt:
                if not tensors[name].dtype.is_floating:
                    kind = tensors[name].dtype.name
                    raise InvalidInput(f"input {name!r} holds {kind}: it has no gradient")
                tape.watch(tensors[name])
            outputs = function(**tensors)
        gradients = _gradients(tape, outputs, [tensors[n] for n in wrt], cotangents)
        return outputs, dict(zip(wrt, gradients, strict=True))

    def compiled(self, function: Callable[..., Any], variant: str) -> Callable[..., Any]:
        if variant in ("function", "xla"):
            traced = tf.function(function, jit_compile=variant == "xla")
            return traced  # type: ignore[no-any-return]
        return super().compiled(function, variant)

    def is_module(self, subject: Any) -> bool:
        return is_layer(subject)

    def record_module(
        self,
        module: Any,
        inputs: Sequence[np.ndarray],
        *,
        cotangents: Cotangents,
        dtype: str,
        device: str = "cpu",
        training: bool = False,
        backward: bool = True,
        without: Collection[str] = (),
        late: Collection[str] = (),
    ) -> ModuleRecord:
        """As every backend does.

        Args:
            late: paths of parameters whose gradients are made when they are read, each time anew.
        """
        tensors = [self.tensor(a, dtype=dtype, device=device) for a in inputs]
        floats = {str(i): t for i, t in enumerate(tensors) if t.dtype.is_floating}
        if unbuilt(module):  # the first call of a subclassed model also runs it symbolically
            call_model(module, tensors, training=False)
        slots = [s for s in self.slots(module) if s.trainable and s.path not in without]
        later = [slot for slot in slots if slot.path in late]
        natives = [native for slot in slots for native in slot.natives]
        postponed = {id(native): native for slot in later for native in slot.natives}
        now = [native for native in natives if id(native) not in postponed]
        groups = _groups(now) if dtype == "float64" else [now]
        postponing = _Postponed(list(postponed.values()))
        sources = [[*floats.values(), *groups[0]], *groups[1:]]
        recorder = Recorder(self, module)
        with tf.device(_device(device)), _watching(sources) as tapes, postponing.recording():
            with recorder.installed():
                output = call_model(module, tensors, training=training)
        record = ModuleRecord(output={p: self.to_numpy(t) for p, t in flatten(output)})
        record.calls = recorder.calls
        if not backward:
            return record
        hidden = [t for nested in recorder.outputs for t in _floats(nested)]
        wanted = [*floats.values(), *hidden, *groups[0]]
        given: dict[str, np.ndarray] = {}  # asked for once: the order of asking may count

        def weigh(path: str, shape: tuple[int, ...]) -> np.ndarray:
            if path not in given:
                given[path] = cotangents(path, shape)
            return given[path]

        found = iter(_gradients(tapes[0], output, wanted, weigh))
        record.input_gradients = {name: _kept(next(found)) for name in floats}
        for call, nested in zip(recorder.calls, recorder.outputs, strict=True):
            call.output_gradient = _gradient_structure(nested, map(_kept, found))
        own = [*found] if dtype == "float32" else [_kept(array) for array in found]
        for tape, group in zip(tapes[1:], groups[1:], strict=True):
            own += [_kept(array) for array in _gradients(tape, output, group, weigh)]
        rest = iter(own)
        for slot in slots:
            record.parameter_gradients[slot.path] = (
                postponing.of(
                    slot, dtype, functools.partial(_gradients, outputs=output, cotangents=weigh)
                )
                if slot in later
                else slot.gradient([next(rest) for _ in slot.natives])
            )
        return record

    def call_layer(
        self, module: Any, path: str, inputs: Sequence[np.ndarray], *, device: str = "cpu"
    ) -> np.ndarray:
        layers = dict(walk(module))
        layers[kind_of("tf", module)] = module  # a lone layer is called by its kind
        bare = path.split("#")[0]
        if bare not in layers:
            raise InvalidInput(f"no layer {bare!r}; there are {', '.join(filter(None, layers))}")
        return self.to_numpy(layers[bare](*(self.tensor(a, device=device) for a in inputs)))

    def slots(self, module: Any) -> list[Slot]:
        if unbuilt(module):
            lazy = [path or "(the module)" for path, layer in walk(module) if not _built(layer)]
            if lazy:
                raise InvalidInput(
                    f"not built yet: {', '.join(lazy)}; call the model once (a layer that no call "
                    "reaches has no weights)"
                )
        found: list[Slot] = []
        seen: set[int] = set()
        for path, layer in walk(module):
            held = all_variables(layer) if is_composite("tf", layer) else own_variables(layer)
            own = {n: v for n, v in held.items() if id(v.handle) not in seen}
            seen.update(id(native.handle) for native in own.values())
            found += layer_slots("tf", path, layer, own)
        return found

    @contextmanager
    def watch_broadcasts(self) -> Iterator[list[Broadcast]]:
        with watch_broadcasts() as events:
            yield events


def _gradients(
    tape: tf.GradientTape, outputs: Any, sources: Sequence[Any], cotangents: Cotangents
) -> list[np.ndarray | None]:
    """Gradient of ``sum(output * cotangent)`` for each source; None where none flows."""
    live = [(path, leaf) for path, leaf in flatten(outputs) if is_float(leaf)]
    sources = list(sources)
    if not live or not sources:
        return [None for _ in sources]
    weights = [tf.constant(cotangents(path, tuple(t.shape)), t.dtype) for path, t in live]
    gradients = tape.gradient([t for _, t in live], sources, output_gradients=weights)
    return [None if g is None else seen(tf.convert_to_tensor(g)) for g in gradients]


def _kept(array: np.ndarray | None) -> np.ndarray | None:
    return None if array is None else spill.kept(array)


class _Postponed:
    """Gradients that are made group by group when they are read; one group is held at a time."""

    def __init__(self, natives: Sequence[Any]) -> None:
        self._groups = _groups(natives)
        self._tapes: list[tf.GradientTape] = []
        self._held: dict[int, np.ndarray | None] = {}

    @contextmanager
    def recording(self) -> Iterator[None]:
        with _watching(self._groups, persistent=True) as self._tapes:
            yield

    def of(self, slot: Slot, dtype: str, take: Callable[..., list[np.ndarray | None]]) -> Any:
        """The gradient of a slot, in canonical layout.

        Args:
            take: ``take(tape, sources=natives)`` makes gradients.
        """

        def make() -> np.ndarray:
            found = slot.gradient([self._read(native, take) for native in slot.natives])
            if found is None:
                raise ParityError(f"{slot.path}: no gradient arrives in {dtype}")
            return found

        return Late(tuple(slot.shape), np.dtype(dtype), make)

    def _read(self, native: Any, take: Callable[..., list[np.ndarray | None]]) -> np.ndarray | None:
        if id(native) not in self._held:
            self._held.clear()
            of = next(i for i, g in enumerate(self._groups) if any(v is native for v in g))
            made = take(self._tapes[of], sources=self._groups[of])
            self._held = dict(zip(map(id, self._groups[of]), made, strict=True))
        return self._held[id(native)]


_GROUPS = 3
"""Each group after the first takes a part of the backward pass once more."""


@contextmanager
def _watching(
    groups: Sequence[Sequence[Any]], *, persistent: bool = False
) -> Iterator[list[tf.GradientTape]]:
    """A tape for each group of sources, since a tape goes back to all that it watches.

    It is told what to watch: a frozen Keras layer's ``tf.Variable`` still says trainable.
    """
    with ExitStack() as stack:
        tapes = [
            stack.enter_context(tf.GradientTape(persistent, watch_accessed_variables=False))
            for _ in groups
        ]
        for tape, group in zip(tapes, groups, strict=True):
            for source in group:
                tape.watch(source)
        yield tapes


def _groups(natives: Sequence[Any]) -> list[list[Any]]:
    """Variables whose gradients are taken together: not all at once where these go to a file.

    The first ones first: with them come the gradients of all layers, back to the first layer.
    """
    sizes = [math.prod(native.shape) for native in natives]
    if spill.store() is None or sum(sizes) < _GROUPS * spill.LARGE:
        return [list(natives)]
    room = sum(sizes) / _GROUPS
    groups: list[list[Any]] = [[] for _ in range(_GROUPS)]
    before = 0
    for native, size in zip(natives, sizes, strict=True):
        groups[min(int((before + size / 2) / room), _GROUPS - 1)].append(native)
        before += size
    return [groups[0], *filter(None, groups[1:])]


def call_model(module: Any, tensors: Sequence[Any], *, training: bool) -> Any:
    """Call a model in the way of its kind: functional models take several inputs as one list."""
    arguments = [list(tensors)] if is_graph(module) and len(tensors) > 1 else tensors
    knows = isinstance(module, keras.layers.Layer) or (
        hasattr(module, "call") and "training" in inspect.signature(module.call).parameters
    )
    return module(*arguments, training=training) if knows else module(*arguments)


def _built(layer: Any) -> bool:
    """A layer that no call reaches may stay unbuilt where it would make no weights."""
    own = getattr(type(layer).build, "__qualname__", "") if hasattr(layer, "build") else ""
    return getattr(layer, "built", True) is not False or own == "Layer.build"


def _floats(nested: Any) -> list[Any]:
    return [t for t in tf.nest.flatten(nested) if is_float(t)]


def _gradient_structure(nested: Any, found: Iterator[np.ndarray | None]) -> Any:
    """The gradients in the structure of the output; None where none arrived at all."""
    flat = tf.nest.flatten(nested)
    gradients = [next(found) if is_float(t) else None for t in flat]
    if all(g is None for g in gradients):
        return None
    return tf.nest.pack_sequence_as(nested, gradients)


def _device(device: str) -> str:
    """``cpu``, ``gpu:0`` or torch's ``cuda:0`` as TensorFlow calls it."""
    kind, _, index = device.partition(":")
    return f"/{'CPU' if kind == 'cpu' else 'GPU'}:{index or 0}"


BACKEND = TensorFlowBackend()
