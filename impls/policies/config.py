"""What the policies refuse, in the same words in each framework."""

from __future__ import annotations

from numbers import Real
from typing import Any

from impls.arguments import fits, require_alike, require_dtype, require_floating, shape_of
from impls.errors import ConfigError, ShapeError


def require_axis(**arrays: Any) -> None:
    """Refuse arrays without a last axis, or with an empty one."""
    for name, array in arrays.items():
        shape = shape_of(array)
        if shape is not None and (not shape or shape[-1] == 0):
            raise ShapeError(f"{name} has shape {shape}, must have a last axis of at least 1")


def require_logits(logits: Any, **rows: Any) -> None:
    """Refuse logits that are not floating [..., A], and arrays that do not have one per row."""
    require_floating(logits=logits)
    require_axis(logits=logits)
    shape = shape_of(logits)
    for name, array in rows.items():
        if shape is not None and not fits(shape_of(array), shape[:-1]):
            raise ShapeError(
                f"{name} has shape {shape_of(array)}, logits {shape}: must be one per row"
            )


def require_action(action: Any) -> None:
    """Refuse actions that are not indices."""
    require_dtype("int64", action=action)


def require_gaussian(mean: Any, log_std: Any, **arrays: Any) -> None:
    """Refuse a log_std that has neither the mean's shape nor [act], and others unlike the mean."""
    require_alike(mean=mean, **arrays)
    require_floating(mean=mean, log_std=log_std)
    require_axis(mean=mean)
    whole, found = shape_of(mean), shape_of(log_std)
    if whole is not None and not (fits(found, whole) or fits(found, whole[-1:])):
        raise ShapeError(f"log_std has shape {found}, must be {whole} or {whole[-1:]}")


def require_bounds(low: Any, high: Any) -> None:
    """Refuse numbers that bound nothing; the ranges of tuples and tensors are not checked."""
    if isinstance(low, Real) and isinstance(high, Real) and not float(low) < float(high):
        raise ConfigError(f"low={low!r}, high={high!r}: low must be below high")
