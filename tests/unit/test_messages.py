"""Every kind of message, against a text that a person has read.

``python -m tests.support.messages`` writes the texts anew; its diff is what users will see.
"""

from __future__ import annotations

import pytest
from click import unstyle
from rich.cells import cell_len

from parity import message, message_layers
from parity.message import WIDTH, render
from parity.verdict import Verdict
from tests.support.messages import FOLDER, MESSAGES, texts


@pytest.fixture(scope="module")
def rendered() -> dict[str, str]:
    return texts()


def test_the_kept_texts_are_these(rendered: dict[str, str]) -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == sorted(rendered)


@pytest.mark.parametrize("name", [*MESSAGES, "tier-v", "tier-vv"])
def test_a_message_reads_as_it_did(rendered: dict[str, str], name: str) -> None:
    kept = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert rendered[name] + "\n" == kept, "if it is meant: python -m tests.support.messages"


@pytest.mark.parametrize("name", [*MESSAGES, "tier-v", "tier-vv"])
def test_no_line_is_wider_than_a_terminal(rendered: dict[str, str], name: str) -> None:
    lines = [line for line in rendered[name].splitlines() if not line.startswith("reproduce: ")]
    assert max(map(cell_len, lines)) <= WIDTH
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("name", MESSAGES)
def test_colours_change_nothing_but_colours(rendered: dict[str, str], name: str) -> None:
    coloured = render(MESSAGES[name](), colour=True)
    assert "\x1b[" in coloured.splitlines()[0]
    assert unstyle(coloured) == rendered[name]
    assert "\x1b" not in rendered[name]


def test_every_kind_is_among_them() -> None:
    made = [make() for make in MESSAGES.values()]
    kinds = {problem.kind for report in made for problem in report.problems}
    assert {*message._PROBLEMS, *message_layers.PROBLEMS} <= kinds
    assert {report.verdict for report in made} == set(Verdict)
    problems = {d.problem for r in made for e in r.entries for d in e.differences}
    assert problems >= {None, "values", "non-finite", "dtype", "shape", "missing"}
    assert {d.statistic for r in made for e in r.entries for d in e.differences} != {None}


def test_three_lines_of_a_difference_are_enough(rendered: dict[str, str]) -> None:
    head = rendered["verdict-diverge"].splitlines()[:3]
    assert head[0].startswith("DIVERGE")
    assert head[1].startswith("first difference: loss")
    assert head[2].split() == ["torch", "0.25", "tf", "0.5"]
