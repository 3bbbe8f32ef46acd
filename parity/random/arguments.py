"""Checks of arguments, shared by the implementations so that each refuses the same misuse alike.

Values inside tensors are never read (that would stop a GPU, and cannot be done while tracing): what
is checked of a tensor is its dtype and its static shape. Python numbers, lists and NumPy arrays are
checked in full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parity.errors import InvalidInput

FLOATS = ("float32", "float64")
WHOLE = ("int32", "int64")
BITS = ("int32", "int64", "uint32", "uint64")
EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}
LARGEST = {"float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}


def is_whole(value: Any) -> bool:
    """True for Python and NumPy integers; a bool is no number here."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_shape(shape: int | Sequence[int], name: str = "shape") -> tuple[int, ...]:
    """The shape as a tuple; a whole number is one axis."""
    sizes = (shape,) if is_whole(shape) else shape
    if not isinstance(sizes, (tuple, list)) and not hasattr(sizes, "as_list"):
        raise InvalidInput(f"{name}={shape!r}: a shape is a whole number or a tuple of them")
    sizes = tuple(sizes)  # type: ignore[arg-type]
    for size in sizes:
        if not is_whole(size) or size < 0:
            raise InvalidInput(f"{name}={sizes!r}: sizes are known whole numbers of at least 0")
    return sizes


def size_of(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def check_dtype(dtype: str, known: tuple[str, ...]) -> str:
    if not isinstance(dtype, str) or dtype not in known:
        raise InvalidInput(f"dtype={dtype!r}: known are {', '.join(known)}")
    return dtype


def check_seed(value: Any, name: str) -> int:
    """A whole number of 64 bits, signed or unsigned; negative ones count as two's complement."""
    if not is_whole(value):
        raise InvalidInput(f"{name}={value!r}: a whole number is needed")
    if not -(2**63) <= value < 2**64:
        raise InvalidInput(f"{name}={value!r}: at most 64 bits")
    return int(value)


def check_name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"name={name!r}: streams are split by a non-empty string")
    return name


def check_float_range(low: float, high: float, dtype: str) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidInput(f"low={low!r}, high={high!r}: low must be below high, both finite")
    if high - low > LARGEST[dtype]:
        raise InvalidInput(f"low={low!r}, high={high!r}: the width overflows {dtype}")


def check_whole_range(low: int, high: int, dtype: str) -> None:
    if low >= high:
        raise InvalidInput(f"low={low}, high={high}: the range is empty; low must be below high")
    bits = 31 if dtype == "int32" else 63
    if low < -(2**bits) or high > 2**bits:
        raise InvalidInput(f"low={low}, high={high}: the range does not fit {dtype}")


