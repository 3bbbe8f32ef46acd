"""``parity.compare`` and ``parity.assert_parity``: never an exception about the values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import parity
from parity.errors import InvalidInput, ParityError, ParityMismatch, VacuousComparison
from parity.verdict import Verdict

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.builds(object)
    | hnp.arrays(
        hnp.scalar_dtypes() | hnp.unicode_string_dtypes(), hnp.array_shapes(min_dims=0, max_side=3)
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=5,
)


@given(ANYTHING, ANYTHING, st.none() | ANYTHING)
def test_compare_never_raises(torch: Any, tf: Any, reference: Any) -> None:
    if sum(side is not None for side in (torch, tf, reference)) < 2:
        return
    report = parity.compare(torch=torch, tf=tf, reference=reference)
    assert str(report)
    assert report.to_json()


@pytest.mark.parametrize(
    "sides", [{}, {"torch": 1.0}, {"reference": 1.0}, {"torch": 1.0, "tf": None}]
)
def test_one_side_is_a_misuse(sides: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="needs two sides"):
        parity.compare(**sides)


def test_sides_by_any_name() -> None:
    report = parity.compare(jax=np.ones(3), tf=np.ones(3) * 2)
    assert set(report.sides) == {"jax", "tf"}
    assert not report.passed


def test_a_bare_number_is_a_tolerance() -> None:
    sides = {"torch": {"q": np.ones(3)}, "tf": {"q": np.ones(3) * 1.01}}
    assert parity.compare(**sides, tolerance=0.02).passed
    assert not parity.compare(**sides, tolerance=0.001).passed
    assert parity.compare(**sides, tolerance={"q": parity.Tolerance(0.02, "x")}).passed
    assert not parity.compare(**sides, tolerance={"v": parity.Tolerance(0.02, "x")}).passed


def test_a_leaf_without_numbers_is_a_finding() -> None:
    report = parity.compare(torch={"a": "text", "b": 1.0}, tf={"a": "text", "b": 1.0})
    assert not report.passed
    assert "unreadable" in str(report)


def test_assert_parity_returns_the_report() -> None:
    report = parity.assert_parity(torch=np.ones(3), tf=np.ones(3))
    assert (report.verdict, report.values_compared) == (parity.Verdict.AGREE, 3)


def test_assert_parity_raises_with_the_report() -> None:
    with pytest.raises(ParityMismatch, match="first difference: value") as caught:
        parity.assert_parity(torch=np.ones(3), tf=np.ones(3) * 2)
    assert caught.value.report.verdict is parity.Verdict.DIVERGE
    assert isinstance(caught.value, AssertionError)
    with pytest.raises(VacuousComparison) as vacuous:
        parity.assert_parity(torch=np.zeros(3), tf=np.zeros(3))
    assert isinstance(vacuous.value, ParityError)


def test_importing_parity_exports_what_it_says() -> None:
    assert all(hasattr(parity, name) for name in parity.__all__)
    assert len(parity.__all__) <= 12


@pytest.mark.parametrize(
    "array",
    [
        np.array([(1, 2.0)], dtype=[("step", "i4"), ("reward", "f4")]),
        np.rec.array([(1, 2.0)], dtype=[("step", "i4"), ("reward", "f4")]),
        np.array([b"ab"], dtype="V2"),
        np.ma.array([1.0, 2.0], mask=[False, True]),
    ],
    ids=["structured", "record", "void", "masked"],
)
def test_arrays_that_are_not_plain_numbers_are_findings(array: Any) -> None:
    report = parity.compare(torch={"a": array, "b": 1.0}, tf={"a": array.copy(), "b": 1.0})
    assert report.verdict is parity.Verdict.INVALID
    assert "unreadable: a of torch" in str(report)


def test_unreadable_on_one_side_is_not_missing_there() -> None:
    report = parity.compare(torch={"a": "text", "b": 1.0}, tf={"a": 2.0, "b": 1.0})
    assert report.verdict is parity.Verdict.INVALID
    assert "records no such entry" not in str(report)


def test_a_container_that_holds_itself_is_a_finding() -> None:
    loop: dict[str, Any] = {"a": np.ones(3)}
    loop["loop"] = loop
    report = parity.compare(torch=loop, tf={"a": np.ones(3)})
    assert report.verdict is parity.Verdict.INVALID
    assert "contains itself" in str(report)


def test_a_container_whose_own_code_raises_is_a_finding() -> None:
    class Broken(dict[str, Any]):
        def items(self) -> Any:
            raise KeyError("lazy")

    report = parity.compare(torch={"a": np.ones(3)}, tf=Broken(a=1))
    assert report.verdict is parity.Verdict.INVALID
    assert "KeyError" in str(report)


def test_two_views_of_one_memory_are_one_object() -> None:
    array = np.arange(1.0, 5.0)
    assert parity.compare(torch=array, tf=array[:]).verdict is parity.Verdict.INVALID
    assert parity.compare(torch=array, tf=array.copy()).passed
    assert parity.compare(torch=array[:3], tf=array[1:] - 1.0).passed


def test_a_torch_tensor_and_its_own_numpy_view_are_one_object() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(1.0, 5.0)
    assert parity.compare(torch=tensor, tf=tensor.numpy()).verdict is parity.Verdict.INVALID
    assert parity.compare(torch=tensor, tf=tensor.numpy().copy()).passed


def test_bounds_by_name_may_be_bare_numbers() -> None:
    sides = {"torch": {"q": np.ones(3)}, "tf": {"q": np.ones(3) * 1.01}}
    assert parity.compare(**sides, tolerance={"q": 0.02}).passed
    with pytest.raises(InvalidInput, match="expected a number or a Tolerance"):
        parity.compare(**sides, tolerance={"q": "0.02"})


def test_expect_zero_may_be_one_glob() -> None:
    sides = {"zeros": np.zeros(3), "q": np.ones(3)}
    copies = {name: array.copy() for name, array in sides.items()}
    assert parity.compare(torch=sides, tf=copies, expect_zero="zeros").passed


def test_json_is_strict_where_a_difference_overflows() -> None:
    report = parity.compare(torch=np.array([1.7e308]), tf=np.array([-1.7e308]))
    document = json.loads(report.to_json(), parse_constant=pytest.fail)
    assert document["max_abs"] == "inf"


def test_a_complex_reference_is_compared_as_such() -> None:
    sides = {"torch": np.array([1.0, 2.0]), "tf": np.array([1.0, 2.0]) + 0.0}
    assert parity.compare(**sides, reference=np.array([1 + 0j, 2 + 0j])).passed
    assert not parity.compare(**sides, reference=np.array([1 + 0j, 2 + 1j])).passed


def test_nan_throughout_proves_nothing() -> None:
    lost = {"loss": np.full(5, np.nan), "grad": np.arange(1.0, 4.0)}
    report = parity.compare(torch=lost, tf={n: a.copy() for n, a in lost.items()})
    assert report.verdict is Verdict.INVALID
    assert [p.kind for p in report.problems] == ["no-finite"]


def test_an_empty_list_is_not_compared_away() -> None:
    sides = [{"loss": np.array(0.5), "gradients": []} for _ in range(2)]
    report = parity.compare(torch=sides[0], tf=sides[1])
    assert report.verdict is Verdict.INVALID
    assert [(p.kind, p.name) for p in report.problems] == [("empty", "gradients")]
