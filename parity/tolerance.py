"""How far apart two values may be. The only defaults in the project stand here.

An element passes when ``|a - b| <= atol * max(1, |reference|)``: absolute for values up to one,
relative above. ``reference`` is the float64 oracle where there is one, else the larger of the two
magnitudes. Integers and booleans must be equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.errors import InvalidInput


@dataclass(frozen=True)
class Tolerance:
    """A bound and the reason it was chosen.

    Attributes:
        atol: largest allowed ``|a - b| / max(1, |reference|)``; finite, at least 0.
        because: why this number holds; shown in reports beside it. Must not be empty.
    """

    atol: float
    because: str

    def __post_init__(self) -> None:
        if not (math.isfinite(self.atol) and self.atol >= 0):
            raise InvalidInput(f"atol={self.atol!r}: a tolerance is a finite number of at least 0")
        if not self.because.strip():
            raise InvalidInput(f"atol={self.atol!r}: a tolerance needs a reason (because=...)")


EXACT = Tolerance(0.0, "integers, booleans and indices are equal or wrong")

DEFAULTS: Mapping[str, Tolerance] = {
    # A forward pass of a 256-256 network differs by 2e-7 between the frameworks: 1e-6 leaves room
    # for summation order and none for a wrong constant.
    "float32": Tolerance(1e-6, "8 float32 roundings at magnitude 1; inputs are forced equal"),
    # The largest error seen on 112 correct ports is 1.5e-14.
    "float64": Tolerance(1e-12, "4,500 float64 roundings at magnitude 1; inputs are forced equal"),
    "float16": Tolerance(2e-3, "2 float16 roundings at magnitude 1"),
    "bfloat16": Tolerance(1.6e-2, "2 bfloat16 roundings at magnitude 1"),
}

DEVICE_FLOAT32 = Tolerance(
    1e-5,
    "a GPU sums in blocks, in another order than a CPU: 84 float32 roundings at magnitude 1, a "
    "fiftieth of what inputs of 10 mantissa bits (TF32) leave",
)
"""For float32 results of a GPU against those of a CPU. float64 keeps the tolerance of its check."""


def default_tolerance(dtype: np.dtype | str) -> Tolerance:
    """The tolerance for values of this dtype; ``EXACT`` for integers and booleans.

    Complex dtypes take the tolerance of their real part.

    Raises:
        InvalidInput: the dtype holds no numbers (strings, objects).
    """
    name = str(dtype)
    if name in DEFAULTS:
        return DEFAULTS[name]
    kind = np.dtype(dtype).kind
    if kind in "biu":
        return EXACT
    if kind == "c":
        return DEFAULTS["float64" if np.dtype(dtype).itemsize == 16 else "float32"]
    if kind == "f":  # longdouble
        return DEFAULTS["float64"]
    raise InvalidInput(f"dtype {name} holds no numbers that could be compared")


def float32_rounding_bound(scale: float, operations: int = 16) -> float:
    """Error that float32 rounding alone may leave in a tensor whose largest magnitude is ``scale``.

    Used only where no float64 evidence can be had. Correct ports were measured at up to 10.5
    roundings of the tensor's largest value, so 16 is the bound.
    """
    return operations * float(np.finfo(np.float32).eps) * max(scale, 1.0)


def explained_bound(dtype: str, scale: float) -> float:
    """Error under which a tried cause counts as having removed a difference.

    Wider than the tolerance of a check: a hypothesis may compute in another order than the code
    that it stands for, and constants may have been rounded to float32 on the way.
    """
    if dtype == "float64":
        return 10.0 * DEFAULTS["float64"].atol * max(scale, 1.0)
    return float32_rounding_bound(scale)


SAME_NUMBER = 1e-6
"""Relative error up to which a number found from data is read as a simple one: rounded to float32
they are 6e-8 apart, while neighbouring simple ratios are apart by far more."""


SAME_ARRAY: dict[str, Any] = {"rtol": 2e-7, "atol": 1e-9}
"""Two arrays found in a run are read as one: at most a float32 rounding and a half apart."""


def float32_inside_bound(scale: float) -> float:
    """Error that float32 constants or casts inside a float64 run leave at magnitude ``scale``.

    One constant is off by half a float32 rounding; layers hold a few. Keras's LeakyReLU, GELU and
    hard sigmoid were measured at 0.1 to 1.2 roundings.
    """
    return 2.0 * float(np.finfo(np.float32).eps) * max(scale, 1.0)


ERROR_GROWTH = 4.0
"""Growth of a passing error over the baseline at which the gate fails. A change of summation order
moves an error by about its own size; a wrong constant that still passes moves it by far more."""


def noise_floor(dtype: str, *, same_platform: bool) -> float:
    """Errors below this count as this much when the gate looks for growth.

    On one platform a run repeats bit for bit, and a rewrite that rounds once more moves a result by
    half a rounding. On another one (CPU, versions, threads) sums run in another order, which may
    leave two roundings where there was none. Measured on 569 checks, plain vector units with two
    threads and no oneDNN against the default: 46 errors moved, none by enough to fail either way.
    """
    eps = float(np.finfo(np.dtype(dtype) if dtype in ("float16", "float64") else np.float32).eps)
    return (0.5 if same_platform else 2.0) * eps


SEARCH_BOUND = 1e-9
"""Difference, relative to the largest value at hand, that a search takes for one: inputs of extreme
scale cost some digits of float64's sixteen, and no wrong constant or mask stays under it."""


def relation_bound(*dtypes: object) -> float:
    """Error up to which a relation between two series of an environment is taken to hold.

    A float32 series is off by roundings of values of some tens; a float64 one keeps nine digits
    through any wrapper.
    """
    return 1e-6 if "float32" in map(str, dtypes) else 1e-9


ACTION_RELATION = 1e-5
"""The same for actions of networks in float32, whose layers add some roundings each."""

RUNNING_STATISTICS = 1e-3
"""The same for observations normalised by running statistics: implementations differ in what the
first rows count for, and any other series misses by about one."""

CHAOS_ONSET = 1e-3
"""A free run of two agents that agree on every forced observation, and part by at most this in the
first step that differs, grew that from rounding: a jump of a decision or a bug is larger."""
