"""Padding and cropping of convolutions and pooling, as amounts before and behind each axis.

torch pads both ends alike; TensorFlow's ``same`` takes the smallest total and puts the odd one at
the end; transposed convolutions cut where the others pad.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parity.backends.base import LayerCall
from parity.debug import axes, kinds
from parity.debug.matching import Match

Padding = tuple[tuple[int, int], ...]


def _tuple(value: Any, rank: int) -> tuple[int, ...]:
    return (int(value),) * rank if isinstance(value, int) else tuple(int(v) for v in value)


def main(match: Match, side: str) -> LayerCall:
    """The call that does the work, without the padding beside it."""
    path = match.path if side == "torch" else match.tf_path
    calls: Sequence[LayerCall] = getattr(match, side)
    return next(call for call in calls if call.path in path.split("+"))


def sizes(match: Match, side: str) -> tuple[int, ...]:
    """Spatial sizes of the input of the call that does the work."""
    call = main(match, side)
    shape = call.inputs[0].shape
    # a layer that permutes before it may be part of the pair: the layer itself knows better
    said = getattr(call.layer, "data_format", None)
    last = side == "tf" and (
        said == "channels_last" if said else match.input_order == axes.CHANNELS_LAST
    )
    return shape[1:-1] if last else shape[2:]


def padding_of(match: Match) -> tuple[Padding | None, Padding | None]:
    """Padding of both sides; None where it is not known."""
    return _with_neighbours(match, "torch", torch_padding(match)), _with_neighbours(
        match, "tf", tf_padding(match)
    )


def torch_padding(match: Match) -> Padding | None:
    """What the torch layer pads, per axis: before and after."""
    layer = main(match, "torch").layer
    rank = len(sizes(match, "torch"))
    given = layer.padding
    if given == "valid":
        return ((0, 0),) * rank
    kernel = _tuple(layer.kernel_size, rank)
    if given == "same":
        dilation = _tuple(layer.dilation, rank)
        totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return tuple((t // 2, t - t // 2) for t in totals)
    return tuple((p, p) for p in _tuple(given, rank))


def tf_padding(match: Match) -> Padding | None:
    """What the tf layer pads, per axis: before and after."""
    call = main(match, "tf")
    layer = call.layer
    spatial = sizes(match, "tf")
    rank = len(spatial)
    kernel = _tuple(getattr(layer, "kernel_size", None) or layer.pool_size, rank)
    dilation = _tuple(getattr(layer, "dilation_rate", 1) or 1, rank)
    strides = _tuple(layer.strides, rank)
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    if layer.padding == "valid":
        return ((0, 0),) * rank
    if layer.padding == "causal":
        return ((spans[0] - 1, 0),)
    return tuple(
        _same(size, span, stride)
        for size, span, stride in zip(spatial, spans, strides, strict=True)
    )


def padded_before(match: Match) -> Padding | None:
    """Zeros that torch's code puts around what it gives to the layer, and the tf side does not."""
    ours, theirs = sizes(match, "tf"), sizes(match, "torch")
    if len(ours) != len(theirs) or any(a < b for a, b in zip(theirs, ours, strict=True)):
        return None
    given = np.asarray(main(match, "torch").inputs[0])
    found = []
    for axis, (wide, narrow) in enumerate(zip(theirs, ours, strict=True), start=2):
        rows = np.moveaxis(given, axis, 0).reshape(wide, -1)
        empty = np.asarray(~rows.any(axis=1))
        start = min(int(np.argmin(empty)), wide - narrow)
        end = wide - narrow - start
        if not empty[wide - end :].all():
            return None
        found.append((start, end))
    return tuple(found) if theirs != ours else None


def _same(size: int, span: int, stride: int) -> tuple[int, int]:
    total = max((-(-size // stride) - 1) * stride + span - size, 0)
    return total // 2, total - total // 2


def _with_neighbours(match: Match, side: str, padding: Padding | None) -> Padding | None:
    """Add the layers that pad beside the one that does the work."""
    if padding is None:
        return None
    calls: Sequence[LayerCall] = getattr(match, side)
    work = main(match, side)
    for call in calls[: calls.index(work)]:
        family, _ = kinds.describe(call.kind, call.layer)
        own = _own_padding(call, side, len(padding)) if family == kinds.PAD else None
        if own is None:
            return None
        padding = tuple((a + c, b + d) for (a, b), (c, d) in zip(padding, own, strict=True))
    return padding


def _own_padding(call: LayerCall, side: str, rank: int) -> Padding | None:
    given = call.layer.padding
    if side == "torch":
        flat = _tuple(given, 2 * rank)
        pairs = [(flat[2 * i], flat[2 * i + 1]) for i in range(rank)]
        return tuple(pairs[::-1])  # torch lists the last axis first
    if isinstance(given, int):
        return ((given, given),) * rank
    if rank == 1 and isinstance(given[0], int):
        return ((int(given[0]), int(given[1])),)
    return tuple((int(p[0]), int(p[1])) if not isinstance(p, int) else (p, p) for p in given)


def crop_of(match: Match) -> tuple[Padding | None, Padding | None]:
    """What transposed convolutions cut off the full result at both ends."""
    torch, tf = main(match, "torch").layer, main(match, "tf").layer
    rank = len(sizes(match, "torch"))
    left = tuple(
        (p, p - extra)
        for p, extra in zip(
            _tuple(torch.padding, rank), _tuple(torch.output_padding, rank), strict=True
        )
    )
    if len(match.tf) > 1:
        return left, None
    kernel, strides = _tuple(tf.kernel_size, rank), _tuple(tf.strides, rank)
    if tf.padding == "valid":
        return left, tuple((0, min(0, k - s)) for k, s in zip(kernel, strides, strict=True))
    totals = [k - s for k, s in zip(kernel, strides, strict=True)]
    return left, tuple((max(t, 0) // 2, t - max(t, 0) // 2) for t in totals)
