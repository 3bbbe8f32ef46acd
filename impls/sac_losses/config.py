"""What the losses of soft actor-critic refuse, in the same words in each framework."""

from __future__ import annotations

from numbers import Real
from typing import Any

from impls.arguments import fits, require_range, require_rows, shape_of
from impls.errors import ShapeError


def require_vectors(**arrays: Any) -> None:
    """Refuse what is not vectors of one length, of at least 1, and one floating dtype."""
    require_rows(**arrays)
    name, array = next(iter(arrays.items()))
    if not fits(shape_of(array), (None,)):
        raise ShapeError(f"{name} has shape {shape_of(array)}, must be a vector [B]")


def require_scalar(**values: Any) -> None:
    """Refuse tensors that are no scalars: [1] would be one more axis of the loss."""
    for name, value in values.items():
        if not isinstance(value, Real) and not fits(shape_of(value), ()):
            raise ShapeError(f"{name} has shape {shape_of(value)}, must be a scalar")


def require_alpha(alpha: Any) -> None:
    """Refuse a negative number, and tensors that are no scalars."""
    require_range(0.0, float("inf"), alpha=alpha)
    require_scalar(alpha=alpha)
