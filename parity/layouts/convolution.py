"""Convolutions. Canonical kernels are Keras's: spatial axes, then input per group, then output.

A depthwise kernel is that of a convolution with one input channel for each group: Keras's
[h, w, C, M] and torch's [C * M, 1, h, w] both count the output channel as ``c * M + m``.
"""

from __future__ import annotations

from typing import Any

from parity.layouts.base import LayerLayout, TensorLayout, permuted, reshaped, same


def _from_torch(rank: int) -> tuple[int, ...]:
    """The two channel axes exchanged and behind the spatial ones."""
    return (*range(2, rank + 2), 1, 0)


def _depthwise(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-2], 1, shape[-2] * shape[-1])


def _depthwise_tensors(layer: Any) -> tuple[TensorLayout, ...]:
    # tf_keras calls it depthwise_kernel
    own = "depthwise_kernel" if "depthwise_kernel" in vars(layer) else "kernel"
    return (reshaped("kernel", own, _depthwise), permuted("bias", "bias"))


def _layouts(rank: int) -> tuple[LayerLayout, ...]:
    kind = f"conv{rank}d"
    torch = (permuted("kernel", "weight", _from_torch(rank)), permuted("bias", "bias"))
    keras = same("kernel", "bias")
    found = [
        LayerLayout(
            kind=kind,
            classes={"torch": (f"Conv{rank}d",), "tf": (f"Conv{rank}D",)},
            tensors={"torch": torch, "tf": keras},
        ),
        LayerLayout(
            kind=f"{kind}_transpose",
            classes={"torch": (f"ConvTranspose{rank}d",), "tf": (f"Conv{rank}DTranspose",)},
            tensors={"torch": torch, "tf": keras},
        ),
    ]
    if rank < 3:
        found += [_depthwise_layout(rank), _separable(rank)]
    return tuple(found)


def _depthwise_layout(rank: int) -> LayerLayout:
    return LayerLayout(
        kind=f"conv{rank}d",
        classes={"torch": (), "tf": (f"DepthwiseConv{rank}D",)},
        tensors={"torch": (), "tf": ()},
        dynamic={"tf": _depthwise_tensors},
    )


def _separable(rank: int) -> LayerLayout:
    """One layer in Keras, two convolutions in torch: its tensors are theirs."""
    kind = f"conv{rank}d"
    tensors = (
        reshaped("depthwise/kernel", "depthwise_kernel", _depthwise, kind=kind),
        permuted("pointwise/kernel", "pointwise_kernel", kind=kind),
        permuted("pointwise/bias", "bias", kind=kind),
    )
    return LayerLayout(
        kind=f"separable_conv{rank}d",
        classes={"torch": (), "tf": (f"SeparableConv{rank}D",)},
        tensors={"torch": (), "tf": ()},
        dynamic={"tf": lambda _: tensors},
    )


# depthwise before plain: in Keras 2 DepthwiseConv2D is a subclass of a library base only
LAYOUTS = tuple(layout for rank in (1, 2, 3) for layout in _layouts(rank))
