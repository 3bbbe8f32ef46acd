"""What deep Q-learning refuses, in the same words in each framework."""

from __future__ import annotations

from typing import Any

from impls.arguments import require_alike, require_floating, require_shape, shape_of
from impls.errors import ShapeError


def require_table(rows: dict[str, Any], **tables: Any) -> None:
    """Refuse action values that are not [B, A] of one size, and rows that are not [B]."""
    require_alike(**tables)
    name, table = next(iter(tables.items()))
    shape = shape_of(table)
    if shape is not None and (len(shape) != 2 or 0 in shape):
        raise ShapeError(f"{name} has shape {shape}, must be [B, A] with at least one of each")
    floats = {key: row for key, row in rows.items() if key != "a_tm1"}
    require_floating(**tables, **floats)
    if shape is not None:
        require_shape(shape[:1], **rows)
