"""One pair of arrays: smoke, dtype, shape, values; then properties against a naive loop."""

from __future__ import annotations

import math
import sys
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parity.compare import compare_arrays
from parity.tolerance import EXACT, Tolerance, default_tolerance

scan_module = sys.modules["parity.scan"]
LOOSE = Tolerance(1e-3, "a test's own")
F32 = default_tolerance("float32")


def differ(left: Any, right: Any, tolerance: Tolerance = LOOSE, **arguments: Any) -> Any:
    return compare_arrays(np.asarray(left), np.asarray(right), tolerance=tolerance, **arguments)


class TestAttributes:
    def test_equal_arrays_agree(self) -> None:
        d = differ([1.0, 2.0], [1.0, 2.0])
        assert (d.problem, d.agrees, d.size, d.over, d.max_abs) == (None, True, 2, 0, 0.0)

    def test_an_absent_side_is_missing(self) -> None:
        d = compare_arrays(np.ones(3), None, tolerance=LOOSE)
        assert (d.problem, d.size, d.structural) == ("missing", 0, True)
        assert d.shapes == ((3,), None)

    @pytest.mark.parametrize(
        ("left", "right"), [((13,), (13, 1)), ((7, 13), (13, 7)), ((), (1,)), ((0,), (1,))]
    )
    def test_shapes_must_be_equal(self, left: tuple[int, ...], right: tuple[int, ...]) -> None:
        d = differ(np.ones(left), np.ones(right))
        assert (d.problem, d.shapes, d.size) == ("shape", (left, right), 0)

    @pytest.mark.parametrize(
        ("left", "right"),
        [("float32", "float64"), ("int32", "int64"), ("bool", "int64"), ("int64", "float64")],
    )
    def test_dtypes_must_be_equal(self, left: str, right: str) -> None:
        d = differ(np.ones(3, left), np.ones(3, right))
        assert (d.problem, d.dtypes) == ("dtype", (left, right))

    def test_the_oracle_may_be_wider_but_not_of_another_kind(self) -> None:
        assert differ(np.ones(3, "float32"), np.ones(3), check_dtype=False).agrees
        d = differ(np.ones(3, "int64"), np.ones(3), check_dtype=False)
        assert d.problem == "dtype"

    def test_empty_arrays_compare_nothing(self) -> None:
        d = differ(np.ones((0, 3)), np.ones((0, 3)))
        assert (d.agrees, d.size, d.zero) == (True, 0, True)

    def test_scalars_have_an_empty_index(self) -> None:
        d = differ(1.0, 2.0)
        assert (d.problem, d.worst, d.values) == ("values", (), (1.0, 2.0))


class TestValues:
    def test_the_bound_is_inclusive(self) -> None:
        assert differ([0.0], [0.5], Tolerance(0.5, "half")).agrees
        assert not differ([0.0], [np.nextafter(0.5, 1)], Tolerance(0.5, "half")).agrees

    def test_absolute_up_to_one_and_relative_above(self) -> None:
        assert differ([0.01], [0.0109]).agrees
        assert not differ([0.01], [0.0111]).agrees
        assert differ([1000.0], [1000.9]).agrees
        assert not differ([1000.0], [1001.1]).agrees

    def test_the_reference_sets_the_scale(self) -> None:
        values = ([10.0], [10.005])
        assert differ(*values).agrees
        d = differ(*values, reference=np.array([0.5]))
        assert (d.problem, d.allowed) == ("values", 1e-3)
        assert d.needed == pytest.approx(0.005)

    def test_a_reference_of_another_shape_sets_none(self) -> None:
        assert differ([10.0], [10.005], reference=np.ones((2, 2))).agrees

    def test_the_worst_is_the_largest_share_not_the_largest_error(self) -> None:
        d = differ([0.0, 1000.0], [0.01, 1000.5])
        assert (d.worst, d.values) == ((0,), (0.0, 0.01))
        assert (d.max_abs, d.over) == (0.5, 1)

    def test_integers_are_exact(self) -> None:
        big = 2**62
        d = differ(np.array([big]), np.array([big + 1]), EXACT)
        assert (d.problem, d.over, d.max_abs, d.headroom) == ("values", 1, 1.0, math.inf)

    def test_unsigned_integers_do_not_wrap(self) -> None:
        d = differ(np.array([0], "uint64"), np.array([2**64 - 1], "uint64"), EXACT)
        assert d.max_abs == float(2**64 - 1)

    def test_the_smallest_integer_has_a_magnitude(self) -> None:
        low = np.iinfo(np.int64).min
        d = differ(np.array([low]), np.array([low + 1]), EXACT)
        assert (d.problem, d.max_abs) == ("values", 1.0)

    def test_booleans(self) -> None:
        d = differ([True, False, True], [True, True, True], EXACT)
        assert (d.problem, d.over, d.worst, d.values) == ("values", 1, (1,), (0.0, 1.0))

    def test_complex_values_use_the_modulus(self) -> None:
        d = differ([3 + 4j, 1j], [3 + 4j, 2j], reference=np.array([3 + 4j, 1j]))
        assert (d.problem, d.max_abs, d.worst) == ("values", 1.0, (1,))

    def test_bfloat16(self) -> None:
        ml_dtypes = pytest.importorskip("ml_dtypes")
        left = np.array([1.0, 2.0], ml_dtypes.bfloat16)
        right = np.array([1.0, 2.5], ml_dtypes.bfloat16)
        d = compare_arrays(left, right, tolerance=default_tolerance("bfloat16"))
        assert (d.problem, d.over, d.max_abs) == ("values", 1, 0.5)

    def test_overflow_of_the_difference_is_a_difference(self) -> None:
        d = differ([1e308], [-1e308])
        assert (d.problem, d.max_abs) == ("values", math.inf)


