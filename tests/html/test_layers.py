"""The trees of layers: what is one row, what folds, what a folded group says."""

from __future__ import annotations

from typing import Any

import pytest

from parity.html.layers import SHUT, layer_rows, owner, tree


def subject(pairs: list[tuple[str, str]], **more: Any) -> dict[str, Any]:
    return {"layers": [{"torch": t, "tf": k, "kind": "dense"} for t, k in pairs], **more}


def drawn(pairs: list[tuple[str, str]], **more: Any) -> list[str]:
    """The rows as text: both names, each behind its own indentation."""
    return [
        " | ".join("  " * row["indent"][side] + row["names"][side] for side in (0, 1))
        for row in tree(layer_rows(subject(pairs, **more), {}))
    ]


def test_containers_of_both_sides_are_one_row() -> None:
    assert drawn([("enc.0", "blocks/a"), ("enc.1", "blocks/b"), ("head", "out")]) == [
        "enc | blocks",
        "  0 |   a",
        "  1 |   b",
        "head | out",
    ]


def test_a_flat_side_stands_beside_a_deep_one() -> None:
    assert drawn([("0", "net/enc/a"), ("1", "net/enc/b"), ("2", "net/out")]) == [
        " | net",
        " |   enc",
        "0 |     a",
        "1 |     b",
        "2 |   out",
    ]


def test_containers_that_cross_keep_the_order_of_execution() -> None:
    made = drawn([("a.0", "x"), ("a.1", "p/y"), ("a.2", "p/z"), ("b", "p/w")])
    assert made == ["a | ", "  0 | x", "   | p", "  1 |   y", "  2 |   z", "b | p/w"]


def test_layers_without_partner_stand_where_they_ran() -> None:
    made = drawn(
        [("0", "a"), ("2", "b")],
        only_torch=["1", "3"],
        only_tf=["drop"],
        only_at={"torch": [1, 2], "tf": [0]},
    )
    assert made == [" | drop", "0 | a", "1 | ", "2 | b", "3 | "]


def test_a_group_says_the_worst_of_its_layers() -> None:
    told = subject([("enc.0", "a"), ("enc.1", "b")])
    told["table"] = [
        {"torch": "enc.0", "tf": "a", "local": 1e-16, "verdict": "agree"},
        {"torch": "enc.1", "tf": "b", "local": 0.5, "verdict": "differs"},
    ]
    entries = {
        "forward/enc.1/output": {"name": "forward/enc.1/output", "index": 3, "max_abs": 0.5,
                                 "max_abs64": None, "headroom": float("nan"), "level": 4},
        "grad/enc.0/kernel": {"name": "grad/enc.0/kernel", "index": 5, "max_abs": 1.0,
                              "max_abs64": None, "headroom": 12.0, "level": 3},
    }  # fmt: skip
    group, first, second = tree(layer_rows(told, entries))
    assert (group["level"], group["verdict"], group["local64"]) == (4, "differs inside", 0.5)
    assert group["headroom"] != group["headroom"], "NaN is the worst"
    assert (first["gradient"], first["gradient_index"], first["level"]) == (12.0, 5, 0)
    assert (second["verdict"], second["index"]) == ("differs here", 3)


def test_a_long_tree_opens_where_the_sides_part() -> None:
    pairs = [(f"{part}.{i}", f"{part}/{i}") for part in "abc" for i in range(SHUT)]
    told = subject(pairs, table=[{"torch": "b.7", "tf": "b/7", "verdict": "input"}])
    groups = [row for row in tree(layer_rows(told, {})) if row["group"]]
    assert [row["open"] for row in groups] == [False, True, False]


@pytest.mark.parametrize("name", ["", ".", "a..b", "/", "x" * 5000, "a." * 5000])
def test_odd_names_make_no_odd_trees(name: str) -> None:
    rows = tree(layer_rows(subject([(name, name), (f"{name}b", f"{name}c")]), {}))
    assert len([row for row in rows if not row["group"]]) == 2
    assert max(row["depth"] for row in rows) <= 31


def test_an_entry_belongs_to_its_layer() -> None:
    layers = {"enc/0", "enc/0/norm", "b"}
    assert owner("grad/enc/0/norm/gamma", layers) == "enc/0/norm"
    assert owner("forward/enc/0/output", layers) == "enc/0"
    assert owner("output/0", layers) == ""
