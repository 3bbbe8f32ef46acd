"""What functions on plain arrays refuse, in the same words in each framework.

Arrays are looked at through ``shape`` and ``dtype`` alone, which torch, TensorFlow and NumPy all
have, so that this module imports none of them. Sizes that are unknown while TensorFlow traces are
None and fit everything.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

from impls.errors import ConfigError, DtypeError, ShapeError

Shape = tuple[int | None, ...]
FLOATING = ("float32", "float64")
REDUCTIONS = ("mean", "sum", "none")


def shape_of(array: Any) -> Shape | None:
    """The shape as a tuple; None where even the rank is unknown while tracing."""
    shape = array.shape
    if hasattr(shape, "as_list"):
        return None if shape.rank is None else tuple(shape.as_list())
    return tuple(shape)


def dtype_of(array: Any) -> str:
    """The dtype by its NumPy name."""
    dtype = array.dtype
    return str(dtype.name if hasattr(dtype, "name") else dtype).removeprefix("torch.")


def fits(found: Shape | None, wanted: Shape | None) -> bool:
    """True where the two shapes are equal as far as they are known; nothing is broadcast."""
    if found is None or wanted is None:
        return True
    pairs = zip(found, wanted, strict=False)
    return len(found) == len(wanted) and all(a is None or b is None or a == b for a, b in pairs)


def require_floating(**arrays: Any) -> None:
    """Refuse arrays that are not of one floating dtype."""
    dtypes = {name: dtype_of(array) for name, array in arrays.items()}
    for name, dtype in dtypes.items():
        if dtype not in FLOATING:
            raise DtypeError(f"{name} is {dtype}, must be float32 or float64")
    if len(set(dtypes.values())) > 1:
        shown = ", ".join(f"{name} {dtype}" for name, dtype in dtypes.items())
        raise DtypeError(f"dtypes differ, must be one: {shown}")


def require_dtype(wanted: str, **arrays: Any) -> None:
    """Refuse arrays of another dtype: flags that are numbers, indices that are not int64."""
    for name, array in arrays.items():
        if dtype_of(array) != wanted:
            raise DtypeError(f"{name} is {dtype_of(array)}, must be {wanted}")


def require_shape(wanted: Shape | None, **arrays: Any) -> None:
    """Refuse arrays that have another shape than this one."""
    for name, array in arrays.items():
        if not fits(shape_of(array), wanted):
            raise ShapeError(f"{name} has shape {shape_of(array)}, must be {wanted}")


def require_alike(**arrays: Any) -> None:
    """Refuse arrays that are not of one shape and one floating dtype; nothing is broadcast."""
    require_floating(**arrays)
    first = next(iter(arrays))
    wanted = shape_of(arrays[first])
    for name, array in arrays.items():
        if not fits(shape_of(array), wanted):
            raise ShapeError(f"{name} has shape {shape_of(array)}, {first} {wanted}: must be equal")


def require_rows(**arrays: Any) -> None:
    """Refuse what is not alike, and batches without a row: ``[B]``, or ``[T, B]`` kept apart."""
    require_alike(**arrays)
    name, array = next(iter(arrays.items()))
    shape = shape_of(array)
    if shape is not None and (not shape or 0 in shape):
        raise ShapeError(f"{name} has shape {shape}, must hold at least one row: [B] or [T, B]")


def require_steps(truncated: Any = None, **arrays: Any) -> None:
    """Refuse what is not ``[T, B]`` with at least one step, and flags that do not fit it."""
    require_alike(**arrays)
    name, array = next(iter(arrays.items()))
    shape = shape_of(array)
    if shape is not None and (len(shape) != 2 or shape[0] == 0):
        raise ShapeError(f"{name} has shape {shape}, must be [T, B] with at least one step")
    if truncated is not None:
        require_dtype("bool", truncated=truncated)
        require_shape(shape, truncated=truncated)


def require_range(low: float, high: float, **numbers: Any) -> None:
    """Refuse Python numbers outside ``[low, high]``; the ranges of tensors are not checked."""
    for name, number in numbers.items():
        if isinstance(number, Real) and not low <= float(number) <= high:
            raise ConfigError(f"{name}={number!r}: must be in [{low:g}, {high:g}]")


def require_positive(**numbers: Any) -> None:
    """Refuse Python numbers that are not above 0; the ranges of tensors are not checked."""
    for name, number in numbers.items():
        if isinstance(number, Real) and not float(number) > 0.0:
            raise ConfigError(f"{name}={number!r}: must be above 0")


def require_reduction(reduction: str) -> None:
    """Refuse an unknown reduction."""
    if reduction not in REDUCTIONS:
        raise ConfigError(f"reduction={reduction!r} is unknown; known: {', '.join(REDUCTIONS)}")
