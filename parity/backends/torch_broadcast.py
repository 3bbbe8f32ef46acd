"""Watches torch operations for operands that silently broadcast into something larger."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from parity.backends.base import Broadcast, grown, user_line

# These expand their arguments to one shape before any operation sees them.
_EXPANDING = (
    torch.broadcast_tensors,
    torch.nn.functional.mse_loss,
    torch.nn.functional.l1_loss,
    torch.nn.functional.smooth_l1_loss,
    torch.nn.functional.huber_loss,
    torch.nn.functional.kl_div,
    torch.nn.functional.poisson_nll_loss,
)
# These multiply (n, 1) by (m,) inside, and say so in their name.
_OUTER = (torch.outer, torch.ger, torch.kron, torch.Tensor.outer, torch.Tensor.ger)


class BroadcastWatch:
    """Context manager; ``events`` fills with the operations that grew."""

    def __init__(self) -> None:
        self.events: list[Broadcast] = []
        self.meant = False
        self._modes = (_Named(self), _Pointwise(self))

    def __enter__(self) -> BroadcastWatch:
        for mode in self._modes:
            mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(*exception)

    def look(self, name: str, shapes: tuple[tuple[int, ...], ...], result: tuple[int, ...]) -> None:
        if not self.meant and grown(shapes, result):
            self.events.append(Broadcast(name, shapes, result, user_line(torch)))


class _Pointwise(TorchDispatchMode):
    """Sees every elementwise operation, whatever Python call it came from."""

    def __init__(self, watch: BroadcastWatch) -> None:
        super().__init__()
        self.watch = watch

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if torch.Tag.pointwise in func.tags and isinstance(result, torch.Tensor):
            shapes = _shapes((args, kwargs))
            self.watch.look(str(func.overloadpacket), shapes, tuple(result.shape))
        return result


class _Named(TorchFunctionMode):
    """Sees the Python functions that hide their broadcasting from the operations."""

    def __init__(self, watch: BroadcastWatch) -> None:
        super().__init__()
        self.watch = watch

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _EXPANDING:
            return self._expanding(func, args, kwargs or {})
        before, self.watch.meant = self.watch.meant, self.watch.meant or func in _OUTER
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.watch.meant = before

    def _expanding(self, func: Any, args: Any, kwargs: Any) -> Any:
        shapes = _shapes((args, kwargs))
        try:
            result = tuple(torch.broadcast_shapes(*shapes))
        except RuntimeError:  # the call itself will say so
            result = ()
        self.watch.look(func.__name__, shapes, result)
        with warnings.catch_warnings():  # the event says it, and where
            warnings.filterwarnings("ignore", "Using a target size", UserWarning)
            return func(*args, **kwargs)


def _shapes(arguments: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(x.shape) for x in tree_leaves(arguments) if isinstance(x, torch.Tensor))
