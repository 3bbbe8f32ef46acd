"""The terminal summary, the JSON, and both under pytest-xdist."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.conftest import AGREEING, DIFFERING

ROW_KEYS = {
    *("id", "component", "case", "check", "dtype", "mode", "device", "verdict", "max_abs"),
    *("max_rel", "max_ulp", "allowed", "headroom", "values_compared", "first_divergence"),
    "causes",
}

MIXED = """
import numpy as np
import pytest

@pytest.mark.parametrize("size", [3, 13])
def test_agrees(parity, size):
    values = np.linspace(-1, 1, size)
    parity.compare("first", torch={"q": values}, tf={"q": values.copy()})
    parity.compare("second", torch={"q": values}, tf={"q": values.copy()})

def test_differs(parity):
    parity.compare(torch={"a": np.ones(3), "b": np.ones(3)},
                   tf={"a": np.ones(3), "b": np.array([1, np.inf, 1])})

def test_shapes(parity):
    parity.compare(torch=np.ones((13, 1)), tf=np.ones(13))

def test_skips(parity):
    parity.require("no_such_package")

def test_raises(parity):
    raise RuntimeError("no kernel for this device")
"""


def run_json(pytester: pytest.Pytester, *arguments: str) -> dict[str, Any]:
    pytester.runpytest("--parity-json=out/result.json", *arguments)
    document = json.loads(Path(pytester.path, "out", "result.json").read_text())
    assert isinstance(document, dict)
    return document


def test_json_holds_every_check(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mixed=MIXED)
    document = run_json(pytester)
    assert document["schema"] == 1
    totals = document["totals"]
    assert (totals["checks"], totals["agree"], totals["diverge"]) == (6, 4, 2)
    assert (totals["skipped"], totals["errors"], totals["values_compared"]) == (1, 1, 38)
    checks = {row["id"]: row for row in document["checks"]}
    assert set(checks) == {
        *(f"test_mixed.py::test_agrees[{n}]::{x}" for n in (3, 13) for x in ("first", "second")),
        *("test_mixed.py::test_differs", "test_mixed.py::test_shapes"),
    }
    for row in checks.values():
        assert set(row) >= ROW_KEYS
    row = checks["test_mixed.py::test_differs"]
    assert (row["component"], row["check"], row["dtype"]) == ("mixed", "differs", "float64")
    assert (row["verdict"], row["first_divergence"], row["causes"]) == ("diverge", "b", [])
    assert document["skipped"] == [
        {"id": "test_mixed.py::test_skips", "reason": "no_such_package is not installed"}
    ]
    assert document["errors"][0]["message"] == "RuntimeError: no kernel for this device"
    assert document["environment"]["numpy"]


def test_json_is_the_same_under_xdist(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(test_mixed=MIXED)
    alone, spread = run_json(pytester), run_json(pytester, "-n2")
    for part in ("totals", "checks", "skipped", "errors"):
        assert spread[part] == alone[part]


def test_json_is_strict(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import numpy as np\n"
        "def test_it(parity):\n"
        "    parity.compare(torch={'n': np.array([1, 2])}, tf={'n': np.array([1, 3])})"
    )
    pytester.runpytest("--parity-json=result.json")

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    text = Path(pytester.path, "result.json").read_text()
    row = json.loads(text, parse_constant=refuse)["checks"][0]
    assert row["headroom"] == "inf"
    assert row["allowed"] == 0


def test_json_replaces_the_file_whole(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AGREEING)
    Path(pytester.path, "out").mkdir()
    Path(pytester.path, "out", "result.json").write_text("old")
    assert run_json(pytester)["totals"]["checks"] == 1
    assert [p.name for p in Path(pytester.path, "out").iterdir()] == ["result.json"]


def test_json_of_a_run_without_checks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_other():\n    pass")
    document = run_json(pytester)
    assert document["checks"] == []
    assert document["totals"]["checks"] == 0


def test_json_path_is_checked_first(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AGREEING)
    result = pytester.runpytest("--parity-json=.")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*is a directory*"])


def test_json_that_cannot_be_written_fails_the_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AGREEING)
    Path(pytester.path, "file").write_text("")
    result = pytester.runpytest("--parity-json=file/result.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*cannot write*result.json*"])
    result.stdout.no_fnmatch_line("written: *")


def test_json_of_an_interrupted_run_says_so(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AGREEING + "\n\ndef test_z():\n    raise KeyboardInterrupt\n")
    result = pytester.runpytest_subprocess("--parity-json=result.json")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    document = json.loads(Path(pytester.path, "result.json").read_text())
    assert document["totals"]["agree"] == 1
    assert "interrupted" in document["errors"][0]["message"]


def test_a_path_relative_to_where_pytest_started(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        AGREEING.replace("def test", "import os\n\ndef test").replace(
            "    values", "    os.chdir('/')\n    values"
        )
    )
    result = pytester.runpytest_subprocess("--parity-json=result.json")
    assert result.ret == 0
    assert Path(pytester.path, "result.json").is_file()


def section(result: pytest.RunResult) -> list[str]:
    lines = result.stdout.lines
    start = next(i for i, line in enumerate(lines) if re.fullmatch(r"=+ parity =+", line))
    end = next(i for i, line in enumerate(lines[start + 1 :], start + 1) if line.startswith("=="))
    return lines[start + 1 : end]


def test_summary_has_a_line_per_component_and_check(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mixed=MIXED)
    lines = section(pytester.runpytest())
    titles = ["component", "check", "worst", "allowed", "used", "verdict", "values"]
    assert lines[0].split() == titles
    table = {line.split()[1]: line.split() for line in lines[1:5]}
    assert table["agrees/first"][2:] == ["0.0e+00", "1.0e-12", "0%", "agree", "16"]
    assert table["differs"][2] == "nan/inf"
    assert table["differs"][-2] == "diverge"
    assert table["shapes"][2] == "shape"
    assert lines[5] == "6 checks: 4 agree, 2 diverge; 38 values compared"
    assert lines[6] == "SKIPPED 1 check: no_such_package is not installed (1)"
    assert lines[7:9] == ["RAISED before a verdict: 1", "  test_mixed.py::test_raises"]


def test_summary_fits_80_columns(pytester: pytest.Pytester) -> None:
    name = "a_very_long_name_of_a_component_that_somebody_chose"
    source = AGREEING.replace("critic", f"{name}_and_its_check_which_is_longer_still")
    pytester.makepyfile(**{f"test_{name}": source, "test_mixed": MIXED})
    lines = section(pytester.runpytest())
    assert max(map(len, lines)) <= 80
    assert all(line.isascii() for line in lines)


def test_quiet_shows_only_what_does_not_agree(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mixed=MIXED)
    text = "\n".join(section(pytester.runpytest("-q")))
    assert "agrees/first" not in text
    assert "differs" in text
    assert "6 checks" in text


def test_no_section_without_checks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_other():\n    pass")
    assert "= parity =" not in pytester.runpytest().stdout.str()


@pytest.mark.parametrize(
    ("arguments", "environment", "coloured"),
    [
        ([], {}, False),
        (["--color=yes"], {}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
    ids=["no terminal", "asked for", "forced", "NO_COLOR"],
)
def test_colours_degrade(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    environment: dict[str, str],
    coloured: bool,
) -> None:
    monkeypatch.delenv("PY_COLORS")  # pytester sets it
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    pytester.makepyfile(DIFFERING)
    text = pytester.runpytest(*arguments).stdout.str()
    line = next(line for line in text.splitlines() if "1 check:" in line)
    assert ("\x1b[31m" in line) is coloured
    assert ("\x1b" in text) is coloured


def test_the_reproduce_command_works_when_pasted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        **{
            "sub/test_space": """
import numpy as np
import pytest

@pytest.mark.parametrize("case", ["it's [a] case", "another"])
def test_it(parity, case):
    parity.compare(torch=np.ones(3), tf=np.ones(3) * 2)
"""
        }
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=2)
    # under CI pytest's short summary repeats whole messages
    commands = list(dict.fromkeys(re.findall(r"reproduce: (.*)", result.stdout.str())))
    assert len(commands) == 2
    for command in commands:
        folder = Path(sys.executable).parent
        again = pytester.run("bash", "-c", f"PATH={folder}:$PATH; {command}")
        again.assert_outcomes(failed=1)
        assert f"reproduce: {command}" in again.stdout.str()
