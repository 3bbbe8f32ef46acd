"""The tf side's inputs in its own order of axes, where the user gave torch's only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from parity.backends.base import LayerCall
from parity.debug import axes

_CHANNELS_FIRST = (
    "Conv",
    "Pool",
    "BatchNorm",
    "GroupNorm",
    "InstanceNorm",
    "Upsampl",
    "Pad",
    "PixelSh",
)


def choices(
    module: Any, inputs: Sequence[np.ndarray], calls: Sequence[LayerCall]
) -> Iterator[list[np.ndarray]]:
    """The inputs as the tf model may want them, likeliest first.

    What the model declares decides; where that leaves a choice, the torch layer that takes an
    input says in which order it is, and the tf layers in which they want it.

    Args:
        calls: torch's recorded calls.
    """
    shapes = _declared(module, len(inputs))
    for order in _preferred(module, inputs, calls):
        moved = [
            axes.to_tf(a, order) if a.ndim >= 3 or order == axes.TIME_SECOND and a.ndim == 2 else a
            for a in inputs
        ]
        if order != axes.SAME and all(a is b for a, b in zip(moved, inputs, strict=True)):
            continue
        if shapes is None or all(_fits(a, s) for a, s in zip(moved, shapes, strict=True)):
            yield moved
    if shapes is not None:
        yield [_as_declared(a, s) for a, s in zip(inputs, shapes, strict=True)]
    yield list(inputs)


def _declared(module: Any, count: int) -> list[Any] | None:
    declared = getattr(module, "input_shape", None)
    if declared is None:
        return None
    shapes = declared if isinstance(declared, list) else [declared]
    return shapes if len(shapes) == count else None


def _preferred(module: Any, inputs: Sequence[np.ndarray], calls: Sequence[LayerCall]) -> list[str]:
    takers = [taker for a in inputs if (taker := _taker(a, calls)) is not None]
    first = any(type(t.layer).__name__.startswith(_CHANNELS_FIRST) for t in takers)
    if first and _wants_channels_last(module):
        return [axes.CHANNELS_LAST, axes.SAME, axes.TIME_SECOND]
    return [axes.SAME, axes.CHANNELS_LAST, axes.TIME_SECOND]


def _taker(array: np.ndarray, calls: Sequence[LayerCall]) -> LayerCall | None:
    """The first torch layer that is given this input as it is."""
    for call in calls:
        for given in call.inputs:
            if given.shape == array.shape and np.array_equal(given, array.astype(given.dtype)):
                return call
    return None


def _wants_channels_last(module: Any) -> bool:
    from parity.backends.keras_tree import walk

    return any(getattr(layer, "data_format", None) == "channels_last" for _, layer in walk(module))


def _fits(array: np.ndarray, shape: Any) -> bool:
    if not isinstance(shape, tuple):
        return True
    return len(shape) == array.ndim and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )


def _as_declared(array: np.ndarray, shape: Any) -> np.ndarray:
    for order in (axes.SAME, axes.CHANNELS_LAST, axes.TIME_SECOND):
        moved = axes.to_tf(array, order)
        if _fits(moved, shape):
            return moved
    return array


def torch_choices(
    inputs: Sequence[np.ndarray], calls: Sequence[LayerCall]
) -> Iterator[list[np.ndarray]]:
    """A tf side's inputs as the torch module may want them, likeliest first.

    Args:
        calls: tf's recorded calls.
    """
    last = any(getattr(call.layer, "data_format", None) == "channels_last" for call in calls)
    orders = [axes.SAME, axes.CHANNELS_LAST, axes.TIME_SECOND]
    for order in [axes.CHANNELS_LAST, *orders] if last else orders:
        yield [axes.to_torch(a, order) if a.ndim >= 3 else a for a in inputs]
