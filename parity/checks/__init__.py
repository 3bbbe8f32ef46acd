"""Checks turn a subject into traces: one per side, of the same inputs.

Test data: inputs are drawn in float64, rounded to float32, and cast to the dtype of the run, so
that the float32 run, the float64 run and the reference all see the same numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from parity.component import Check

Cotangents = Callable[[str, tuple[int, ...]], np.ndarray]


def seeded(*parts: str) -> np.random.Generator:
    """A generator that depends on nothing but these names."""
    return np.random.default_rng(zlib.crc32("/".join(parts).encode()))


def rng_for(check: Check) -> np.random.Generator:
    """The generator of a check's input data: the same for every side, dtype and mode."""
    return seeded(check.label, check.case)


def cast(array: Any, dtype: str) -> np.ndarray:
    """Round floating values to float32, then give them ``dtype``; integers become int64.

    uint8 stays: pixels are stored so, and code tells by it whether they are scaled yet.
    """
    values: np.ndarray = np.asarray(array)
    if values.dtype.kind == "f":
        return values.astype(np.float32).astype(dtype)
    if values.dtype.kind in "iu" and values.dtype != np.uint8:
        return values.astype(np.int64)
    return values


def cast_inputs(inputs: Mapping[str, Any], dtype: str) -> dict[str, np.ndarray]:
    """:func:`cast` for each input."""
    return {name: cast(array, dtype) for name, array in inputs.items()}


def cotangents_for(check: Check, scope: str = "") -> Cotangents:
    """The output weights of a backward pass: seeded by name, of size 0.5 to 1.5, either sign.

    A gradient is that of ``sum(output * cotangent)``, so that errors in single elements of an
    output cannot cancel.
    """

    def cotangent(path: str, shape: tuple[int, ...]) -> np.ndarray:
        rng = seeded(check.label, check.case, "cotangent", scope, path)
        values = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
        return np.asarray(values).astype(np.float32).astype(np.float64)

    return cotangent
