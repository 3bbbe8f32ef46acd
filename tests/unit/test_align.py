"""Pairing names: in execution order, and never silently."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from parity.align import merge_order, unmatched
from parity.trace import Trace

NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True)


def trace(*names: str) -> Trace:
    return Trace(dict.fromkeys(names, 1.0))


def test_equal_orders() -> None:
    assert merge_order([["a", "b"], ["a", "b"]]) == ["a", "b"]


def test_an_extra_name_keeps_its_place() -> None:
    assert merge_order([["a", "c"], ["a", "b", "c"]]) == ["a", "b", "c"]
    assert merge_order([["b"], ["a", "b"]]) == ["a", "b"]
    assert merge_order([["a"], ["a", "b"]]) == ["a", "b"]


def test_the_first_order_leads() -> None:
    assert merge_order([["a", "b"], ["b", "a"]]) == ["a", "b"]


def test_nothing() -> None:
    assert merge_order([]) == []
    assert merge_order([[], []]) == []


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_every_name_once_and_the_first_in_order(orders: list[list[str]]) -> None:
    merged = merge_order(orders)
    assert sorted(merged) == sorted(set().union(*orders))
    assert [name for name in merged if name in orders[0]] == orders[0]


@given(NAMES, st.data())
def test_consistent_orders_are_all_kept(order: list[str], data: st.DataObject) -> None:
    """Two sides that each lack some entries of one execution: both orders survive."""
    parts = [[n for n in order if data.draw(st.booleans())] for _ in range(2)]
    merged = merge_order(parts)
    for part in parts:
        assert [name for name in merged if name in part] == part


def test_matched_traces_have_no_findings() -> None:
    assert unmatched({"torch": trace("a", "b"), "tf": trace("b", "a")}) == []


def test_a_missing_entry_is_found_with_the_nearest_name() -> None:
    found = unmatched({"torch": trace("l1/kernel"), "tf": trace("l1/kernle", "x")})
    assert [(u.name, u.present, u.missing) for u in found] == [
        ("l1/kernle", ("tf",), ("torch",)),
        ("x", ("tf",), ("torch",)),
        ("l1/kernel", ("torch",), ("tf",)),
    ]
    assert found[0].suggestion == "l1/kernel"
    assert found[1].suggestion is None
    assert found[2].suggestion == "l1/kernle"


def test_three_sides() -> None:
    sides = {"torch": trace("a"), "tf": trace("a", "b"), "reference": trace("a", "b")}
    (one,) = unmatched(sides)
    assert (one.name, one.present, one.missing) == ("b", ("tf", "reference"), ("torch",))
