"""Every intermediate value of both functions, and which of them have a counterpart.

Two implementations need not compute the same steps, so intermediates are paired by what they hold:
equal values (in any shape or order of axes), or equal up to a sign or a factor. The first value of
one side that has no equal on the other, although everything it was made from has, is where the two
computations part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.tolerance import explained_bound

_MOST = 3000
_LARGEST = 1_000_000


@dataclass
class Value:
    """One intermediate of one side.

    Attributes:
        array: what it holds.
        op: the framework's operation; ``input`` for what the function was given.
        site: where it was made; None for inputs.
        backward: made while differentiating.
        makers: indices of the values it was made from, where that is known; -1 for one that was
            not recorded.
        partner: index of an equal value of the other side; None where there is none.
        factor: where it is a multiple of a value of the other side, (index, factor).
    """

    array: np.ndarray
    op: str
    site: Site | None = None
    backward: bool = False
    makers: tuple[int, ...] = ()
    partner: int | None = None
    factor: tuple[int, float] | None = None
    call: Any = field(default=None, repr=False)

    @property
    def place(self) -> str:
        return self.site.place if self.site is not None else ""

    @property
    def source(self) -> str:
        return self.site.source if self.site is not None else ""


def torch_values(calls: Iterable[Any], inputs: Iterable[np.ndarray]) -> list[Value]:
    """The values of a torch recording, inputs first."""
    found = [Value(np.asarray(a), "input") for a in inputs]
    of_call: list[int] = []
    for call in calls:
        given = [of_call[i] if i >= 0 else -1 for i in getattr(call, "inputs", None) or ()]
        of_call.append(-1)
        for output in call.output:
            if len(found) < _MOST and 0 < output.size <= _LARGEST:
                of_call[-1] = len(found) if of_call[-1] < 0 else of_call[-1]  # the first is meant
                found.append(
                    Value(output, call.op, call.site, call.backward, tuple(given), call=call)
                )
    return found


def tf_values(
    calls: Iterable[Any],
    inputs: Iterable[np.ndarray],
    to_array: Callable[[Any], np.ndarray | None],
) -> list[Value]:
    """The values of a TensorFlow recording, inputs first, with what each was made from."""
    found = [Value(np.asarray(a), "input") for a in inputs]
    made: dict[int, int] = {}
    for call in calls:
        makers = tuple(made[id(x)] for x in _flat(call.inputs) if id(x) in made)
        for output in call.outputs:
            array = to_array(output)
            if array is None or array.size == 0 or array.size > _LARGEST or len(found) >= _MOST:
                continue
            made[id(output)] = len(found)
            found.append(Value(array, call.op, call.site, call.backward, makers, call=call))
    return found


def pair(ours: Sequence[Value], theirs: Sequence[Value], dtype: str) -> None:
    """Give every value of ``ours`` its partner among ``theirs``, where there is one."""
    by_size: dict[int, list[int]] = {}
    for index, value in enumerate(theirs):
        if value.array.dtype.kind == "f":
            by_size.setdefault(value.array.size, []).append(index)
    stacks = {size: _stack(theirs, indices) for size, indices in by_size.items()}
    for value in ours:
        if value.array.dtype.kind != "f" or value.array.size not in stacks:
            continue
        _find(value, by_size[value.array.size], stacks[value.array.size], theirs, dtype)


def _stack(values: Sequence[Value], indices: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    plain = np.stack([values[i].array.reshape(-1).astype(np.float64) for i in indices])
    return plain, np.sort(plain, axis=1)


def _find(
    value: Value,
    indices: Sequence[int],
    stacks: tuple[np.ndarray, np.ndarray],
    theirs: Sequence[Value],
    dtype: str,
) -> None:
    plain, ordered = stacks
    flat = value.array.reshape(-1).astype(np.float64)
    finite = flat[np.isfinite(flat)]
    bound = explained_bound(dtype, float(np.abs(finite).max()) if finite.size else 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        for mine, rows in ((flat, plain), (np.sort(flat), ordered)):
            close = np.isclose(rows, mine, rtol=0.0, atol=bound, equal_nan=True).all(axis=1)
            if close.any():
                value.partner = indices[int(np.argmax(close))]
                return
        value.factor = _multiple(flat, plain, indices, bound)


def _multiple(
    flat: np.ndarray, rows: np.ndarray, indices: Sequence[int], bound: float
) -> tuple[int, float] | None:
    """The first row that is this value times one number; scalars are multiples of anything."""
    with np.errstate(over="ignore"):  # infinite, and refused below
        norm = float(flat @ flat)
    if flat.size < 2 or not np.isfinite(norm) or norm == 0.0:
        return None
    factors = rows @ flat / norm
    off = np.abs(rows - factors[:, None] * flat).max(axis=1)
    good = np.isfinite(factors) & (factors != 0) & (off <= bound * np.maximum(np.abs(factors), 1))
    if not good.any():
        return None
    row = int(np.argmax(good))
    return indices[row], float(factors[row])


def first_unmatched(values: Sequence[Value]) -> Value | None:
    """The first forward value without a partner whose makers all have one."""
    for value in values:
        if value.op == "input" or value.backward or value.array.dtype.kind != "f":
            continue
        if value.partner is None and all(settled(values, m) for m in value.makers):
            return value
    return None


def settled(values: Sequence[Value], index: int) -> bool:
    """Whether a value is not to blame for what is made of it: the other side has it too."""
    if index < 0:
        return True
    value = values[index]
    if value.partner is not None or value.op == "input" or value.array.dtype.kind != "f":
        return True
    return value.array.size == 1 and not value.makers


def _flat(inputs: Iterable[Any]) -> Iterable[Any]:
    for value in inputs:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value
