"""Initial weights from a stream: one array that both frameworks load.

Arrays are canonical: a dense kernel is [in, out], a convolution kernel [*window, in, out], as in
Keras; a torch ``Linear`` takes the transpose, a ``Conv2d`` the axes (3, 2, 0, 1). With
groups ``in`` counts the inputs of one group. Everything is drawn and computed in float64 and
rounded last, so that float32 weights are the float64 weights rounded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from parity.errors import InvalidInput
from parity.random import arguments as check
from parity.random.draws import Shape
from parity.random.numpy_random import Stream

Array = npt.NDArray[Any]


def fans(shape: Shape) -> tuple[int, int]:
    """Inputs that reach one output and outputs that one input reaches.

    ``fan_in = window * in``, ``fan_out = window * out`` for a kernel [*window, in, out].

    Raises:
        InvalidInput: fewer than two axes, or an axis of size 0.
    """
    sizes = check.check_shape(shape)
    if len(sizes) < 2 or 0 in sizes:
        raise InvalidInput(f"shape={sizes!r}: a kernel has two or more axes, none of them empty")
    window = check.size_of(sizes[:-2])
    return window * sizes[-2], window * sizes[-1]


def kaiming_uniform(
    stream: Stream,
    shape: Shape,
    *,
    a: float = 0.0,
    mode: str = "fan_in",
    dtype: str = "float32",
) -> Array:
    """Uniform of [-b, b) with ``b = sqrt(6 / ((1 + a^2) fan))``.

    Source: He et al., "Delving deep into rectifiers", 2015, equations 10 and 14.

    Args:
        stream: drawn from once, float64.
        shape: canonical kernel shape.
        a: negative slope of the rectifier that follows; 0 for ReLU. ``sqrt(5)`` gives torch's
            default for ``Linear`` and ``Conv``, ``b = 1 / sqrt(fan_in)``.
        mode: fan_in or fan_out.
        dtype: float32 or float64.

    Raises:
        InvalidInput: a wrong mode, dtype or shape.
    """
    fan_in, fan_out = fans(shape)
    if mode not in ("fan_in", "fan_out"):
        raise InvalidInput(f"mode={mode!r}: known are fan_in, fan_out")
    fan = fan_in if mode == "fan_in" else fan_out
    return _symmetric(stream, shape, math.sqrt(6.0 / ((1.0 + a * a) * fan)), dtype)


def glorot_uniform(
    stream: Stream, shape: Shape, *, gain: float = 1.0, dtype: str = "float32"
) -> Array:
    """Uniform of [-b, b) with ``b = gain sqrt(6 / (fan_in + fan_out))``; Keras's default.

    Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", 2010, equation 16.

    Raises:
        InvalidInput: a wrong dtype or shape.
    """
    fan_in, fan_out = fans(shape)
    return _symmetric(stream, shape, gain * math.sqrt(6.0 / (fan_in + fan_out)), dtype)


def fan_in_uniform(stream: Stream, shape: Shape, fan_in: int, *, dtype: str = "float32") -> Array:
    """Uniform of [-b, b) with ``b = 1 / sqrt(fan_in)``: torch's default for a bias.

    Raises:
        InvalidInput: ``fan_in`` below 1, or a wrong dtype or shape.
    """
    if not check.is_whole(fan_in) or fan_in < 1:
        raise InvalidInput(f"fan_in={fan_in!r}: a whole number of at least 1 is needed")
    return _symmetric(stream, shape, 1.0 / math.sqrt(fan_in), dtype)


def orthogonal(stream: Stream, shape: Shape, *, gain: float = 1.0, dtype: str = "float32") -> Array:
    """``gain`` times a uniformly distributed matrix with orthonormal rows or columns.

    The matrix is [window * in, out]; its columns are orthonormal if it is tall, else its rows.
    ``Q R = Z`` for standard normal Z, each column of Q times the sign of R's diagonal, which makes
    the factorisation unique and the distribution uniform (Haar).
    Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear
    neural networks", 2014; Mezzadri, "How to generate random matrices from the classical compact
    groups", 2007.

    Raises:
        InvalidInput: a wrong dtype or shape.
    """
    sizes = check.check_shape(shape)
    rows, columns = fans(sizes)[0], sizes[-1]
    check.check_dtype(dtype, check.FLOATS)
    normals = stream.normal((max(rows, columns), min(rows, columns)), dtype="float64")
    q, r = np.linalg.qr(normals)
    q = q * np.where(np.diagonal(r) < 0.0, -1.0, 1.0)
    matrix = q if rows >= columns else q.T
    return np.asarray((gain * matrix).reshape(sizes), dtype=dtype)


def _symmetric(stream: Stream, shape: Shape, bound: float, dtype: str) -> Array:
    check.check_dtype(dtype, check.FLOATS)
    values = stream.uniform(shape, low=-bound, high=bound, dtype="float64")
    return np.asarray(values, dtype=dtype)
