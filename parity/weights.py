"""Moving weights between modules of any framework: strict, exact, all or nothing.

Every tensor of both sides is used exactly once. Tensors are paired by path and by the kind of the
layer that holds them, and their layout follows from that kind (``parity.layouts``); a shape that
does not fit is an error, never a reason to reshape or transpose.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from parity.backends import get_backend
from parity.backends.base import Slot
from parity.errors import InvalidInput, TransferError
from parity.layouts import UNLISTED

_CANONICAL = "canonical"


def copy(source: Any, target: Any, *, names: Mapping[str, str] | None = None) -> None:
    """Give ``target`` the weights of ``source``, whatever their frameworks; bit for bit.

    Args:
        source, target: torch modules, Keras layers or models (built), ``tf.Module``s, or reference
            modules.
        names: path in the source -> path in the target, for tensors that are called differently.

    Raises:
        TransferError: a tensor of either side has no partner, or one of another shape, layer kind
            or a dtype that cannot hold its values. Nothing has been written then.
        InvalidInput: not a module, or a Keras model that is not built.
    """
    values = {slot.path: slot for slot in _movable(source, "source")}
    renamed = _rename(values, names or {})
    kinds = {path: slot.kind for path, slot in renamed.items()}
    _write(target, {path: slot.get() for path, slot in renamed.items()}, kinds)


def to_numpy(module: Any) -> dict[str, np.ndarray]:
    """Copies of all weights by canonical path (``q1/l1/kernel``), in canonical layout.

    Raises:
        TransferError: a layer is of a kind whose layout is not known.
    """
    return {slot.path: slot.get() for slot in _movable(module, "source")}


def load(module: Any, values: Mapping[str, Any]) -> None:
    """Give ``module`` the weights that :func:`to_numpy` returns, all of them and no others.

    Raises:
        TransferError: as for :func:`copy`.
    """
    _write(module, {path: np.asarray(value) for path, value in values.items()}, {})


def slots(module: Any) -> list[Slot]:
    """Every tensor of a module's state, of whichever framework, or recorded elsewhere."""
    if callable(own := getattr(module, "parity_slots", None)):
        return list(own())
    for side, package in (("torch", "torch"), ("tf", "tensorflow"), ("reference", "numpy")):
        if sys.modules.get(package) is not None and get_backend(side).is_module(module):
            return get_backend(side).slots(module)
    raise InvalidInput(
        f"{type(module).__name__} is no torch, TensorFlow, Keras or reference module"
    )


def _movable(module: Any, role: str) -> list[Slot]:
    found = slots(module)
    unlisted = [f"  {s.path} ({s.kind})" for s in found if s.kind.startswith(UNLISTED)]
    if unlisted:
        raise TransferError(
            f"{role} has layers of a kind whose layout is not known (see parity/layouts):\n"
            + "\n".join(unlisted)
        )
    return found


def _rename(values: Mapping[str, Slot], names: Mapping[str, str]) -> dict[str, Slot]:
    if unknown := [path for path in names if path not in values]:
        raise TransferError(f"names= speaks of {unknown}; the source has {list(values)}")
    renamed: dict[str, Slot] = {}
    for path, slot in values.items():
        new = names.get(path, path)
        if new in renamed:
            raise TransferError(f"two tensors of the source would go to {new!r}")
        renamed[new] = slot
    return renamed


def _write(module: Any, values: Mapping[str, np.ndarray], kinds: Mapping[str, str]) -> None:
    targets = {slot.path: slot for slot in _movable(module, "target")}
    problems = _unmatched(values, targets)
    for path, slot in targets.items():
        if path in values:
            problems += _misfit(slot, values[path], kinds.get(path))
    if problems:
        raise TransferError("no weights were moved:\n" + "\n".join(f"  {p}" for p in problems))
    before = {path: slot.get() for path, slot in targets.items()}
    try:
        for path, slot in targets.items():
            slot.set(values[path].astype(before[path].dtype))
    except BaseException:
        for path, slot in targets.items():
            slot.set(before[path])
        raise


def _unmatched(values: Mapping[str, np.ndarray], targets: Mapping[str, Slot]) -> list[str]:
    only_source = [path for path in values if path not in targets]
    only_target = [path for path in targets if path not in values]
    shapes = {path: tuple(values[path].shape) for path in only_source}
    other = {path: tuple(targets[path].shape) for path in only_target}
    found = [
        f"{path} {shapes[path]}: only in the source{_suggest(path, shapes[path], other)}"
        for path in only_source
    ]
    return found + [
        f"{path} {other[path]}: only in the target{_suggest(path, other[path], shapes)}"
        for path in only_target
    ]


def _suggest(path: str, shape: tuple[int, ...], others: Mapping[str, tuple[int, ...]]) -> str:
    """The unmatched name of the other side that was probably meant; said, never acted on."""
    fitting = [name for name, s in others.items() if s == shape]
    near = get_close_matches(path, fitting or list(others), n=1, cutoff=0.3) or fitting[:1]
    return (
        f"; the nearest unmatched on the other side is {near[0]} {others[near[0]]}" if near else ""
    )


def _misfit(slot: Slot, value: np.ndarray, kind: str | None) -> list[str]:
    found = []
    if kind is not None and _CANONICAL not in (kind, slot.kind) and kind != slot.kind:
        found.append(f"{slot.path}: a {kind} layer in the source, {slot.kind} in the target")
    if tuple(value.shape) != tuple(slot.shape):
        hint = ""
        if tuple(value.shape)[::-1] == tuple(slot.shape):
            hint = "; one is the transpose of the other: a kernel is [in, out] here"
        found.append(
            f"{slot.path}: shape {value.shape} in the source, {slot.shape} in the target{hint}"
        )
        return found
    dtype = slot.look().dtype
    with np.errstate(over="ignore", invalid="ignore"):
        narrowed = value.astype(dtype)
        exact = np.array_equal(
            narrowed.astype(value.dtype), value, equal_nan=value.dtype.kind == "f"
        )
    if not exact:
        found.append(f"{slot.path}: {value.dtype} values do not fit {dtype} without loss")
    return found
