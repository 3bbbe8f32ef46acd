"""Activations of the two sides in one order of axes: torch's.

Keras keeps channels last, torch first; torch's recurrent layers put time before the batch unless
told otherwise. Which order an array has follows from the layer that made it. Only where a layer
says nothing does the shape decide, and where the shape fits both ways, the order of the layers
before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

SAME, CHANNELS_LAST, TIME_SECOND = "same", "channels-last", "time-second"
FLAT = "flat"
"""Rows of a flattened channels-last image; written ``flat:C,H,W``."""


def order_of(torch_layer: Any, tf_layer: Any) -> str | None:
    """How the tf layer orders its axes, compared with its partner; None if it does not say."""
    if getattr(tf_layer, "data_format", None) == "channels_last":
        return CHANNELS_LAST
    if getattr(tf_layer, "data_format", None) == "channels_first":
        return SAME
    if getattr(torch_layer, "batch_first", None) is False:
        return TIME_SECOND
    return None


def candidates(torch_shape: Sequence[int], tf_shape: Sequence[int]) -> list[str]:
    """The orders of axes under which the two shapes are one."""
    wanted, given = tuple(torch_shape), tuple(tf_shape)
    found = [SAME] if wanted == given else []
    if len(given) >= 3:
        if (given[0], given[-1], *given[1:-1]) == wanted:
            found.append(CHANNELS_LAST)
        if (given[1], given[0], *given[2:]) == wanted:
            found.append(TIME_SECOND)
    return found


def choose(
    torch_shape: Sequence[int], tf_shape: Sequence[int], *, said: str | None, carried: str
) -> str:
    """The order to read the tf array in: what the layer says, else what fits, else as before."""
    fitting = candidates(torch_shape, tf_shape)
    if said is not None and len(tf_shape) >= 3 and (said in fitting or not fitting):
        return said
    if carried in fitting or (carried.startswith(FLAT) and len(tf_shape) == 2):
        return carried
    return fitting[0] if fitting else SAME


def flat(shape: Sequence[int]) -> str:
    """The order of a flattened image whose torch shape, without the batch, is ``shape``."""
    return f"{FLAT}:{','.join(str(n) for n in shape)}"


def rows(order: str) -> np.ndarray:
    """For a flattened image: where each element of torch's row stands in tf's."""
    shape = [int(n) for n in order.partition(":")[2].split(",")]
    last = np.arange(int(np.prod(shape))).reshape(*shape[1:], shape[0])
    return np.moveaxis(last, -1, 0).reshape(-1)


def to_torch(array: np.ndarray, order: str) -> np.ndarray:
    """A tf array in torch's order of axes; a view of it where axes only change places."""
    if order == CHANNELS_LAST and array.ndim >= 3:
        return np.moveaxis(array, -1, 1)
    if order == TIME_SECOND and array.ndim >= 2:
        return np.swapaxes(array, 0, 1)
    if order.startswith(FLAT) and array.ndim == 2 and array.shape[1] == len(rows(order)):
        return np.ascontiguousarray(array[:, rows(order)])
    return array


def to_tf(array: np.ndarray, order: str) -> np.ndarray:
    """A torch array in the tf layer's order of axes."""
    if order == CHANNELS_LAST and array.ndim >= 3:
        return np.ascontiguousarray(np.moveaxis(array, 1, -1))
    if order == TIME_SECOND and array.ndim >= 2:
        return np.ascontiguousarray(np.swapaxes(array, 0, 1))
    if order.startswith(FLAT) and array.ndim == 2 and array.shape[1] == len(rows(order)):
        return np.ascontiguousarray(array[:, np.argsort(rows(order))])
    return array
