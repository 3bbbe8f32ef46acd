"""How a tf layer's weights are torch's in another layout: canonical tensors against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from parity.diagnose.found import Found
from parity.diagnose.variants import Bench, slots
from parity.layouts.recurrent import regrouped
from parity.tolerance import SAME_ARRAY

Tensors = Mapping[str, np.ndarray]


def explain(bench: Bench, others: Mapping[str, Tensors]) -> list[Found]:
    """Causes for weights that the user copied, where loading torch's own removes the difference.

    Args:
        others: torch layer -> its canonical tensors, to recognise those of another layer.
    """
    ours, theirs = bench.tf_tensors(), bench.torch_tensors()
    differing = [
        name
        for name in ours
        if name in theirs and ours[name].shape == theirs[name].shape
        and not same(theirs[name], ours[name])
    ]  # fmt: skip
    if not differing:
        return []
    replaced = {name: theirs[name] for name in differing}
    after = bench.try_tensors(replaced, cause="weights-differ")
    if after is None or not bench.explained(after):
        return []
    found: dict[str, Found] = {}
    for name in differing:
        cause, facts = _relation(bench, name, ours, theirs, others)
        known = found.get(cause)
        tensors = [*(known.facts["tensors"] if known else []), name]
        found[cause] = Found(cause, after, {**facts, "tensors": tensors}, rank=0.2)
    return _together(found)


def _together(found: dict[str, Found]) -> list[Found]:
    """Tensors that differ in no known way beside one that was not copied were not copied either."""
    bare, other = found.get("weights-not-copied"), found.get("weights-differ")
    if bare is None or other is None:
        return list(found.values())
    tensors = [*other.facts["tensors"], *bare.facts["tensors"]]
    whole = replace(bare, facts={**bare.facts, "tensors": tensors})
    return [whole if f is bare else f for f in found.values() if f is not other]


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal, as far as float32 can hold the values."""
    return a.shape == b.shape and np.allclose(a, b, **SAME_ARRAY, equal_nan=True)


def _relation(
    bench: Bench, name: str, ours: Tensors, theirs: Tensors, others: Mapping[str, Tensors]
) -> tuple[str, dict[str, Any]]:
    a, b = theirs[name], ours[name]
    elsewhere = any(same(a, held) for other, held in ours.items() if other != name)
    if np.ptp(b) == 0 and np.ptp(a) > 0 and not elsewhere:
        return "weights-not-copied", {"value": float(b.flat[0])}  # other tensors start so too
    for relation in (_exchanged, _of_gates, _of_heads, _of_axes, _of_rows, _of_bias):
        for cause, facts in relation(bench, name, a, b, ours, theirs):
            return cause, facts
    for layer, tensors in others.items():
        if layer != bench.match.path and any(same(t, b) for t in tensors.values()):
            return "weights-of-other-layer", {"other": layer}
    if not np.any(b) or (np.ptp(b) == 0 and np.ptp(a) > 0):
        return "weights-not-copied", {"value": float(b.flat[0])}
    return "weights-differ", {}


Relation = Iterator[tuple[str, dict[str, Any]]]


def _exchanged(
    bench: Bench, name: str, a: np.ndarray, b: np.ndarray, ours: Tensors, theirs: Tensors
) -> Relation:
    """Another tensor of the same layer."""
    for other, tensor in theirs.items():
        if other == name or not same(tensor, b) or same(tensor, a):
            continue
        parts = name.split("/")[0], other.split("/")[0]
        if set(parts) == {"forward", "backward"}:
            yield "direction-swapped", {"other": other}
        elif bench.torch.kind == "attention" and set(parts) <= {"query", "key", "value"}:
            yield "packed-projection", {"other": other}
        else:
            yield "weights-swapped", {"other": other}


def _of_gates(
    bench: Bench, name: str, a: np.ndarray, b: np.ndarray, ours: Tensors, theirs: Tensors
) -> Relation:
    gates = {"lstm": 4, "gru": 3}.get(bench.torch.kind.removesuffix("_cell"))
    if gates is None or a.shape[-1] % gates:
        return
    size = a.shape[-1] // gates
    for order in permutations(range(gates)):
        if list(order) != sorted(order) and same(regrouped(a, order), b):
            names = "ifco" if gates == 4 else "zrh"
            yield "gate-order", {"order": "".join(names[i] for i in order), "expected": names}
    if gates == 4 and a.ndim == 1:
        gap = (b - a).reshape(4, size)
        if np.allclose(gap[1], 1.0, **SAME_ARRAY) and np.allclose(
            gap[[0, 2, 3]], 0.0, **SAME_ARRAY
        ):
            yield "forget-bias", {}