def check_whole_ranges(
    low: Any, high: Any, dtype: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Host arrays of bounds, none of whose ranges is empty."""
    lows, highs = np.asarray(low), np.asarray(high)
    for name, bound in (("low", lows), ("high", highs)):
        if bound.dtype.kind not in "iu":
            raise InvalidInput(f"{name}={bound!r}: bounds are whole numbers")
    try:
        empty = lows >= highs
    except ValueError as error:
        raise InvalidInput(f"low {lows.shape} and high {highs.shape}: shapes differ") from error
    if empty.any():
        first = int(np.argmax(empty))
        start, stop = (np.broadcast_to(b, empty.shape).flat[first] for b in (lows, highs))
        check_whole_range(int(start), int(stop), dtype)
    if lows.size and highs.size:
        check_whole_range(int(lows.min()), int(highs.max()), dtype)
    return lows, highs


def check_broadcast(given: tuple[int, ...], shape: tuple[int, ...], name: str) -> None:
    """``given`` must stretch to ``shape`` by NumPy's rules, and not beyond it."""
    fits = len(given) <= len(shape) and all(
        size in (1, wanted) for size, wanted in zip(reversed(given), reversed(shape), strict=False)
    )
    if not fits:
        raise InvalidInput(f"{name} of shape {given} does not broadcast to {shape}")


def check_rate(value: Any, name: str, *, below_one: bool = False) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise InvalidInput(f"{name}={value!r}: a number is needed")
    inside = value < 1.0 if below_one else value <= 1.0
    if not (value >= 0.0 and inside):
        raise InvalidInput(f"{name}={value!r}: must be in [0, 1{')' if below_one else ']'}")


def check_rates(values: Any, name: str) -> npt.NDArray[np.float64]:
    """A host array of probabilities."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise InvalidInput(f"{name}={values!r}: probabilities are numbers")
    array = array.astype(np.float64)
    if not ((array >= 0.0) & (array <= 1.0)).all():
        raise InvalidInput(f"{name}={values!r}: must be in [0, 1]")
    return array


def check_count(count: int, name: str) -> int:
    if not is_whole(count) or count < 0:
        raise InvalidInput(f"{name}={count!r}: a whole number of at least 0 is needed")
    return int(count)


def check_population(n: int, count: int, *, replace: bool) -> None:
    check_count(n, "n")
    if n == 0 and count > 0:
        raise InvalidInput(f"n=0: nothing to choose {count} from")
    if not replace and count > n:
        raise InvalidInput(f"cannot choose {count} from n={n} without replacement")


def _numbers(values: Any) -> list[float]:
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"p={values!r}: a list of numbers is needed") from error


def check_probabilities(p: Any, n: int, count: int, *, replace: bool) -> Any:
    """Host probabilities: one per item, finite, at least 0, with sum 1.

    Lists are read without NumPy, so that they can stand in a compiled torch step.
    """
    values: Any
    slack = math.sqrt(EPSILON["float64"])  # NumPy's own rule
    if isinstance(p, np.ndarray) and p.dtype.kind in "fiu":
        slack = math.sqrt(EPSILON.get(p.dtype.name, EPSILON["float64"]))
        shape, values = p.shape, p.astype(np.float64)
        valid = bool(np.isfinite(values).all() and (values >= 0).all())
        total, possible = float(values.sum()), int(np.count_nonzero(values))
    else:
        numbers = _numbers(p)
        shape, values = (len(numbers),), numbers
        valid = all(math.isfinite(value) and value >= 0.0 for value in numbers)
        total, possible = sum(numbers), len([value for value in numbers if value > 0.0])
    if shape != (n,):
        raise InvalidInput(
            f"p has shape {shape}: one probability for each of n={n} items is needed"
        )
    if not valid:
        raise InvalidInput("p: probabilities are finite and at least 0")
    if abs(total - 1.0) > slack:
        raise InvalidInput(f"p sums to {total:.9g}: probabilities must sum to 1")
    if not replace and count > possible:
        raise InvalidInput(
            f"cannot choose {count} without replacement: {possible} items have p > 0"
        )
    return values


def check_logits(logits: Any) -> npt.NDArray[np.float64]:
    """Host logits: floating, no NaN, no +inf, and a finite one in each row."""
    array = np.asarray(logits)
    if array.dtype.kind != "f":
        raise InvalidInput("logits: floating numbers are needed")
    if np.isnan(array).any() or np.isposinf(array).any():
        raise InvalidInput("logits: NaN and +inf stand for no distribution")
    if array.ndim and array.shape[-1] and not np.isfinite(array).any(axis=-1).all():
        raise InvalidInput("logits: a row has no finite entry, so no class can be drawn")
    return array.astype(np.float64)


def check_classes(shape: tuple[int, ...], most: int) -> tuple[tuple[int, ...], int]:
    """Shape of the rows and number of classes of logits."""
    if not shape or not is_whole(shape[-1]) or not 1 <= shape[-1] <= most:
        raise InvalidInput(f"logits of shape {shape}: the last axis is 1 to {most} classes")
    return check_shape(shape[:-1], "rows of logits"), shape[-1]
