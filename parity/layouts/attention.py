"""Multi-head attention. Canonical: one [in, heads * size] matrix for query, key and value each.

torch packs the three into one [3E, E] tensor where query, key and value have the same size, and
keeps three otherwise; Keras has kernels [in, heads, size] and an output kernel [heads, size, out].
Heads are the slow axis in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.layouts.base import LayerLayout, TensorLayout, permuted, reshaped

PARTS = ("query", "key", "value")


def _packed(name: str, native: str, index: int, *, matrix: bool) -> TensorLayout:
    """A third of a packed tensor."""

    def read(_: Any, a: np.ndarray) -> np.ndarray:
        part = np.split(a, 3)[index]
        return np.ascontiguousarray(part.T if matrix else part)

    def write(_: Any, a: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, ...]:
        parts = [part.astype(a.dtype) for part in np.split(now, 3)]
        parts[index] = a.T if matrix else a
        return (np.concatenate(parts),)

    return TensorLayout(name, (native,), read, write)


def _torch(layer: Any) -> tuple[TensorLayout, ...]:
    found = []
    for index, part in enumerate(PARTS):
        found.append(
            _packed(f"{part}/kernel", "in_proj_weight", index, matrix=True)
            if layer.in_proj_weight is not None
            else permuted(f"{part}/kernel", f"{part[0]}_proj_weight", (1, 0))
        )
        found.append(_packed(f"{part}/bias", "in_proj_bias", index, matrix=False))
    return (
        *found,
        permuted("output/kernel", "out_proj/weight", (1, 0)),
        permuted("output/bias", "out_proj/bias"),
    )


def _keras(_: Any) -> tuple[TensorLayout, ...]:
    found = []
    for part in PARTS:
        own = f"_{part}_dense"
        found.append(reshaped(f"{part}/kernel", f"{own}/kernel", lambda s: (s[0], s[1] * s[2])))
        found.append(reshaped(f"{part}/bias", f"{own}/bias", lambda s: (s[0] * s[1],)))
    return (
        *found,
        reshaped("output/kernel", "_output_dense/kernel", lambda s: (s[0] * s[1], s[2])),
        permuted("output/bias", "_output_dense/bias"),
    )


LAYOUTS = (
    LayerLayout(
        kind="attention",
        classes={
            "torch": ("MultiheadAttention",),
            "tf": ("MultiHeadAttention", "GroupedQueryAttention"),
        },
        tensors={"torch": (), "tf": ()},
        dynamic={"torch": _torch, "tf": _keras},
        composite=("torch", "tf"),
    ),
)
