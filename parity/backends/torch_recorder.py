"""Records every leaf layer of a torch module during one forward and backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from parity.backends.base import Backend, LayerCall
from parity.layouts import kind_of, layout_of


class Recorder:
    """Forward hooks on the leaf layers; gradients arrive in the calls during the backward pass."""

    def __init__(self, backend: Backend, module: torch.nn.Module, device: str) -> None:
        self.backend = backend
        self.device = device
        self.calls: list[LayerCall] = []
        self._leaves = dict(_leaves(module))
        self._used: dict[str, int] = {}
        self._pending: list[tuple[list[np.ndarray], Any, Any]] = []

    @contextmanager
    def installed(self) -> Iterator[None]:
        handles = []
        for path, layer in self._leaves.items():
            handles.append(layer.register_forward_pre_hook(self._before, with_kwargs=True))
            handles.append(
                layer.register_forward_hook(self._after(path, layer), with_kwargs=True)
            )
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _before(self, layer: torch.nn.Module, args: Any, kwargs: Any) -> None:
        # copied before the call: the layer, or a later one, may overwrite its input in place
        tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
        self._pending.append(([self._copy(t) for t in tensors], args, kwargs))

    def _after(self, path: str, layer: torch.nn.Module) -> Callable[..., None]:
        def hook(_: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            inputs, args, kwargs = self._pending.pop()
            self._used[path] = count = self._used.get(path, 0) + 1
            call = LayerCall(
                path=path if count == 1 else f"{path}#{count}",
                kind=kind_of("torch", layer),
                inputs=inputs,
                output=_structure(output, self._copy),
                replay=self._replay(layer, args, kwargs),
            )
            self.calls.append(call)
            self._watch(call, output)

        return hook

    def _watch(self, call: LayerCall, output: Any) -> None:
        """Take the gradient by a tensor hook: it keeps the value before in-place operations."""
        leaves, spec = tree_flatten(output)
        gradients: list[np.ndarray | None] = [None] * len(leaves)

        def arrived(index: int) -> Callable[[torch.Tensor], None]:
            def hook(gradient: torch.Tensor) -> None:
                gradients[index] = self._copy(gradient)
                call.output_gradient = tree_unflatten(gradients, spec)

            return hook

        for index, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
                leaf.register_hook(arrived(index))

    def _replay(
        self, layer: torch.nn.Module, args: Any, kwargs: Any
    ) -> Callable[[Sequence[np.ndarray]], Any]:
        flat, spec = tree_flatten((args, kwargs))
        holes = [isinstance(x, torch.Tensor) for x in flat]
        constants = [None if hole else x for hole, x in zip(holes, flat, strict=True)]

        def replay(inputs: Sequence[np.ndarray]) -> Any:
            fresh = iter(inputs)
            filled = [
                self.backend.tensor(next(fresh), device=self.device) if hole else x
                for hole, x in zip(holes, constants, strict=True)
            ]
            again_args, again_kwargs = tree_unflatten(filled, spec)
            with torch.no_grad():
                return _structure(layer(*again_args, **again_kwargs), self._copy)

        return replay

    def _copy(self, tensor: torch.Tensor) -> np.ndarray:
        return np.array(self.backend.to_numpy(tensor))


def _structure(output: Any, convert: Callable[[torch.Tensor], np.ndarray]) -> Any:
    return tree_map(lambda x: convert(x) if isinstance(x, torch.Tensor) else x, output)


def _leaves(module: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """Layers without children, and library layers that use their children without calling them."""
    inside: tuple[str, ...] = ()
    for name, layer in module.named_modules():
        if inside and name.startswith(inside):
            continue
        packed = layout_of("torch", layer) is not None or isinstance(
            layer, torch.nn.MultiheadAttention
        )
        if packed or not any(True for _ in layer.children()):
            inside = (*inside, f"{name}.") if packed else inside
            yield name.replace(".", "/") or kind_of("torch", layer), layer
