"""Ring buffer and index sampling on preallocated torch tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from impls.errors import ConfigError, DtypeError, EmptyBufferError, NonFiniteError, ShapeError
from impls.replay_buffer.config import (
    Layout,
    ReplayBufferConfig,
    check_fields,
    check_ring,
    check_state,
    takes_dtype_of,
)


class ReplayBuffer:
    """A ring buffer whose fields, size and cursor are tensors on one device."""

    def __init__(self, config: ReplayBufferConfig, *, dtype: str, device: str = "cpu") -> None:
        self.config = config
        self.device = device
        self._layout = config.layout(dtype)
        self._storage = {
            name: torch.zeros((config.capacity, *shape), dtype=getattr(torch, kind), device=device)
            for name, (shape, kind) in self._layout.items()
        }
        self._size = torch.zeros((), dtype=torch.int64, device=device)
        self._cursor = torch.zeros((), dtype=torch.int64, device=device)

    @property
    def size(self) -> Any:
        """Number of transitions held, as it is now: later additions do not change it."""
        return self._size.clone()

    def add(self, transition: Mapping[str, Any]) -> None:
        """Store one transition, over the oldest one if the buffer is full."""
        row = self._checked(transition, batched=False)
        self._write({name: value.unsqueeze(0) for name, value in row.items()})

    def add_batch(self, transitions: Mapping[str, Any]) -> None:
        """Store N transitions, row by row in order."""
        self._write(self._checked(transitions, batched=True))

    def sample(self, indices: Any) -> dict[str, Any]:
        """Copies of the transitions in the given slots."""
        slots = self._slots(indices)
        return {name: values.index_select(0, slots) for name, values in self._storage.items()}

    def require_filled(self, slots: torch.Tensor) -> None:
        """Refuse slots of which one holds nothing: a compiled function that samples does not look.

        Args:
            slots: int64 or int32, [N].

        Raises:
            EmptyBufferError: no slot holds anything.
            IndexError: one of these does not.
        """
        _require_filled(slots, int(self._size))

    def state(self) -> dict[str, Any]:
        """A copy of everything."""
        fields = {name: values.clone() for name, values in self._storage.items()}
        return {**fields, "size": self._size.clone(), "cursor": self._cursor.clone()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``state`` returned."""
        entries = {name: torch.as_tensor(value) for name, value in state.items()}
        described = {name: (tuple(t.shape), _name(t)) for name, t in entries.items()}
        check_state(described, self._layout, self.config.capacity)
        check_ring(int(entries["size"]), int(entries["cursor"]), self.config.capacity)
        for name in self._layout:
            self._storage[name].copy_(entries[name])
        self._size.copy_(entries["size"])
        self._cursor.copy_(entries["cursor"])

    def _slots(self, indices: Any) -> torch.Tensor:
        """Indices as a tensor, all of them of filled slots."""
        slots = torch.as_tensor(indices, device=self.device)
        if slots.ndim != 1:
            raise ShapeError(f"indices has shape {list(slots.shape)}, must be [N]")
        if slots.dtype not in (torch.int32, torch.int64):
            raise DtypeError(f"indices is {_name(slots)}, must be int64 or int32")
        if not torch.compiler.is_compiling():
            self.require_filled(slots)
        return slots

    def _write(self, rows: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Write rows behind the newest one; the slots of those that were kept."""
        capacity = self.config.capacity
        count = rows["reward"].shape[0]
        kept = min(count, capacity)  # two rows for one slot would be written in any order
        first = self._cursor + (count - kept)
        slots = (first + torch.arange(kept, device=self.device)) % capacity
        for name, values in self._storage.items():
            values.index_copy_(0, slots, rows[name][count - kept :])
        self._cursor.copy_((self._cursor + count) % capacity)
        self._size.copy_((self._size + count).clamp(max=capacity))
        return slots

    def _checked(
        self, rows: Mapping[str, Any], *, batched: bool, layout: Layout | None = None
    ) -> dict[str, torch.Tensor]:
        """The fields on this device, of exactly the declared shapes and dtypes, all finite."""
        layout = layout or self._layout
        tensors = {n: _tensor(v, layout.get(n, ((), ""))[1]) for n, v in rows.items()}
        described = {name: (tuple(t.shape), _name(t)) for name, t in tensors.items()}
        check_fields(described, layout, batched=batched)
        if not torch.compiler.is_compiling():
            for name in layout:
                _require_finite(name, tensors[name])
        return {name: tensors[name].to(self.device) for name in layout}


def sample_indices(uniforms: Any, size: Any) -> Any:
    """Indices with replacement: ``min(floor(u * size), size - 1)``."""
    _require_floats("uniforms", uniforms)
    filled = torch.as_tensor(size, dtype=torch.int64, device=uniforms.device)
    if not torch.compiler.is_compiling() and int(filled) == 0:
        raise EmptyBufferError("size=0: there is nothing to sample from")
    slots = torch.floor(uniforms.to(torch.float64) * filled).to(torch.int64)
    return torch.minimum(slots, filled - 1)


def indices_without_replacement(keys: Any, count: int, size: Any) -> Any:
    """Distinct indices: the places of the ``count`` smallest of the first ``size`` keys."""
    _require_floats("keys", keys)
    if not 1 <= count <= keys.shape[0]:
        raise ConfigError(f"count={count!r}: must be in [1, {keys.shape[0]}], the number of keys")
    filled = torch.as_tensor(size, dtype=torch.int64, device=keys.device)
    if not torch.compiler.is_compiling() and count > int(filled):
        raise EmptyBufferError(f"count={count}: the buffer holds only {int(filled)} transitions")
    empty = torch.arange(keys.shape[0], device=keys.device) >= filled
    # a stable sort, not topk: among equal keys topk's order is undefined
    order = torch.argsort(keys.masked_fill(empty, torch.inf), stable=True)
    return order[:count]


def _require_floats(name: str, values: torch.Tensor) -> None:
    if values.ndim != 1:
        raise ShapeError(f"{name} has shape {list(values.shape)}, must be [N]")
    if not values.is_floating_point():
        raise DtypeError(f"{name} is {_name(values)}, must be floating")


def _require_filled(slots: torch.Tensor, size: int) -> None:
    if size == 0:
        raise EmptyBufferError("the buffer is empty: add transitions before sampling")
    outside = (slots < 0) | (slots >= size)
    if bool(outside.any()):
        position = int(outside.nonzero()[0])
        raise IndexError(
            f"indices[{position}] = {int(slots[position])} is out of range [0, {size})"
        )


def _require_finite(name: str, values: torch.Tensor) -> None:
    if values.is_floating_point() and not bool(torch.isfinite(values).all()):
        index = torch.nonzero(~torch.isfinite(values))[0].tolist()
        raise NonFiniteError(f"{name} holds {values[tuple(index)].item()} at index {index}")


def _tensor(value: Any, dtype: str) -> torch.Tensor:
    """The value as a tensor; a Python number takes the field's dtype if it is of that kind."""
    if isinstance(value, torch.Tensor):
        return value.detach()
    return torch.tensor(np.asarray(value, dtype if takes_dtype_of(value, dtype) else None))


def _name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
