"""The notebooks of the examples: their cells run in order, and what they show is rich."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("**/*.ipynb"))


def code_cells(path: Path) -> list[str]:
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["nbformat"] == 4
    cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells), "outputs are not kept: they would age"
    return ["".join(cell["source"]) for cell in cells]


def run(sources: list[str]) -> list[Any]:
    """The value that each cell ends with, as a notebook would show it; None where it has none."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for source in sources:
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<cell>", "exec"), scope)
        shown.append(
            None
            if last is None
            else eval(compile(ast.Expression(last.value), "<cell>", "eval"), scope)
        )
    return shown


def test_there_is_one() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path: Path) -> None:
    shown = run(code_cells(path))
    rich = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(rich) == 2, "a trace and a report"
    trace, report = rich
    assert "critic/q" in trace
    assert "<table" in trace
    assert "DIVERGE" in report
    assert "loss" in report
    assert shown[-1] == ("diverge", "loss")
