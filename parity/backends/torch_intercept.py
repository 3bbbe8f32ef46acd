"""Sees every torch operation, forward and backward, with the user's line that asked for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from parity.debug.sites import Site, chain_of

_LIMIT = 20_000
_LARGEST = 4_000_000


@dataclass
class TorchCall:
    """One operation of torch: its values as arrays, its numbers, and where it stands."""

    op: str
    site: Site
    output: list[np.ndarray]
    numbers: list[float]
    backward: bool
    inputs: list[int] = field(default_factory=list)


class Recorder(TorchDispatchMode):
    """Records operations as they run; values are copied, since later ones may change them."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[TorchCall] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if len(self.calls) < _LIMIT:
            leaves = tree_leaves((args, kwargs or {}))
            numbers = [float(x) for x in leaves if isinstance(x, (int, float))]
            values = [_array(t) for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
            self.calls.append(
                TorchCall(
                    str(func.overloadpacket).removeprefix("aten."),
                    Site(str(func.overloadpacket), chain_of(sys._getframe(1))),
                    [v for v in values if v is not None],
                    numbers,
                    torch._C._current_graph_task_id() != -1,
                )
            )
        return result


def _array(tensor: torch.Tensor) -> np.ndarray | None:
    if tensor.numel() > _LARGEST or tensor.is_sparse or tensor.is_meta:
        return None
    with torch._C._DisableTorchDispatch():
        plain = tensor.detach()
        if plain.dtype is torch.bfloat16:
            plain = plain.float()
        try:
            return np.array(plain.cpu().numpy())
        except (RuntimeError, TypeError):  # a fake or quantised tensor holds nothing to compare
            return None


@contextmanager
def intercept() -> Iterator[list[TorchCall]]:
    """Record what torch executes inside."""
    with Recorder() as recorder:
        yield recorder.calls
