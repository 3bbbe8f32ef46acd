"""The blocked pass against the definition, on the shapes that take each of its ways."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.scan import scan
from parity.scan_exact import exactly

scan_module = sys.modules["parity.scan"]
SIZE = 1000
TINY = float(np.float32(1e-45))

Pair = tuple[np.ndarray, np.ndarray]


def _rounding(a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (a * (1 + 1e-7 * rng.standard_normal(a.size))).astype(a.dtype)


def _some(a: np.ndarray, rng: np.random.Generator, part: float, value: float) -> np.ndarray:
    return np.where(rng.random(a.size) < part, a.dtype.type(value), a)


SHAPES: dict[str, Callable[[np.ndarray, np.random.Generator], Pair]] = {
    "rounding": lambda a, rng: (a, _rounding(a, rng)),
    "ties": lambda a, _: (a, a + a.dtype.type(1e-7)),
    "more ties": lambda a, _: (a, a + a.dtype.type(1e-3)),
    "alike": lambda a, _: (np.full_like(a, 3), np.full_like(a, 3.0000002)),
    "far": lambda a, rng: (a, rng.standard_normal(a.size).astype(a.dtype)),
    "scaled": lambda a, _: (a, a * a.dtype.type(1.001)),
    "flipped": lambda a, _: (a, -a),
    "one side zero": lambda a, rng: (np.zeros_like(a), 1e-9 * _rounding(a, rng)),
    "both zero at places": lambda a, rng: (np.maximum(a, 0), np.maximum(_rounding(a, rng), 0)),
    "steps from zero": lambda a, rng: (
        TINY * rng.integers(-4, 5, a.size).astype(a.dtype),
        TINY * rng.integers(-4, 5, a.size).astype(a.dtype),
    ),
    "few NaN": lambda a, rng: (a, _some(_rounding(a, rng), rng, 0.01, np.nan)),
    "many NaN": lambda a, rng: (a, _some(_rounding(a, rng), rng, 0.5, np.nan)),
    "NaN on both sides": lambda a, rng: (
        np.where(a > 0, a.dtype.type(np.nan), a),
        np.where(a > 0, a.dtype.type(np.nan), _rounding(a, rng)),
    ),
    "infinities": lambda a, rng: (
        _some(a, rng, 0.4, np.inf),
        _some(_some(_rounding(a, rng), rng, 0.3, np.inf), rng, 0.2, -np.inf),
    ),
    "overflow": lambda a, rng: (
        _some(a, rng, 0.3, float(np.finfo(a.dtype).max)),
        _some(a, rng, 0.3, -float(np.finfo(a.dtype).max)),
    ),
}


def defined(a: np.ndarray, b: np.ndarray, atol: float, reference: Any) -> dict[str, Any]:
    """All figures from the definition, over the whole at once."""
    exact = exactly(a, b, reference, ulp=a.dtype == b.dtype)
    worst, bad = int(np.argmax(exact.share)), np.flatnonzero(exact.bad)
    return {
        "over": int(np.count_nonzero(exact.share > atol)),
        "non_finite": int(bad.size),
        "max_abs": float(exact.gap.max()),
        "max_rel": exact.max_relative(),
        "max_ulp": float(exact.ulp.max()),
        "needed": float(exact.share[worst]),
        "worst": worst,
        "bad": int(bad[0]) if bad.size else None,
    }


def check(a: np.ndarray, b: np.ndarray, atol: float, reference: Any, block: int) -> None:
    with mock.patch.object(scan_module, "BLOCK", block):
        found = scan(a, b, atol, reference)
    want = defined(a, b, atol, reference)
    assert {name: getattr(found, name) for name in want} == want


REFERENCES: dict[str, Callable[[np.ndarray, np.random.Generator], Any]] = {
    "none": lambda a, rng: None,
    "float64": lambda a, rng: 3 * a.astype(np.float64),
    "with NaN": lambda a, rng: _some(a.astype(np.float64), rng, 0.2, np.nan),
    "beyond float32": lambda a, rng: _some(a.astype(np.float64), rng, 0.2, 1e300),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("reference", REFERENCES)
def test_every_way_gives_the_definition(shape: str, dtype: str, reference: str) -> None:
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    with np.errstate(all="ignore"):
        rng = np.random.default_rng(0)
        made = rng.standard_normal(SIZE).astype(np.float64 if dtype == "float64" else np.float32)
        a, b = SHAPES[shape](made, rng)
        known = REFERENCES[reference](made, rng)
        a, b = a.astype(dtype), b.astype(dtype)
        for block, atol in ((16, 1e-7), (300, 0.0), (300, 1e-45), (1 << 16, 1e-7), (1 << 16, 1e-3)):
            check(a, b, atol, known, block)
        check(b, a, 1e-7, known, 300)


@pytest.mark.parametrize("shape", SHAPES)
def test_beside_a_wider_array(shape: str) -> None:
    with np.errstate(all="ignore"):
        rng = np.random.default_rng(0)
        a, b = SHAPES[shape](rng.standard_normal(SIZE).astype(np.float32), rng)
        for block in (500, 1 << 16):
            check(a, b.astype(np.float64), 1e-7, None, block)


@given(
    st.sampled_from(sorted(SHAPES)),
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 2**32 - 1),
    st.floats(-40, 38),
    st.sampled_from([16, 100, 1 << 16]),
)
def test_at_any_magnitude(shape: str, dtype: str, seed: int, power: float, block: int) -> None:
    with np.errstate(all="ignore"):
        rng = np.random.default_rng(seed)
        made = rng.standard_normal(400) * 10.0 ** rng.uniform(min(power, 0), max(power, 0), 400)
        a, b = SHAPES[shape](made.astype(dtype), rng)
        check(a, b, 1e-6, None, block)
        check(a, b, 1e-6, made, block)


def test_near_zero_the_larger_relative_gap_counts() -> None:
    a, b = np.float32([1, 2]) * np.float32(TINY), np.float32([3, 0]) * np.float32(TINY)
    assert scan(a, b, 1e-6).max_rel == 1.0


def test_a_gap_that_is_rounded_counts_beside_an_equal_one_that_is_not() -> None:
    a, b = np.float32([3, 1]), np.float32([2, -1e-9])
    assert scan(a, b, 1e-6).max_abs == 1 + float(np.float32(1e-9)) > 1


def test_the_larger_of_two_close_magnitudes_sets_the_scale() -> None:
    a, b = np.float32([2]), np.float32([2 + 2**-13])
    check(a, b, 2**-13 / (2 + 2**-14), None, 1 << 16)
    check(b, a, 2**-13 / (2 + 2**-14), None, 1 << 16)


def test_of_equal_shares_the_first_counts_in_and_across_blocks() -> None:
    a, b = np.ones(100, np.float32), np.ones(100, np.float32)
    b[[31, 32, 97]] += np.float32(0.5)
    for block in (8, 33, 1 << 16):
        check(a, b, 1e-6, None, block)
        check(a, b, 1e-6, np.ones(100), block)


def _integer_pairs(draw: st.DrawFn) -> Pair:
    dtype = draw(st.sampled_from(["bool", "int8", "uint8", "int32", "uint32", "int64", "uint64"]))
    kind = np.dtype(dtype)
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(kind).min, np.iinfo(kind).max)
    values = st.sampled_from([low, high]) | st.integers(int(low), int(high))
    size = draw(st.integers(1, 40))
    left = draw(st.lists(values, min_size=size, max_size=size))
    right = draw(st.lists(values, min_size=size, max_size=size))
    same = draw(st.integers(0, size))  # few or many that differ
    return np.array(left, kind), np.array(left[:same] + right[same:], kind)


@given(st.composite(_integer_pairs)(), st.sampled_from([0.0, 0.5, 3.0]), st.sampled_from([3, 64]))
def test_integers_are_those_of_python(pair: Pair, atol: float, block: int) -> None:
    a, b = pair
    gaps = [abs(int(x) - int(y)) for x, y in zip(a, b, strict=True)]
    sizes = [max(abs(int(x)), abs(int(y))) for x, y in zip(a, b, strict=True)]
    shares = [float(g) / max(1.0, float(s)) for g, s in zip(gaps, sizes, strict=True)]
    with mock.patch.object(scan_module, "BLOCK", block):
        found = scan(a, b, atol)
    assert found.max_abs == float(max(gaps))
    assert found.max_rel == max(
        float(g) / (float(s) or 1) for g, s in zip(gaps, sizes, strict=True)
    )
    assert (found.needed, found.worst) == (max(shares), shares.index(max(shares)))
    assert found.over == sum(share > atol for share in shares)


def test_two_threads_give_what_one_does() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal(scan_module.THREADED + 12_345).astype(np.float32)
    b = _rounding(a, rng)
    b[[70_000, 900_000]] = np.nan
    alone = scan_module.Pass(1e-7).run(scan_module._slices([a, b], 0, a.size))
    assert repr(scan(a, b, 1e-7)) == repr(alone)  # NaN is not equal to itself
    check(a, b, 1e-7, None, scan_module.BLOCK)
