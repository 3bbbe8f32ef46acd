"""Records every leaf layer of a torch module during one forward and backward pass."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from parity import progress, spill
from parity.backends import to_numpy
from parity.backends.base import (
    Backend,
    LayerCall,
    LayerGradients,
    argument_names,
    calling_line,
)
from parity.layouts import kind_of, layout_of, library_class


class Recorder:
    """Wraps ``torch.nn.Module.__call__`` for the length of one pass.

    Layers are reached wherever they are kept, in plain Python lists too. Inputs and outputs are
    copied at once, since a later in-place operation may overwrite them; torch counts such changes,
    so what is handed on unchanged is copied once.
    """

    def __init__(self, backend: Backend, module: torch.nn.Module, device: str) -> None:
        self.backend = backend
        self.device = device
        self.calls: list[LayerCall] = []
        self._paths = {id(m): name.replace(".", "/") for name, m in module.named_modules()}
        self._used: dict[str, int] = {}
        self._busy = False
        self._copies: dict[int, tuple[weakref.ref[torch.Tensor], int, np.ndarray]] = {}

    @contextmanager
    def installed(self) -> Iterator[None]:
        original = torch.nn.Module.__call__

        @functools.wraps(original)
        def call(layer: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if self._busy or not is_leaf(layer):
                return original(layer, *args, **kwargs)
            return self._record(functools.partial(original, layer), layer, args, kwargs)

        torch.nn.Module.__call__ = call
        try:
            yield
        finally:
            torch.nn.Module.__call__ = original

    def _record(
        self, run: Callable[..., Any], layer: torch.nn.Module, args: Any, kwargs: Any
    ) -> Any:
        tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
        inputs = [self._kept(t) for t in tensors]
        again = _Again(self.backend, self.device, layer, args, kwargs)
        progress.step(f"layer {self._path(layer, count=False)}")
        progress.did("layers")
        calls_before = len(self.calls)
        self._busy = library_class("torch", layer) is not None
        try:
            output = run(*args, **kwargs)
        finally:
            self._busy = False
        if len(self.calls) > calls_before:
            return output  # no leaf: it keeps its layers where torch does not see them
        call = LayerCall(
            path=self._path(layer),
            kind=kind_of("torch", layer),
            inputs=inputs,
            output=tree_map(lambda x: self._kept(x) if isinstance(x, torch.Tensor) else x, output),
            layer=layer,
            names=argument_names(
                layer.forward,
                [_tensors(a) for a in args],
                {name: _tensors(a) for name, a in kwargs.items()},
            ),
            where=calling_line(torch),
            replay=again.output,
            replay_gradients=again.gradients,
        )
        self.calls.append(call)
        self._watch(call, output)
        return output

    def _kept(self, tensor: torch.Tensor) -> np.ndarray:
        """The values now; one copy of a tensor that is handed from layer to layer unchanged."""
        if tensor.is_inference():  # whose changes torch does not count
            return spill.copied(to_numpy(tensor))
        known = self._copies.get(id(tensor))
        if known is not None and known[1] == tensor._version and known[0]() is tensor:
            if np.array_equal(to_numpy(tensor), known[2]):  # a change through .data is not counted
                return known[2][...]
        array = spill.copied(to_numpy(tensor))
        self._copies[id(tensor)] = weakref.ref(tensor), tensor._version, array
        return array[...]

    def _watch(self, call: LayerCall, output: Any) -> None:
        """Take the gradient by a tensor hook: it keeps the value before in-place operations."""
        leaves, spec = tree_flatten(output)
        gradients: list[np.ndarray | None] = [None] * len(leaves)

        def arrived(index: int) -> Callable[[torch.Tensor], None]:
            def hook(gradient: torch.Tensor) -> None:
                gradients[index] = spill.copied(to_numpy(gradient))
                call.output_gradient = tree_unflatten(gradients, spec)

            return hook

        for index, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
                leaf.register_hook(arrived(index))

    def _path(self, layer: torch.nn.Module, *, count: bool = True) -> str:
        kind = kind_of("torch", layer)
        path = self._paths.get(id(layer), f"unregistered/{kind}") or kind
        number = self._used.get(path, 0) + 1
        if count:
            self._used[path] = number
        return path if number == 1 else f"{path}#{number}"


class _Again:
    """Calls a layer as it was called, with other tensors."""

    def __init__(
        self, backend: Backend, device: str, layer: torch.nn.Module, args: Any, kwargs: Any
    ) -> None:
        self._backend, self._device, self._layer = backend, device, layer
        flat, self._spec = tree_flatten((args, kwargs))
        self._holes = [isinstance(x, torch.Tensor) for x in flat]
        self._rest = [None if hole else x for hole, x in zip(self._holes, flat, strict=True)]

    def output(self, inputs: Sequence[np.ndarray]) -> Any:
        spill.forget()
        with torch.no_grad():
            return _structure(self._call(self._tensors(inputs)))

    def gradients(self, inputs: Sequence[np.ndarray], output_gradient: Any) -> LayerGradients:
        spill.forget()  # weights of layers that ran before may lie there
        tensors = self._tensors(inputs)
        for tensor in tensors:
            tensor.requires_grad_(tensor.is_floating_point())
        slots = [slot for slot in self._backend.slots(self._layer) if slot.trainable]
        # clones, since a layer that works in place may not overwrite a leaf
        leaves = tree_flatten(self._call([t.clone() for t in tensors]))[0]
        live = [
            (leaf, torch.as_tensor(weight).to(leaf.device, leaf.dtype))
            for leaf, weight in zip(leaves, tree_flatten(output_gradient)[0], strict=True)
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad and weight is not None
        ]
        floats = [t for t in tensors if t.requires_grad]
        sources = [*floats, *(native for slot in slots for native in slot.natives)]
        outputs, weights = [leaf for leaf, _ in live], [weight for _, weight in live]
        found: list[Any] = [None] * len(sources)
        if outputs and sources:
            found = list(torch.autograd.grad(outputs, sources, weights, allow_unused=True))
        arrays = iter([None if g is None else to_numpy(g) for g in found])
        of_inputs = [next(arrays) if t.requires_grad else None for t in tensors]
        return LayerGradients(
            of_inputs, {s.path: s.gradient([next(arrays) for _ in s.natives]) for s in slots}
        )

    def _tensors(self, inputs: Sequence[np.ndarray]) -> list[torch.Tensor]:
        return [self._backend.tensor(a, device=self._device) for a in inputs]

    def _call(self, tensors: Sequence[torch.Tensor]) -> Any:
        fresh = iter(tensors)
        filled = [
            next(fresh) if hole else x for hole, x in zip(self._holes, self._rest, strict=True)
        ]
        args, kwargs = tree_unflatten(filled, self._spec)
        return self._layer(*args, **kwargs)


def _tensors(argument: Any) -> int:
    return sum(isinstance(x, torch.Tensor) for x in tree_flatten(argument)[0])


def _copied(tensor: torch.Tensor) -> np.ndarray:
    """The values now: a NumPy view would follow later in-place operations."""
    return np.array(to_numpy(tensor))


def is_leaf(layer: torch.nn.Module) -> bool:
    """Recorded as one call: layers without children, and library layers that use theirs unseen."""
    if layout_of("torch", layer) is not None or isinstance(layer, torch.nn.MultiheadAttention):
        return True
    return next(layer.children(), None) is None


def _structure(output: Any) -> Any:
    return tree_map(lambda x: _copied(x) if isinstance(x, torch.Tensor) else x, output)
