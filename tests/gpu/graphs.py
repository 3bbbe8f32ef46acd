"""Steps as CUDA graphs: what torch's kernels did once is recorded, and replayed on other values.

A replay runs no Python and reads tensors where they lay when it was recorded: whatever a step
decides on the host, or keeps in a new tensor, goes wrong there and nowhere else. A CPU has no such
graphs. There the step's operations are written down by ``make_fx`` and replayed, which asks the
same of the step; what only CUDA does (streams, memory, kernels) is not tried there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

WARM_UP = 2
"""Runs before recording: libraries allocate their workspaces in the first ones."""


@dataclass
class Counts:
    """How often steps were called, recorded and replayed."""

    calls: int = 0
    recorded: int = 0
    replayed: int = 0


class Graphed:
    """A function of tensors as a CUDA graph for each signature that it meets.

    A warm-up moves what the function holds (parameters, slots of an optimizer); it is put back.
    """

    def __init__(self, function: Callable[..., Any], counts: Counts) -> None:
        self._function, self._counts = function, counts
        self._made: dict[Any, Callable[[Sequence[Any]], Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch
        from torch.utils._pytree import tree_flatten

        self._counts.calls += 1
        leaves, spec = tree_flatten((args, kwargs))
        tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
        rest = [None if isinstance(x, torch.Tensor) else x for x in leaves]
        form = [(tuple(t.shape), t.dtype, t.requires_grad) for t in tensors]
        key = (repr(spec), repr(rest), repr(form))
        if key not in self._made:
            self._made[key] = self._record(tensors, rest, spec)
            self._counts.recorded += 1
        self._counts.replayed += 1
        return self._made[key](tensors)

    def _record(self, tensors: list[Any], rest: list[Any], spec: Any) -> Callable[..., Any]:
        import torch
        from torch.utils._pytree import tree_unflatten

        def flat(*given: Any) -> Any:
            fresh = iter(given)
            filled = [next(fresh) if x is None else x for x in rest]
            args, kwargs = tree_unflatten(filled, spec)
            with pytest.MonkeyPatch.context() as patch:
                # what looks at values on the host is left out of compiled steps
                patch.setattr(torch.compiler, "is_compiling", lambda: True)
                return self._function(*args, **kwargs)

        with unmoved(self._function):
            if not any(t.is_cuda for t in tensors):
                return _written_down(flat, tensors)
            if any(t.requires_grad for t in tensors):
                return _differentiable(flat, tensors)
            places = [t.clone() for t in tensors]
            _warm_up(flat, places)
        return _cuda_graph(flat, places)


def _warm_up(flat: Callable[..., Any], places: Sequence[Any]) -> None:
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            flat(*places)
    torch.cuda.current_stream().wait_stream(stream)


def _cuda_graph(flat: Callable[..., Any], places: Sequence[Any]) -> Callable[..., Any]:
    """A step that changes tensors in place, such as an update, or has no gradient."""
    import torch
    from torch.utils._pytree import tree_map

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = flat(*places)

    def replay(given: Sequence[Any]) -> Any:
        for place, tensor in zip(places, given, strict=True):
            place.copy_(tensor)
        graph.replay()
        return tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, output)

    return replay


def _written_down(flat: Callable[..., Any], tensors: Sequence[Any]) -> Callable[..., Any]:
    """The stand-in on a CPU.

    What has a gradient runs as it is once it could be written down: operations know no
    ``torch.no_grad``. A step's own gradients are operations like others.
    """
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(flat)(*(t.detach().clone().requires_grad_(t.requires_grad) for t in tensors))
    if any(t.requires_grad for t in tensors):
        return lambda given: flat(*given)

    def replay(given: Sequence[Any]) -> Any:
        with torch.no_grad():
            return graph(*given)

    return replay


@contextmanager
def unmoved(function: Callable[..., Any]) -> Iterator[None]:
    """What a function can reach of tensors is put back afterwards, in place."""
    import torch

    kept = [(tensor, tensor.detach().clone()) for tensor in held(function)]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, before in kept:
                tensor.copy_(before)


def held(value: Any, depth: int = 6, seen: dict[int, Any] | None = None) -> Iterator[Any]:
    """Tensors in closures, attributes, lists and mappings."""
    import torch

    seen = {} if seen is None else seen
    if id(value) in seen or depth < 0 or isinstance(value, (str, bytes, type, ModuleType)):
        return
    seen[id(value)] = value
    if isinstance(value, torch.Tensor):
        yield value
        return
    inside: list[Any] = [getattr(value, "__self__", None), getattr(value, "__func__", None)]
    inside += [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]
    inside += list(getattr(value, "__dict__", {}).values())
    if isinstance(value, Mapping):
        inside += list(value.values())
    elif isinstance(value, (list, tuple)):
        inside += list(value)
    for part in inside:
        yield from held(part, depth - 1, seen)


def _differentiable(flat: Callable[..., Any], tensors: Sequence[Any]) -> Callable[..., Any]:
    """Forward and backward pass as a graph each; the output is flattened meanwhile."""
    import torch
    from torch.utils._pytree import tree_flatten, tree_unflatten

    specs: list[Any] = []

    def plain(*given: Any) -> tuple[Any, ...]:
        leaves, spec = tree_flatten(flat(*given))
        specs.append(spec)
        return tuple(leaves)

    samples = tuple(t.detach().clone().requires_grad_(t.requires_grad) for t in tensors)
    run = torch.cuda.make_graphed_callables(plain, samples)
    return lambda given: tree_unflatten(list(run(*given)), specs[-1])


@contextmanager
def as_graphs(patch: pytest.MonkeyPatch) -> Iterator[Counts]:
    """torch's compiled variant is a CUDA graph of the plain step, for the length of the context."""
    from impls.learner.torch_impl import Learner
    from parity.backends import steps
    from parity.backends.torch_backend import TorchBackend
    from parity.checks import learner as learners

    counts = Counts()

    def of_learner(learner: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        return function if learner.variant == "eager" else Graphed(function, counts)

    def of_step(function: Callable[..., Any]) -> steps.Step:
        return steps.Step(Graphed(function, counts), lambda: 0)

    def of_function(_: Any, function: Callable[..., Any], variant: str) -> Callable[..., Any]:
        return Graphed(function, counts)

    patch.setattr(Learner, "compiled", of_learner)
    patch.setattr(TorchBackend, "compiled", of_function)
    patch.setattr(steps, "_torch_compiled", of_step)
    # learners are kept by module and variant: those made here are no compiled ones
    patch.setattr(learners, "_LEARNERS", type(learners._LEARNERS)())
    yield counts