def _of_heads(
    bench: Bench, name: str, a: np.ndarray, b: np.ndarray, ours: Tensors, theirs: Tensors
) -> Relation:
    if bench.torch.kind != "attention":
        return
    heads = bench.torch.layer.num_heads
    axis = 0 if name == "output/kernel" else a.ndim - 1
    moved = np.moveaxis(a, axis, -1)
    size = moved.shape[-1] // heads
    for first, second in ((size, heads), (heads, size)):
        turned = moved.reshape(*moved.shape[:-1], first, second).swapaxes(-1, -2)
        if same(np.moveaxis(turned.reshape(moved.shape), -1, axis), b):
            yield "head-layout", {"heads": heads}
    if a.ndim == 2 and a.shape[0] == a.shape[1] and same(a.T, b):
        yield "kernel-transposed", {}
    if a.ndim == 2 and same(a.T.reshape(a.shape), b):
        yield "head-layout", {"heads": heads}


def _of_axes(
    bench: Bench, name: str, a: np.ndarray, b: np.ndarray, ours: Tensors, theirs: Tensors
) -> Relation:
    if a.ndim == 2 and a.shape[0] == a.shape[1] and same(a.T, b):
        yield "kernel-transposed", {}
        return
    if a.ndim < 2:
        return
    spatial = tuple(range(a.ndim - 2))
    if spatial:
        for count in range(1, len(spatial) + 1):
            for axes in permutations(spatial, count):
                if same(np.flip(a, axes), b):
                    yield "kernel-flipped", {"axes": list(axes)}
                    return
        for order in permutations(range(a.ndim)):
            if order != tuple(range(a.ndim)):
                turned = a.transpose(order)
                if turned.shape == b.shape and same(turned, b):
                    yield "kernel-axes", {"order": list(order)}
                    return
                if spatial and turned.shape == b.shape and same(np.flip(turned, spatial), b):
                    yield "kernel-axes", {"order": list(order), "flipped": True}
                    return
        yield from _of_groups(a, b)
    native = (
        bench.torch.layer.weight.detach().cpu().numpy()
        if hasattr(bench.torch.layer, "weight")
        else None
    )
    if native is not None and native.size == b.size and same(native.reshape(b.shape), b):
        yield "reshape-not-transpose", {}


def _of_groups(a: np.ndarray, b: np.ndarray) -> Relation:
    """Channels and multipliers counted the other way round."""
    total = a.shape[-1]
    for inner in range(2, total):
        if total % inner == 0:
            regrouped_ = a.reshape(*a.shape[:-1], inner, total // inner).swapaxes(-1, -2)
            if same(regrouped_.reshape(a.shape), b):
                yield "kernel-axes", {"channels": inner, "multiplier": total // inner}
                return


def _of_rows(
    bench: Bench, name: str, a: np.ndarray, b: np.ndarray, ours: Tensors, theirs: Tensors
) -> Relation:
    for axis in range(a.ndim):
        for shift in range(1, min(a.shape[axis], 4097)):
            if shift > 64 and a.shape[axis] - shift > 64:
                continue
            rolled = np.roll(a, shift, axis)
            if same(rolled, b):
                yield "rows-rolled", {"axis": axis, "shift": shift}
                return
            inside = [slice(None)] * a.ndim
            inside[axis] = slice(shift, None)
            if shift <= 4 and a.shape[axis] > 3 and same(rolled[tuple(inside)], b[tuple(inside)]):
                yield "rows-rolled", {"axis": axis, "shift": shift}
                return
            inside[axis] = slice(None, -shift)
            back = np.roll(a, -shift, axis)
            if shift <= 4 and a.shape[axis] > 3 and same(back[tuple(inside)], b[tuple(inside)]):
                yield "rows-rolled", {"axis": axis, "shift": -shift}
                return


def _of_bias(
    bench: Bench, name: str, a: np.ndarray, b: np.ndarray, ours: Tensors, theirs: Tensors
) -> Relation:
    """One of torch's two biases alone."""
    last = name.rpartition("/")[2]
    if not last.endswith("bias"):
        return
    own = dict(bench.torch.layer.named_parameters())
    for native, tensor in own.items():
        if native.startswith("bias_") and same(tensor.detach().cpu().numpy(), b):
            yield "bias-dropped", {"kept": native}
            return


def tensors_by_layer(calls: Sequence[Any]) -> dict[str, Tensors]:
    """Canonical tensors of every called torch layer."""
    return {call.path: {s.path: s.get() for s in slots(call.layer)} for call in calls}
