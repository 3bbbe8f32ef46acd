"""Watches torch operations for operands that silently broadcast into something larger."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from parity.backends.base import Broadcast, grown, user_line

# These expand their arguments to one shape before any operation sees them.
_LOSSES = {
    getattr(torch.nn.functional, name)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss")
} | {torch.broadcast_tensors}


class BroadcastWatch:
    """Context manager; ``events`` fills with the operations that grew."""

    def __init__(self) -> None:
        self.events: list[Broadcast] = []
        self._modes = (_Losses(self.events), _Pointwise(self.events))

    def __enter__(self) -> BroadcastWatch:
        for mode in self._modes:
            mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(*exception)


class _Pointwise(TorchDispatchMode):
    def __init__(self, events: list[Broadcast]) -> None:
        super().__init__()
        self.events = events

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if torch.Tag.pointwise in func.tags and isinstance(result, torch.Tensor):
            _look(self.events, str(func.overloadpacket), (args, kwargs), tuple(result.shape))
        return result


class _Losses(TorchFunctionMode):
    def __init__(self, events: list[Broadcast]) -> None:
        super().__init__()
        self.events = events

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _LOSSES:
            shapes = _shapes((args, kwargs))
            try:
                result = tuple(torch.broadcast_shapes(*shapes))
            except RuntimeError:  # the call itself will say so
                result = ()
            _look(self.events, func.__name__, (args, kwargs), result)
        return func(*args, **(kwargs or {}))


def _look(events: list[Broadcast], name: str, arguments: Any, result: tuple[int, ...]) -> None:
    shapes = _shapes(arguments)
    if grown(shapes, result):
        events.append(Broadcast(name, shapes, result, user_line(torch)))


def _shapes(arguments: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(x.shape) for x in tree_leaves(arguments) if isinstance(x, torch.Tensor))
