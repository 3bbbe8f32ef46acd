"""Activations of the two sides in one order of axes: torch's.

Keras keeps channels last, torch first; torch's recurrent layers put time before the batch unless
told otherwise. Which order an array has follows from the layer that made it. Only where a layer
says nothing does the shape decide. Where the shape fits several ways (as many rows as steps, as
many channels as pixels) the values decide, and where these do not tell, the order of the layers
before it: equal sizes say nothing about what the code between two layers did.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

SAME, CHANNELS_LAST, TIME_SECOND = "same", "channels-last", "time-second"
FLAT = "flat"
"""Rows of a flattened channels-last image; written ``flat:C,H,W``."""
DECISIVE = 10.0
"""The values tell an order if under every other one they are so many times further apart."""


def order_of(torch_layer: Any, tf_layer: Any) -> str | None:
    """How the tf layer orders its axes, compared with its partner; None if it does not say."""
    if getattr(tf_layer, "data_format", None) == "channels_last":
        return CHANNELS_LAST
    if getattr(tf_layer, "data_format", None) == "channels_first":
        return SAME
    first = getattr(torch_layer, "batch_first", None)
    if first is None:
        return None
    # Keras puts the batch first, but for layers of Keras 2 that were told otherwise
    return SAME if bool(first) is not bool(getattr(tf_layer, "time_major", False)) else TIME_SECOND


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
    """The order to read the tf array in: what the layer says, else as before, else what fits."""
    fitting = candidates(torch_shape, tf_shape)
    if said is not None and len(tf_shape) >= 3 and (said in fitting or not fitting):
        return said
    if carried in fitting or (carried.startswith(FLAT) and len(tf_shape) == 2):
        return carried
    return fitting[0] if fitting else SAME


def settle(torch: Any, tf: Any, orders: Collection[str], carried: str) -> str:
    """Of the orders that fit a pair of arrays, the one that their values tell; else ``carried``.

    Args:
        torch, tf: the arrays, each in its own order of axes.
        orders: those in which some layer of the models, or the models themselves, work. No other
            one is taken for granted: axes that only the code of one side exchanges are a bug.
        carried: the order to keep where it does not fit, where only it fits, or in doubt.
    """
    fitting = several(np.shape(torch), np.shape(tf), orders)
    if carried not in fitting or len(fitting) == 1:
        return carried
    left, right = np.asarray(torch, np.float64), np.asarray(tf, np.float64)
    apart = sorted((_distance(left, to_torch(right, order)), order) for order in fitting)
    return apart[0][1] if apart[1][0] > DECISIVE * apart[0][0] else carried


def several(
    torch_shape: Sequence[int], tf_shape: Sequence[int], orders: Collection[str]
) -> list[str]:
    """Those of the orders under which a tf array of this shape has torch's shape."""
    empty = np.broadcast_to(np.float32(0), tuple(tf_shape))
    found = [o for o in orders if to_torch(empty, o).shape == tuple(torch_shape)]
    return list(dict.fromkeys(found))


def _distance(left: np.ndarray, right: np.ndarray) -> float:
    """How far apart two arrays are on average, where both are finite."""
    finite = np.isfinite(left) & np.isfinite(right)
    return float(np.abs(left[finite] - right[finite]).mean()) if finite.any() else 0.0


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