class TestNonFinite:
    def test_same_places_agree(self) -> None:
        values = [np.nan, np.inf, -np.inf, 1.0]
        assert differ(values, values).agrees
        assert differ(values, [np.nan, np.inf, -np.inf, 1.0005]).agrees

    @pytest.mark.parametrize(
        ("left", "right"),
        [(np.nan, 1.0), (np.inf, 1.0), (np.inf, -np.inf), (np.nan, np.inf), (1.0, -np.inf)],
    )
    def test_one_side_only_is_a_difference(self, left: float, right: float) -> None:
        d = differ([0.5, 5.0, left], [0.5, 6.0, right])
        assert (d.problem, d.structural, d.worst) == ("non-finite", True, (2,))
        assert d.over == 2  # the value as well
        assert d.max_abs == 1.0

    def test_the_first_bad_place_is_named(self) -> None:
        with mock.patch.object(scan_module, "BLOCK", 2):
            d = differ([9.0, 1.0, 1.0, np.nan, np.nan], [1.0, 1.0, np.nan, 1.0, np.nan])
        assert (d.worst, d.over) == ((2,), 3)

    def test_a_non_finite_reference_sets_no_scale(self) -> None:
        d = differ([1.0], [1.002], reference=np.array([np.inf]))
        assert d.problem == "values"


class TestUlp:
    def test_steps_between_float32_values(self) -> None:
        left = np.array([1.0, -1.0, 1e-40, 3e38], np.float32)
        right = left
        for _ in range(5):
            right = np.nextafter(right, np.float32(np.inf))
        assert differ(left, right).max_ulp == 5

    def test_across_zero(self) -> None:
        tiny = np.nextafter(np.float32(0), np.float32(1))
        assert differ(np.array([-tiny]), np.array([tiny])).max_ulp == 2
        assert differ(np.array([-0.0], "float32"), np.array([0.0], "float32")).max_ulp == 0

    @given(st.lists(hnp.from_dtype(np.dtype("float16")), min_size=2, max_size=2))
    def test_against_the_list_of_all_float16(self, pair: list[np.float16]) -> None:
        every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
        every = np.unique(every[np.isfinite(every)])  # sorted; both zeros are one
        d = differ(np.array(pair[:1]), np.array(pair[1:]), Tolerance(1e9, "any"))
        if all(np.isfinite(pair)):
            places = np.searchsorted(every, np.array(pair))
            assert d.max_ulp == abs(int(places[0]) - int(places[1]))
        else:
            assert d.max_ulp == 0


def naive(left: np.ndarray, right: np.ndarray, atol: float, scale: np.ndarray | None) -> dict:
    """The definition, element by element, in Python floats."""
    found = {"over": 0, "bad": 0, "max_abs": 0.0, "needed": 0.0, "max_rel": 0.0}
    first_bad = worst = None
    for index in np.ndindex(left.shape):
        a, b = float(left[index]), float(right[index])
        if a == b or (math.isnan(a) and math.isnan(b)):
            continue
        if not (math.isfinite(a) and math.isfinite(b)):
            found["bad"] += 1
            first_bad = first_bad or index
            continue
        gap, size = abs(a - b), max(abs(a), abs(b))
        known = size if scale is None or not math.isfinite(scale[index]) else abs(scale[index])
        share = gap / max(1.0, float(known))
        found["over"] += share > atol
        found["max_abs"] = max(found["max_abs"], gap)
        found["max_rel"] = max(found["max_rel"], gap / size)
        if share > found["needed"]:
            found["needed"], worst = share, index
    return {**found, "worst": first_bad or worst}


SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
ELEMENTS = st.one_of(
    st.floats(-4, 4, width=32),
    st.floats(width=32),
    st.sampled_from([0.0, -0.0, 1.0, math.nan, math.inf, -math.inf]),
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    dtype, shape = draw(st.sampled_from(["float32", "float64"])), draw(SHAPES)
    left = draw(hnp.arrays(dtype, shape, elements=ELEMENTS))
    other = draw(hnp.arrays(dtype, shape, elements=ELEMENTS))
    same = draw(hnp.arrays(bool, shape))
    right = np.where(same, left, other).astype(dtype)
    scale = draw(st.none() | hnp.arrays("float64", shape, elements=ELEMENTS))
    return left, right, scale


@given(pairs(), st.sampled_from([0.0, 1e-6, 0.1, 2.0]), st.sampled_from([1, 3, 1 << 16]))
def test_the_blocked_pass_is_the_definition(
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray | None], atol: float, block: int
) -> None:
    left, right, scale = arrays
    with mock.patch.object(scan_module, "BLOCK", block):
        d = differ(left, right, Tolerance(atol, "drawn"), reference=scale)
    want = naive(left, right, atol, scale)
    assert d.size == left.size
    assert d.over == want["over"] + want["bad"]
    assert (d.max_abs, d.needed, d.max_rel) == (want["max_abs"], want["needed"], want["max_rel"])
    assert d.problem == ("non-finite" if want["bad"] else "values" if want["over"] else None)
    assert d.zero == (not left.any() and not right.any())
    if want["worst"] is not None:
        assert d.worst == want["worst"]
        assert np.array_equal(d.values, (left[d.worst], right[d.worst]), equal_nan=True)


def test_a_value_and_its_scale_that_are_no_numbers_count_once() -> None:
    nan = np.full(3, np.nan)
    d = differ(np.float32([0.0, 1.0, 2.0]), np.float32([np.nan, 1.0, 2.5]), F32, reference=nan)
    assert (d.problem, d.over) == ("non-finite", 2)


@given(pairs())
def test_comparing_is_symmetric(
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray | None],
) -> None:
    left, right, _ = arrays
    one, other = differ(left, right), differ(right, left)
    for name in ("problem", "over", "max_abs", "max_rel", "max_ulp", "headroom", "worst", "zero"):
        assert getattr(one, name) == getattr(other, name)


@given(pairs())
def test_what_is_needed_passes_and_less_does_not(
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray | None],
) -> None:
    left, right, scale = arrays
    d = differ(left, right, F32, reference=scale)
    if d.problem == "non-finite" or not math.isfinite(d.needed):
        return
    assert differ(left, right, Tolerance(d.needed, "needed"), reference=scale).agrees
    if d.needed:
        less = Tolerance(float(np.nextafter(d.needed, 0)), "just less")
        assert not differ(left, right, less, reference=scale).agrees


def test_inputs_are_left_alone() -> None:
    left, right = np.array([1.0, np.nan]), np.array([2.0, 1.0])
    copies = left.copy(), right.copy()
    differ(left, right)
    np.testing.assert_array_equal((left, right), copies)


def test_strided_views() -> None:
    base = np.arange(24.0).reshape(4, 6)
    assert differ(base.T, base.T.copy()).agrees
    changed = base.T.copy()
    changed[5, 2] += 1
    assert differ(base.T, changed).worst == (5, 2)


@pytest.mark.parametrize("shape", [(300, 700), (70_000, 3), (3, 70_000), (1500, 1300)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrices_stored_by_columns_give_the_same(shape: tuple[int, int], dtype: Any) -> None:
    rng = np.random.default_rng(0)
    left = rng.standard_normal(shape).astype(dtype)
    right = left + rng.standard_normal(shape).astype(dtype) * dtype(1e-6)
    for row in (0, 2, shape[0] - 1):  # of equal shares the first one counts
        left[row, 1], right[row, 1] = 1.0, 2.0
    right[-1, -1] = np.nan
    turned = np.asfortranarray(left), np.asfortranarray(right)
    exact = left.astype(np.float64)
    for reference in (None, exact, np.asfortranarray(exact)):
        expected = differ(left, right, F32, reference=reference)
        assert expected.problem == "non-finite" and expected.over > 3
        for a in (left, turned[0]):
            for b in (right, turned[1]):
                assert repr(differ(a, b, F32, reference=reference)) == repr(expected)
    first = differ(turned[0][:2], right[:2], F32).worst
    assert first == (0, 1)
