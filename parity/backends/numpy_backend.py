"""The reference side: plain NumPy, gradients written by hand.

A reference function's gradient is the function ``<name>_vjp`` beside it; :class:`Differentiable`
holds the two together. A reference module is an object with

- ``parameters: dict[str, ndarray]``, canonical names and layout, written in place;
- ``record(inputs, cotangents) -> ModuleRecord``: forward and backward, every layer recorded;
- ``call_layer(path, inputs) -> ndarray``: one layer's forward pass;
- ``layer_vjp(path, inputs, output_gradient) -> (input gradients, {name: gradient})``: its backward
  pass (names within the layer: ``kernel``). Without it no side's local gradients are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.backends.base import (
    Backend,
    Broadcast,
    LayerCall,
    LayerGradients,
    ModuleRecord,
    Slot,
)
from parity.errors import InvalidInput
from parity.trace import flatten

#: Slot kind of reference parameters: canonical as they are.
CANONICAL = "canonical"


@dataclass(frozen=True)
class Differentiable:
    """A reference function and its hand-written gradient.

    Attributes:
        vjp: ``vjp(cotangents=..., **inputs)`` with ``cotangents`` a mapping output path -> array;
            returns input name -> gradient.
    """

    value: Callable[..., Any]
    vjp: Callable[..., Mapping[str, np.ndarray]]

    def __call__(self, **inputs: np.ndarray) -> Any:
        return self.value(**inputs)


class NumpyBackend(Backend):
    """NumPy arrays in float64; the subject brings its own gradients."""

    name = "reference"

    def tensor(self, array: np.ndarray, *, dtype: str | None = None, device: str = "cpu") -> Any:
        array = np.array(array)
        return array.astype(dtype) if dtype is not None and array.dtype.kind == "f" else array

    def value_and_grad(
        self,
        function: Callable[..., Any],
        inputs: Mapping[str, np.ndarray],
        *,
        wrt: Sequence[str],
        cotangents: Callable[[str, tuple[int, ...]], np.ndarray],
        dtype: str,
        device: str = "cpu",
    ) -> tuple[Any, dict[str, np.ndarray | None]]:
        outputs = function(**{n: self.tensor(a, dtype=dtype) for n, a in inputs.items()})
        if not wrt:
            return outputs, {}
        if not isinstance(function, Differentiable):
            raise InvalidInput("the gradient of a reference function needs its vjp: Differentiable")
        weights = {
            path: cotangents(path, np.shape(leaf))
            for path, leaf in flatten(outputs)
            if np.asarray(leaf).dtype.kind == "f"
        }
        tensors = {n: self.tensor(a, dtype=dtype) for n, a in inputs.items()}
        found = function.vjp(cotangents=weights, **tensors)
        if unknown := sorted(set(found) - set(inputs)):
            raise InvalidInput(f"the vjp returns gradients of {unknown}, which are no inputs")
        return outputs, {name: found.get(name) for name in wrt}

    def is_module(self, subject: Any) -> bool:
        return all(hasattr(subject, name) for name in ("parameters", "record", "call_layer"))

    def record_module(
        self,
        module: Any,
        inputs: Sequence[np.ndarray],
        *,
        cotangents: Callable[[str, tuple[int, ...]], np.ndarray],
        dtype: str,
        device: str = "cpu",
        training: bool = False,
        backward: bool = True,
        without: Collection[str] = (),
    ) -> ModuleRecord:
        arrays = [self.tensor(a, dtype=dtype) for a in inputs]
        record: ModuleRecord = module.record(arrays, cotangents)
        return record

    def call_layer(
        self, module: Any, path: str, inputs: Sequence[np.ndarray], *, device: str = "cpu"
    ) -> np.ndarray:
        arrays = [self.tensor(a, dtype="float64") for a in inputs]
        return np.asarray(module.call_layer(path, arrays))

    def layer_gradients(
        self, module: Any, call: LayerCall, inputs: Sequence[np.ndarray], output_gradient: Any
    ) -> LayerGradients | None:
        vjp = getattr(module, "layer_vjp", None)
        if vjp is None:
            return None
        arrays = [self.tensor(a, dtype="float64") for a in inputs]
        of_inputs, of_parameters = vjp(call.path, arrays, self.tensor(output_gradient))
        return LayerGradients(list(of_inputs), dict(of_parameters))

    def slots(self, module: Any) -> list[Slot]:
        return [_slot(module.parameters, name) for name in module.parameters]

    @contextmanager
    def watch_broadcasts(self) -> Iterator[list[Broadcast]]:
        yield []


def _slot(parameters: dict[str, np.ndarray], name: str) -> Slot:
    def get() -> np.ndarray:
        return np.array(parameters[name])

    def put(array: np.ndarray) -> None:
        parameters[name][...] = array

    return Slot(name, CANONICAL, np.shape(parameters[name]), True, get, put)


BACKEND = NumpyBackend()
