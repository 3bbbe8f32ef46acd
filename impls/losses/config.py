"""What every loss refuses, in the same words in each framework."""

from __future__ import annotations

from collections.abc import Sequence

from impls.errors import ConfigError, DtypeError, ShapeError

REDUCTIONS = ("mean", "sum", "none")


def require_vectors(shapes: dict[str, Sequence[int | None]], dtypes: dict[str, str]) -> None:
    """Refuse arguments that are not vectors of one length and one floating dtype.

    A length is None where it is unknown while tracing.
    """
    for name, shape in shapes.items():
        if len(shape) != 1:
            raise ShapeError(f"{name} has shape {tuple(shape)}, expected a vector [B]")
        if shape[0] == 0:
            raise ShapeError(f"{name} has shape (0,): an empty batch has no loss")
    lengths = {name: shape[0] for name, shape in shapes.items() if shape[0] is not None}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} [{length}]" for name, length in lengths.items())
        raise ShapeError(f"lengths differ, expected one batch size: {shown}")
    for name, dtype in dtypes.items():
        if dtype not in ("float32", "float64"):
            raise DtypeError(f"{name} is {dtype}, expected float32 or float64")
    if len(set(dtypes.values())) > 1:
        shown = ", ".join(f"{name} {dtype}" for name, dtype in dtypes.items())
        raise DtypeError(f"dtypes differ, expected one: {shown}")


def require_reduction(reduction: str) -> None:
    """Refuse an unknown reduction."""
    if reduction not in REDUCTIONS:
        raise ConfigError(f"reduction={reduction!r} is unknown; known: {', '.join(REDUCTIONS)}")


def require_delta(delta: float) -> None:
    """Refuse a threshold that is not finite and positive."""
    if not 0 < delta < float("inf"):
        raise ConfigError(f"delta={delta!r}: expected finite and above 0")
