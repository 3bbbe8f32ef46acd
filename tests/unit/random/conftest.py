"""The three implementations of a stream, and the draws that tests go through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parity.random import Stream

SIDES = ("numpy", "torch", "tf")
PACKAGES = {"torch": "torch", "tf": "tensorflow"}

#: One draw of each kind, of pairwise distinct sizes, whose values must be equal to the bit.
EXACT_DRAWS: dict[str, Callable[[Any], Any]] = {
    "bits uint32": lambda s: s.bits((7, 13), dtype="uint32"),
    "bits int32": lambda s: s.bits((7, 13), dtype="int32"),
    "bits uint64": lambda s: s.bits((13, 3), dtype="uint64"),
    "bits int64": lambda s: s.bits((13, 3), dtype="int64"),
    "uniform float32": lambda s: s.uniform((7, 13, 3)),
    "uniform float64": lambda s: s.uniform((7, 13), dtype="float64"),
    "uniform range float32": lambda s: s.uniform(1001, low=-0.3, high=0.4),
    "uniform range float64": lambda s: s.uniform(1001, low=-0.3, high=0.4, dtype="float64"),
    "uniform scalar": lambda s: s.uniform(()),
    "integers": lambda s: s.integers((13, 7), -5, 17),
    "integers int32": lambda s: s.integers(11, -(2**31), 2**31, dtype="int32"),
    "integers wide": lambda s: s.integers(101, -5, 2**40 + 1),
    "integers above 2^63": lambda s: s.integers(101, -(2**62) - 5, 2**63 - 7),
    "integers of int64": lambda s: s.integers(101, -(2**63), 2**63),
    "integers by row": lambda s: s.integers((3, 2), [[0], [5], [-9]], [6, 6 + 2**33]),
    "permutation": lambda s: s.permutation(1001),
    "choice": lambda s: s.choice(50, (7, 13)),
    "choice without replacement": lambda s: s.choice(50, (7, 3), replace=False),
    "choice by p": lambda s: s.choice(4, (13, 7), p=[0.1, 0.0, 0.2, 0.7]),
    "choice by p without": lambda s: s.choice(4, 3, replace=False, p=[0.1, 0.0, 0.2, 0.7]),
    "categorical": lambda s: s.categorical(
        np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])), shape=101
    ),
    "bernoulli": lambda s: s.bernoulli(0.3, (7, 13)),
    "bernoulli by row": lambda s: s.bernoulli(np.array([[0.1], [0.9]]), (2, 51)),
    "dropout float32": lambda s: s.dropout_mask(0.3, (7, 13)),
    "dropout float64": lambda s: s.dropout_mask(0.3, (7, 13), dtype="float64"),
    "empty": lambda s: s.normal((0, 3)),
}
NORMAL_DRAWS: dict[str, Callable[[Any], Any]] = {
    "normal float32": lambda s: s.normal((13, 7, 11)),
    "normal float64": lambda s: s.normal((13, 7, 11), dtype="float64"),
}


def normals_apart(there: np.ndarray, here: np.ndarray) -> float:
    """The largest difference over what is allowed: two units in float32, eight in float64.

    The contract allows 1e-6; libraries meet this. Logarithm, sine and cosine of float64 differ by
    up to three units between them, which rounding to float32 hides.
    """
    assert there.dtype == here.dtype
    assert there.shape == here.shape
    if here.dtype == np.float32:
        allowed = 2 * np.spacing(np.abs(here))
    else:
        allowed = 8 * np.spacing(np.maximum(np.abs(here), 1.0))
    return float((np.abs(there - here) / allowed).max())


def view_of(side: str, stream: Stream) -> Any:
    """The stream as one implementation; skips where its package is missing."""
    if side == "numpy":
        return stream
    pytest.importorskip(PACKAGES[side])
    return stream.torch() if side == "torch" else stream.tf()


@pytest.fixture(params=SIDES)
def view(request: pytest.FixtureRequest) -> Callable[[Stream], Any]:
    """Turns a stream into its view in each implementation in turn."""
    return lambda stream: view_of(request.param, stream)


@pytest.fixture(params=SIDES[1:])
def framework_view(request: pytest.FixtureRequest) -> Callable[[Stream], Any]:
    """The same for the two frameworks."""
    return lambda stream: view_of(request.param, stream)


@pytest.fixture(params=EXACT_DRAWS)
def exact_draw(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return EXACT_DRAWS[request.param]


@pytest.fixture(params=NORMAL_DRAWS)
def normal_draw(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return NORMAL_DRAWS[request.param]
