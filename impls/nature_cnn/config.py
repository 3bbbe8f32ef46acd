"""Sizes of the convolutional trunk, its parameters by name, and what every sibling refuses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from impls.arguments import dtype_of, require_floating, shape_of
from impls.errors import ConfigError, DtypeError, ShapeError

KERNELS = (8, 4, 3)
"""Side of the square kernels (Mnih et al. 2015)."""

STRIDES = (4, 2, 1)
"""Step of the kernels, in both directions."""


@dataclass(frozen=True)
class NatureCNNConfig:
    """Sizes of the trunk.

    Raises:
        ConfigError: a size is below 1, or the image is too small for the three convolutions.
    """

    height: int = 84
    """Rows of an image."""
    width: int = 84
    """Columns of an image."""
    channels: int = 4
    """Channels of an image; stacked frames count as such."""
    filters: tuple[int, int, int] = (32, 64, 64)
    """Output channels of the convolutions."""
    units: int = 512
    """Units of the dense layer."""

    def __post_init__(self) -> None:
        sizes = {f"filters[{i}]": n for i, n in enumerate(self.filters)}
        sizes |= {"channels": self.channels, "units": self.units}
        for name, size in sizes.items():
            if size < 1:
                raise ConfigError(f"{name}={size}: a size is at least 1")
        if len(self.filters) != len(KERNELS):
            raise ConfigError(f"filters={self.filters!r}: there are three convolutions")
        if min(self.grid) < 1:
            raise ConfigError(f"height={self.height}, width={self.width}: at least 36 are needed")

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns that the last convolution leaves."""
        height, width = self.height, self.width
        for kernel, stride in zip(KERNELS, STRIDES, strict=True):
            height, width = (height - kernel) // stride + 1, (width - kernel) // stride + 1
        return height, width


def parameter_shapes(config: NatureCNNConfig) -> dict[str, tuple[int, ...]]:
    """Argument name -> shape: kernels ``[height, width, in, out]``, dense ``[in, out]``."""
    shapes: dict[str, tuple[int, ...]] = {}
    fan_in = config.channels
    for i, (side, filters) in enumerate(zip(KERNELS, config.filters, strict=True), start=1):
        shapes[f"conv{i}_kernel"] = (side, side, fan_in, filters)
        shapes[f"conv{i}_bias"] = (filters,)
        fan_in = filters
    rows, columns = config.grid
    shapes["dense_kernel"] = (rows * columns * fan_in, config.units)
    shapes["dense_bias"] = (config.units,)
    return shapes


def initial_parameters(config: NatureCNNConfig, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Fan-in uniform values, ``[-1/sqrt(fan_in), 1/sqrt(fan_in)]``, kernel before bias.

    Returns:
        Argument name -> float64 array of values that float32 can hold.
    """
    shapes, values = parameter_shapes(config), {}
    for name, shape in shapes.items():
        fan_in = math.prod(shapes[name.replace("bias", "kernel")][:-1])
        drawn = rng.uniform(-1.0, 1.0, shape) / math.sqrt(fan_in)
        values[name] = drawn.astype(np.float32).astype(np.float64)
    return values


def require_image(pixels: Any, parameters: Mapping[str, Any]) -> None:
    """Refuse pixels that are not ``[B, height, width, channels]`` uint8, or do not fit the kernels.

    Args:
        parameters: by name, in the order of :func:`parameter_shapes`.
    """
    shape = shape_of(pixels)
    if shape is None or len(shape) != 4 or shape[0] == 0:
        raise ShapeError(f"pixels has shape {shape}, must be [B, height, width, channels]")
    if dtype_of(pixels) != "uint8":
        raise DtypeError(f"pixels is {dtype_of(pixels)}, must be uint8: it is divided by 255 here")
    require_floating(**parameters)
    _, *grid, depth = shape
    for i, (side, stride) in enumerate(zip(KERNELS, STRIDES, strict=True), start=1):
        found = shape_of(parameters[f"conv{i}_kernel"]) or ()
        if len(found) != 4 or found[:3] != (side, side, depth):
            raise ShapeError(
                f"conv{i}_kernel has shape {found}, must be [{side}, {side}, {depth}, out]"
            )
        depth = found[3]
        _require(f"conv{i}_bias", parameters, (depth,))
        grid = [None if n is None else (n - side) // stride + 1 for n in grid]
        if any(n is not None and n < 1 for n in grid):
            raise ShapeError(f"pixels has shape {shape}: too small for conv{i}")
    found = shape_of(parameters["dense_kernel"]) or ()
    flat = None if None in (*grid, depth) else math.prod([*grid, depth])
    if len(found) != 2 or (flat is not None and found[0] != flat):
        raise ShapeError(f"dense_kernel has shape {found}, must be [{flat}, units]")
    _require("dense_bias", parameters, (found[1],))


def _require(name: str, parameters: Mapping[str, Any], wanted: tuple[int | None, ...]) -> None:
    if shape_of(parameters[name]) != wanted:
        raise ShapeError(f"{name} has shape {shape_of(parameters[name])}, must be {wanted}")
