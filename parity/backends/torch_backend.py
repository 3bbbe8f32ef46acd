"""The PyTorch adapter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from parity import spill
from parity.backends import to_numpy
from parity.backends.base import Backend, Broadcast, ModuleRecord, Slot
from parity.backends.torch_broadcast import BroadcastWatch
from parity.backends.torch_recorder import Recorder
from parity.errors import InvalidInput
from parity.layouts import Native, is_composite, kind_of, layer_slots
from parity.trace import flatten


class TorchBackend(Backend):
    """torch tensors, ``torch.nn`` modules, autograd."""

    name = "torch"

    def tensor(self, array: np.ndarray, *, dtype: str | None = None, device: str = "cpu") -> Any:
        array = np.asarray(array)
        if dtype is not None and array.dtype.kind == "f":
            array = array.astype(dtype)
        return torch.tensor(np.array(array, order="C"), device=device)

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
        tensors = {n: self.tensor(a, dtype=dtype, device=device) for n, a in inputs.items()}
        for name in wrt:
            if not tensors[name].is_floating_point():
                raise InvalidInput(
                    f"input {name!r} holds {tensors[name].dtype}: it has no gradient"
                )
            tensors[name].requires_grad_(True)
        outputs = function(**tensors)
        gradients = _gradients(self, outputs, [tensors[n] for n in wrt], cotangents)
        return outputs, dict(zip(wrt, gradients, strict=True))

    def compiled(self, function: Callable[..., Any], variant: str) -> Callable[..., Any]:
        if variant == "compile":
            return torch.compile(function, fullgraph=True)  # type: ignore[no-any-return]
        return super().compiled(function, variant)

    def is_module(self, subject: Any) -> bool:
        return isinstance(subject, torch.nn.Module)

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
        memory: int = 0,
    ) -> ModuleRecord:
        """As every backend does.

        Args:
            memory: bytes of large gradients that stay in memory though others go to a file.
        """
        tensors = [self.tensor(a, dtype=dtype, device=device) for a in inputs]
        floats = {str(i): t for i, t in enumerate(tensors) if t.is_floating_point()}
        for tensor in floats.values():
            tensor.requires_grad_(True)
        slots = [s for s in self.slots(module) if s.trainable and s.path not in without]
        recorder = Recorder(self, module, device)
        with _mode(module, training), recorder.installed():
            output = module(*tensors)
            arrays = {path: spill.copied(self.to_numpy(leaf)) for path, leaf in flatten(output)}
            record = ModuleRecord(output=arrays, calls=recorder.calls)
            if not backward:
                return record
            natives = [native for slot in slots for native in slot.natives]
            wanted = [*floats.values(), *natives]
            with _handed_over(natives if dtype == "float64" else [], memory) as stored:
                found = iter(_gradients(self, output, wanted, cotangents))
        record.input_gradients = {name: next(found) for name in floats}
        for slot in slots:
            record.parameter_gradients[slot.path] = slot.gradient(
                [stored.get(id(native), next(found)) for native in slot.natives]
            )
        return record

    def call_layer(
        self, module: Any, path: str, inputs: Sequence[np.ndarray], *, device: str = "cpu"
    ) -> np.ndarray:
        layers = {name.replace(".", "/"): layer for name, layer in module.named_modules()}
        layers[kind_of("torch", module)] = module  # a lone layer is called by its kind
        bare = path.split("#")[0]
        if bare not in layers:
            raise InvalidInput(f"no layer {bare!r}; there are {', '.join(filter(None, layers))}")
        with torch.no_grad():
            return self.to_numpy(layers[bare](*(self.tensor(a, device=device) for a in inputs)))

    def slots(self, module: Any) -> list[Slot]:
        found: list[Slot] = []
        seen: set[int] = set()
        for name, layer in module.named_modules():
            held = _all_tensors(layer) if is_composite("torch", layer) else _own_tensors(layer)
            own = {key: _native(t) for key, t in held.items() if id(t) not in seen}
            seen.update(id(tensor) for tensor in held.values())
            found += layer_slots("torch", name.replace(".", "/"), layer, own)
        return found

    @contextmanager
    def watch_broadcasts(self) -> Iterator[list[Broadcast]]:
        with BroadcastWatch() as watch:
            yield watch.events


def _gradients(
    backend: TorchBackend,
    outputs: Any,
    sources: Sequence[torch.Tensor],
    cotangents: Callable[[str, tuple[int, ...]], np.ndarray],
) -> list[np.ndarray | None]:
    """Gradient of ``sum(output * cotangent)`` for each source; None where none flows."""
    live = [
        (path, leaf)
        for path, leaf in flatten(outputs)
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad
    ]
    sources = list(sources)
    if not live or not sources:
        return [None for _ in sources]
    weights = [
        torch.as_tensor(np.asarray(cotangents(path, tuple(t.shape)))).to(t.device, t.dtype)
        for path, t in live
    ]
    gradients = torch.autograd.grad([t for _, t in live], sources, weights, allow_unused=True)
    return [None if g is None else backend.to_numpy(g) for g in gradients]


@contextmanager
def _handed_over(sources: Sequence[torch.Tensor], memory: int) -> Iterator[dict[int, np.ndarray]]:
    """Gradients that are stored in a file as soon as they are made, by their tensors' ids.

    autograd is handed zeros of no size in their place, so that it never holds all of them.

    Args:
        memory: bytes of the first ones, which are left to autograd.
    """
    stored: dict[int, np.ndarray] = {}
    left = [memory]
    store = spill.store()
    handles = []

    def stores(source: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor | None]:
        def hook(gradient: torch.Tensor) -> torch.Tensor | None:
            if store is None or gradient.layout is not torch.strided:
                return None
            left[0] -= gradient.nbytes
            if left[0] >= 0:
                return None
            kept = store.keep(to_numpy(gradient))
            if kept is None:
                return None
            stored[id(source)] = kept
            return gradient.new_zeros(()).expand(gradient.shape)

        return hook

    try:
        once = {id(source): source for source in sources}  # several slots may share a tensor
        for source in once.values() if store is not None else ():
            if source.numel() >= spill.LARGE:
                handles.append(source.register_hook(stores(source)))
        yield stored
    finally:
        for handle in handles:
            handle.remove()


def _own_tensors(layer: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and persistent buffers that the layer itself holds."""
    passing = layer._non_persistent_buffers_set
    own = {**layer._parameters, **{k: b for k, b in layer._buffers.items() if k not in passing}}
    return {name: tensor for name, tensor in own.items() if tensor is not None}


def _all_tensors(layer: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The tensors of a layer and of those below it, by relative path."""
    return {
        f"{name}/{key}".lstrip("/").replace(".", "/"): tensor
        for name, part in layer.named_modules()
        for key, tensor in _own_tensors(part).items()
    }


def _native(tensor: torch.Tensor) -> Native:
    def look() -> np.ndarray:
        return np.asarray(tensor.detach().cpu().numpy())

    def get() -> np.ndarray:
        return np.array(look())

    def put(array: np.ndarray) -> None:
        shareable = array.flags.writeable and all(step >= 0 for step in array.strides)
        given = array if shareable else np.array(array, order="C")
        with torch.no_grad():
            tensor.copy_(torch.from_numpy(given))

    return Native(tensor, tensor.requires_grad, get, put, look)


@contextmanager
def _mode(module: torch.nn.Module, training: bool) -> Iterator[None]:
    """Training or evaluation mode, put back layer by layer."""
    before = [(layer, layer.training) for layer in module.modules()]
    module.train(training)
    try:
        yield
    finally:
        for layer, mode in before:
            layer.training = mode


BACKEND = TorchBackend()
