"""Recurrent layers. Canonical: Keras's kernels and gate orders; torch's two biases for GRUs.

- LSTM: both order their gates i, f, g (Keras: c), o. torch adds two biases, Keras has one: the sum.
- GRU: torch r, z, n; Keras z, r, h. With ``reset_after`` Keras has two biases like torch, without
  only one, and computes another function.
- Several layers or directions have prefixes: ``l0/``, ``forward/``, ``l1/backward/``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.layouts.base import LayerLayout, TensorLayout, permuted

#: torch's gate blocks in Keras's order.
GATES = {"lstm": (0, 1, 2, 3), "gru": (1, 0, 2), "rnn": (0,)}
_TORCH = {"lstm": "LSTM", "gru": "GRU", "rnn": "RNN"}
_KERAS = {"lstm": "LSTM", "gru": "GRU", "rnn": "SimpleRNN"}


def regrouped(array: np.ndarray, order: tuple[int, ...], axis: int = -1) -> np.ndarray:
    """The gate blocks along ``axis`` in another order."""
    if order == tuple(range(len(order))):
        return array
    blocks = np.split(array, len(order), axis=axis)
    return np.concatenate([blocks[i] for i in order], axis=axis)


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argsort(order))


def _gates(name: str, native: str, order: tuple[int, ...], *, matrix: bool) -> TensorLayout:
    back = _inverse(order)

    def read(_: Any, a: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(regrouped(a.T if matrix else a, order))

    def write(_: Any, a: np.ndarray, __: np.ndarray) -> tuple[np.ndarray, ...]:
        moved = regrouped(a, back)
        return (np.ascontiguousarray(moved.T if matrix else moved),)

    return TensorLayout(name, (native,), read, write)


def _summed(name: str, one: str, two: str) -> TensorLayout:
    """Two biases that are only ever added: written as they are if they already add up to it."""

    def write(_: Any, a: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
        return (x, y) if np.array_equal(x + y, a) else (a, np.zeros_like(y))

    return TensorLayout(name, (one, two), lambda _, x, y: x + y, write, lambda _, x, __: x)


def _torch_set(kind: str, suffix: str) -> tuple[TensorLayout, ...]:
    order = GATES[kind]
    ih, hh = f"bias_ih{suffix}", f"bias_hh{suffix}"
    biases = (
        (_gates("bias", ih, order, matrix=False), _gates("recurrent_bias", hh, order, matrix=False))
        if kind == "gru"
        else (_summed("bias", ih, hh),)
    )
    return (
        _gates("kernel", f"weight_ih{suffix}", order, matrix=True),
        _gates("recurrent_kernel", f"weight_hh{suffix}", order, matrix=True),
        *biases,
    )


def _torch_layer(kind: str) -> Callable[[Any], tuple[TensorLayout, ...]]:
    def tensors(layer: Any) -> tuple[TensorLayout, ...]:
        found: list[TensorLayout] = []
        for index in range(layer.num_layers):
            depth = f"l{index}/" if layer.num_layers > 1 else ""
            sides = (("forward/", ""), ("backward/", "_reverse"))
            for side, suffix in sides if layer.bidirectional else (("", ""),):
                part = _torch_set(kind, f"_l{index}{suffix}")
                found += [tensor.inside(depth + side, "") for tensor in part]
        return tuple(found)

    return tensors


def _row(name: str, index: int) -> TensorLayout:
    """One of the two rows of a Keras GRU's bias."""

    def write(_: Any, a: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, ...]:
        new = now.astype(a.dtype)
        new[index] = a
        return (new,)

    return TensorLayout(name, ("bias",), lambda _, a: np.array(a[index]), write)


def _keras_cell(kind: str, cell: Any) -> tuple[TensorLayout, ...]:
    two = kind == "gru" and bool(getattr(cell, "reset_after", False))
    biases = (_row("bias", 0), _row("recurrent_bias", 1)) if two else (permuted("bias", "bias"),)
    return (
        permuted("kernel", "kernel"),
        permuted("recurrent_kernel", "recurrent_kernel"),
        *biases,
    )


def _keras_layer(kind: str) -> Callable[[Any], tuple[TensorLayout, ...]]:
    def tensors(layer: Any) -> tuple[TensorLayout, ...]:
        if hasattr(layer, "forward_layer"):
            return tuple(
                tensor.inside(f"{side}/", f"{side}_layer/")
                for side in ("forward", "backward")
                for tensor in tensors(getattr(layer, f"{side}_layer"))
            )
        if hasattr(layer.cell, "cells"):
            return tuple(
                tensor.inside(f"l{index}/", f"cell/cells/{index}/")
                for index, cell in enumerate(layer.cell.cells)
                for tensor in _keras_cell(kind, cell)
            )
        return tuple(tensor.inside("", "cell/") for tensor in _keras_cell(kind, layer.cell))

    return tensors


def cells_of(layer: Any) -> list[Any]:
    """The Keras cells inside a recurrent layer, first to last, forward before backward."""
    if hasattr(layer, "forward_layer"):
        return cells_of(layer.forward_layer) + cells_of(layer.backward_layer)
    cell = getattr(layer, "cell", None)
    if cell is None:
        return []
    return list(getattr(cell, "cells", [cell]))


def _accepts(kind: str) -> Callable[[str, Any], bool]:
    wanted = f"{_KERAS[kind]}Cell"

    def accepts(framework: str, layer: Any) -> bool:
        if framework == "torch":
            return True
        cells = cells_of(layer)
        return bool(cells) and all(
            any(cls.__name__ == wanted for cls in type(cell).__mro__) for cell in cells
        )

    return accepts


def _layouts(kind: str) -> tuple[LayerLayout, LayerLayout]:
    whole = LayerLayout(
        kind=kind,
        classes={"torch": (_TORCH[kind],), "tf": (_KERAS[kind], "RNN", "Bidirectional")},
        tensors={"torch": (), "tf": ()},
        dynamic={"torch": _torch_layer(kind), "tf": _keras_layer(kind)},
        accepts=_accepts(kind),
        composite=("tf",),
    )
    cell = LayerLayout(
        kind=f"{kind}_cell",
        classes={"torch": (f"{_TORCH[kind]}Cell",), "tf": (f"{_KERAS[kind]}Cell",)},
        tensors={"torch": (), "tf": ()},
        dynamic={
            "torch": lambda _: _torch_set(kind, ""),
            "tf": lambda layer: _keras_cell(kind, layer),
        },
    )
    return whole, cell


LAYOUTS = tuple(layout for kind in ("lstm", "gru", "rnn") for layout in _layouts(kind))
