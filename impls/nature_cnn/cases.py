"""What the convolutional trunk is checked on: few channels, and images that are not square."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.nature_cnn.config import NatureCNNConfig, initial_parameters, parameter_shapes
from parity.checks.function import FunctionCheck

SMALL = NatureCNNConfig(44, 52, 2, filters=(3, 5, 4), units=7)
PARAMETERS = tuple(parameter_shapes(SMALL))


def images(config: NatureCNNConfig, batch: int) -> Callable[[np.random.Generator], Any]:
    """Pixels of every value, and parameters."""

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        shape = (batch, config.height, config.width, config.channels)
        pixels = rng.integers(0, 256, shape).astype(np.uint8)
        return {"pixels": pixels, **initial_parameters(config, rng)}

    return inputs


def _check(case: str, config: NatureCNNConfig, batch: int, **fields: Any) -> FunctionCheck:
    return FunctionCheck(
        name="nature_cnn",
        case=case,
        inputs=images(config, batch),
        gradients=PARAMETERS,
        **fields,
    )


DOUBLE = ("float64",)
"""The gradient of a kernel sums hundreds of products of either sign, of which little is left:
float32 holds 1e-6 of it in the smaller cases alone."""

CHECKS = (
    _check("small", SMALL, 2),
    _check("one-image", NatureCNNConfig(48, 44, 1, filters=(2, 3, 5), units=3), 1),
    _check("square", NatureCNNConfig(44, 44, 4, filters=(4, 4, 4), units=4), 4, dtypes=DOUBLE),
    _check(
        "rest-at-the-edge", NatureCNNConfig(47, 51, 3, filters=(2, 3, 4), units=5), 2, dtypes=DOUBLE
    ),
    # compiling takes seconds: one small case, one dtype
    _check(
        "smallest",
        NatureCNNConfig(36, 40, 1, filters=(2, 2, 3), units=2),
        1,
        modes=("xla",),
        dtypes=("float64",),
    ),
)
