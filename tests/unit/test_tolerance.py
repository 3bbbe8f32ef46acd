"""Bounds and verdicts: the two places that decide."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from parity.errors import InvalidInput
from parity.tolerance import (
    DEFAULTS,
    EXACT,
    Tolerance,
    default_tolerance,
    float32_rounding_bound,
)
from parity.verdict import Verdict, decide


@pytest.mark.parametrize("atol", [-1e-9, math.nan, math.inf, -math.inf])
def test_a_bound_is_a_finite_number_of_at_least_zero(atol: float) -> None:
    with pytest.raises(InvalidInput, match="atol="):
        Tolerance(atol, "because")


@pytest.mark.parametrize("because", ["", "  \n"])
def test_a_bound_has_a_reason(because: str) -> None:
    with pytest.raises(InvalidInput, match="needs a reason"):
        Tolerance(1e-6, because)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("float32", "float32"),
        (np.dtype("float64"), "float64"),
        ("complex64", "float32"),
        ("complex128", "float64"),
        ("longdouble", "float64"),
        ("bfloat16", "bfloat16"),
    ],
)
def test_the_default_of_a_dtype(dtype: str | np.dtype, name: str) -> None:
    assert default_tolerance(dtype) is DEFAULTS[name]


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64", "bool"])
def test_integers_are_exact(dtype: str) -> None:
    assert default_tolerance(dtype) is EXACT
    assert EXACT.atol == 0


@pytest.mark.parametrize("dtype", ["object", "U3", "datetime64[s]"])
def test_other_dtypes_have_none(dtype: str) -> None:
    with pytest.raises(InvalidInput, match="holds no numbers"):
        default_tolerance(dtype)


def test_the_promise_of_the_project() -> None:
    """1e-6 in float32 and 1e-12 in float64: a change here is a change of what is promised."""
    assert (DEFAULTS["float32"].atol, DEFAULTS["float64"].atol) == (1e-6, 1e-12)


def test_rounding_grows_with_the_scale() -> None:
    eps = float(np.finfo(np.float32).eps)
    assert float32_rounding_bound(0.1) == 16 * eps
    assert float32_rounding_bound(1e5, operations=2) == 2 * eps * 1e5


TABLE = {
    # float32, float64: verdict
    (True, True): Verdict.AGREE,
    (True, False): Verdict.LATENT,
    (False, True): Verdict.ROUNDING,
    (False, False): Verdict.DIVERGE,
    (True, None): Verdict.AGREE,
    (False, None): Verdict.DIVERGE,
    (None, True): Verdict.AGREE,
    (None, False): Verdict.DIVERGE,
}


@pytest.mark.parametrize(("runs", "verdict"), list(TABLE.items()))
def test_the_verdict_follows_from_both_precisions(
    runs: tuple[bool | None, bool | None], verdict: Verdict
) -> None:
    assert decide(valid=True, within_float32=runs[0], within_float64=runs[1]) is verdict


@pytest.mark.parametrize("runs", list(itertools.product([True, False, None], repeat=2)))
def test_nothing_excuses_structure_or_vacuity(runs: tuple[bool | None, bool | None]) -> None:
    within = {"within_float32": runs[0], "within_float64": runs[1]}
    assert decide(valid=True, structural=True, **within) is Verdict.DIVERGE
    assert decide(valid=False, **within) is Verdict.INVALID


def test_no_run_at_all_is_no_agreement() -> None:
    assert not decide(valid=True, within_float32=None, within_float64=None).passes


def test_which_verdicts_pass() -> None:
    passing = {verdict for verdict in Verdict if verdict.passes}
    assert passing == {Verdict.AGREE, Verdict.ROUNDING, Verdict.CHAOS}
    assert str(Verdict.AGREE) == f"{Verdict.AGREE}" == "agree"
