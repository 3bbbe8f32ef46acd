"""Commands to a runner of GitHub Actions, and the place that they point at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parity.api import compare
from parity.github import Place, command, limited, of_report, user_place
from parity.report import Report

SOURCE = """import torch


def loss(q):
    return q.sum()


class Net:
    pass


head = Net()
"""


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / "port.py"
    path.write_text(SOURCE)
    return path


def report(**subject: Any) -> Report:
    q = np.linspace(0, 1, 7)
    made = compare(torch={"q": q}, tf={"q": q + 1e-3})
    return made.with_(subject=subject)


@pytest.mark.parametrize(
    ("message", "title", "said"),
    [
        ("a\nb", "t", "::error title=t::a%0Ab"),
        ("50% of\r\n1", "t", "::error title=t::50%25 of%0D%0A1"),
        ("a:b,c", "d:e,f", "::error title=d%3Ae%2Cf::a:b,c"),
        ("%0A", "%", "::error title=%25::%250A"),
        ("ok", "x::y\n::error::z", r"::error title=x%3A%3Ay\n%3A%3Aerror%3A%3Az::ok"),
    ],
)
def test_nothing_ends_a_command_early(message: str, title: str, said: str) -> None:
    assert command(message, title) == said


def test_a_file_name_is_a_property_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    said = command("m", "t", Place(str(tmp_path / "a,b:c%.py"), 3))
    assert said == "::error file=a%2Cb%3Ac%25.py,line=3,title=t::m"


def test_a_long_title_is_cut() -> None:
    assert len(command("m", "x" * 5000)) < 300


def test_few_are_left_alone_and_many_are_counted() -> None:
    assert limited(["a"] * 10) == ["a"] * 10
    assert len(limited(["a"] * 11)) == 10
    assert "2 more checks" in limited(["a"] * 11)[-1]


def test_the_line_of_the_cause_leads(port: Path) -> None:
    made = report(torch="sub/port.py:Net", tf="sub/port.py:loss", tf_line="port.py:1: x")
    caused = made.with_(causes=({"cause": "sum", "place": "port.py:5", "fix": "a, b"},))
    assert user_place(caused) == Place("sub/port.py", 5)
    said = of_report(caused)
    assert said.startswith("::error file=sub/port.py,line=5,title=parity%3A diverge%2C sum::")
    assert said.endswith("%0Afix: a, b")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("subject", "line"),
    [
        ({"tf_line": "port.py:5: q.sum()", "torch": "sub/port.py:Net"}, 5),
        ({"table": [{"verdict": "agree", "where": {"torch": "sub/port.py:1: x"}},
                    {"verdict": "differs", "where": {"torch": "sub/port.py:9: y"}}]}, 9),
        ({"source": {"torch": "sub/port.py:4", "reference": "sub/port.py:1"}}, 4),
        ({"torch": "sub/port.py:loss", "tf": "sub/port.py:Net"}, 8),
        ({"torch": "sub/port.py:loss", "tf": "sub/port.py:head"}, 12),
        ({"torch": "sub/port.py:loss", "tf": "gone.trace"}, 4),
        ({"tf": "sub/port.py:imported_elsewhere"}, 1),
    ],
)  # fmt: skip
def test_else_the_line_of_the_first_difference_else_of_a_side(
    port: Path, subject: dict[str, Any], line: int
) -> None:
    place = user_place(report(**subject))
    assert place is not None
    assert (Path(place.file).resolve(), place.line) == (port, line)


def test_no_line_is_made_up(port: Path) -> None:
    made = report(tf_line="elsewhere.py:5: x", torch="torch", tf="package.module:name")
    assert user_place(made.with_(causes=({"cause": "x", "place": "norm"},))) is None
    here = Place("sub/port.py", 2)
    assert "file=sub/port.py,line=2" in of_report(made, fallback=here)
    near = user_place(report(tf_line="port.py:5: x"), near=[port])
    assert near == Place(str(port), 5)
