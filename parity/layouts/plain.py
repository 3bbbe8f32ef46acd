"""Layers whose tensors need at most a transposition: dense, embedding, normalisation, PReLU."""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.layouts.base import LayerLayout, TensorLayout, permuted, reshaped, same

DENSE = LayerLayout(
    # canonical: Keras. torch computes x @ weight.T, so its weight is [out, in].
    kind="dense",
    classes={"torch": ("Linear",), "tf": ("Dense",)},
    tensors={
        "torch": (permuted("kernel", "weight", (1, 0)), permuted("bias", "bias")),
        "tf": same("kernel", "bias"),
    },
)


def _einsum_kernel(layer: Any) -> TensorLayout:
    """A kernel with several input or output axes as one [in, out] matrix."""
    given, _, out = layer.equation.replace(" ", "").partition("->")
    data, _, kernel = given.partition(",")
    inner = [axis for axis in kernel if axis in data and axis not in out]
    order = [kernel.index(axis) for axis in inner]
    order += [i for i, axis in enumerate(kernel) if axis not in inner]
    back = np.argsort(order)

    def read(_: Any, a: np.ndarray) -> np.ndarray:
        rows = int(np.prod([a.shape[i] for i in order[: len(inner)]]))
        return np.ascontiguousarray(a.transpose(order)).reshape(rows, -1)

    def write(_: Any, a: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, ...]:
        if a.size != now.size:
            return (a,)
        split = a.reshape([now.shape[i] for i in order])
        return (np.ascontiguousarray(split.transpose(back)),)

    return TensorLayout("kernel", ("kernel",), read, write)


EINSUM_DENSE = LayerLayout(
    kind="dense",
    classes={"torch": (), "tf": ("EinsumDense",)},
    tensors={"torch": (), "tf": ()},
    dynamic={
        "tf": lambda layer: (
            _einsum_kernel(layer),
            reshaped("bias", "bias", lambda shape: (int(np.prod(shape)),)),
        )
    },
)

EMBEDDING = LayerLayout(
    kind="embedding",
    classes={"torch": ("Embedding",), "tf": ("Embedding",)},
    tensors={"torch": same(embeddings="weight"), "tf": same("embeddings")},
)

BATCH_NORM = LayerLayout(
    kind="batch_norm",
    classes={
        "torch": ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"),
        "tf": ("BatchNormalization", "SyncBatchNormalization"),
    },
    tensors={
        "torch": same(
            gamma="weight", beta="bias", moving_mean="running_mean", moving_variance="running_var"
        ),
        "tf": same("gamma", "beta", "moving_mean", "moving_variance"),
    },
    ignored={"num_batches_tracked": "counts calls; Keras keeps no such number"},
)

LAYER_NORM = LayerLayout(
    kind="layer_norm",
    classes={"torch": ("LayerNorm",), "tf": ("LayerNormalization",)},
    tensors={"torch": same(gamma="weight", beta="bias"), "tf": same("gamma", "beta")},
)

GROUP_NORM = LayerLayout(
    kind="group_norm",
    classes={
        "torch": ("GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"),
        "tf": ("GroupNormalization",),
    },
    tensors={"torch": same(gamma="weight", beta="bias"), "tf": same("gamma", "beta")},
    ignored={"num_batches_tracked": "counts calls; Keras keeps no such number"},
)

RMS_NORM = LayerLayout(
    kind="rms_norm",
    classes={"torch": ("RMSNorm",), "tf": ("RMSNormalization",)},
    tensors={"torch": same(scale="weight"), "tf": same("scale")},
)


def _slopes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shared axes of Keras have length one: (1, 1, C) is torch's (C,)."""
    return (shape[-1],) if all(n == 1 for n in shape[:-1]) else shape


PRELU = LayerLayout(
    kind="prelu",
    classes={"torch": ("PReLU",), "tf": ("PReLU",)},
    tensors={"torch": same(alpha="weight"), "tf": (reshaped("alpha", "alpha", _slopes),)},
)

LAYOUTS = (DENSE, EINSUM_DENSE, EMBEDDING, BATCH_NORM, LAYER_NORM, GROUP_NORM, RMS_NORM, PRELU)
