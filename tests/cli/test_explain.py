"""``parity explain``, ``init`` and ``completion``, as a user runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from parity.cli import main
from parity.cli_explain import entries
from parity.diagnose.causes import CAUSES


def run(*arguments: str, answers: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=answers)


@pytest.mark.parametrize("name", sorted(entries()))
def test_every_cause_has_a_page_that_fits(name: str) -> None:
    result = run("explain", name)
    assert result.exit_code == 0, result.output
    lines = result.output.rstrip("\n").splitlines()
    assert lines[0].strip() == name
    assert "Symptom:" in result.output
    assert "Fix:" in result.output
    assert not [line for line in lines if len(line) > 80]
    assert not re.search(r"\]\(|<a ", result.output), "links lead nowhere in a terminal"


def test_every_cause_of_the_catalogue_and_of_the_page_is_listed() -> None:
    result = run("explain")
    listed = {line.split()[0] for line in result.output.splitlines() if "  " in line}
    assert set(CAUSES) | {"norm-epsilon", "gate-order"} <= listed
    assert not [line for line in result.output.splitlines() if len(line) > 80]


def test_a_link_of_a_report_may_be_pasted() -> None:
    assert (
        run("explain", "docs/porting.md#norm-epsilon").output
        == run("explain", "norm-epsilon").output
    )


def test_a_word_finds_every_cause_that_says_it() -> None:
    found = json.loads(run("explain", "reset_after", "--json").output)
    assert found
    assert all(set(e) == {"cause", "title", "symptom", "fix", "docs"} for e in found)


@pytest.mark.parametrize(
    ("asked", "meant"), [("nrm-epsilon", "norm-epsilon"), ("los-reduction", "loss-reduction")]
)
def test_a_misspelt_cause_is_refused_with_its_neighbour(asked: str, meant: str) -> None:
    result = run("explain", asked)
    assert result.exit_code == 2
    assert meant in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("asked", ["", "   ", "\x1b[31m", "x" * 5000])
def test_nonsense_is_refused(asked: str) -> None:
    assert run("explain", asked).exit_code == 2


def test_init_writes_a_test_that_compiles_and_a_workflow_that_parses(tmp_path: Path) -> None:
    result = run(
        "init", "--torch", "port.py:a", "--tf", "pkg.mod:b", "--workflow", "--dir", str(tmp_path)
    )
    assert result.exit_code == 0, result.output
    text = (tmp_path / "tests" / "test_parity.py").read_text()
    compile(text, "test_parity.py", "exec")
    assert 'parity.check("port.py:a", "pkg.mod:b", inputs())' in text
    flow = yaml.safe_load((tmp_path / ".github" / "workflows" / "parity.yml").read_text())
    assert any("pytest -m parity" in str(s.get("run")) for s in flow["jobs"]["parity"]["steps"])


def test_init_asks_for_what_is_missing(tmp_path: Path) -> None:
    result = run("init", "--dir", str(tmp_path), answers="port.py:a\nport.py:b\nn\n")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "tests" / "test_parity.py").exists()
    assert not (tmp_path / ".github").exists()


@pytest.mark.parametrize("present", ["tests/test_parity.py", ".github/workflows/parity.yml"])
def test_init_never_overwrites_and_writes_nothing_then(tmp_path: Path, present: str) -> None:
    kept = tmp_path / present
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    result = run(
        "init", "--torch", "p.py:a", "--tf", "p.py:b", "--workflow", "--dir", str(tmp_path)
    )
    assert result.exit_code == 2
    assert present in result.output
    assert kept.read_text() == "mine"
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [kept]


@pytest.mark.parametrize(
    "side", ["port.py", "port.py:", ":name", "a b.py:c", 'x.py:a"); import os']
)
def test_init_refuses_what_names_no_side(tmp_path: Path, side: str) -> None:
    result = run("init", "--torch", side, "--tf", "p.py:b", "--no-workflow", "--dir", str(tmp_path))
    assert result.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_init_without_a_terminal_says_which_options(tmp_path: Path) -> None:
    result = run("init", "--dir", str(tmp_path), answers="")
    assert result.exit_code == 2
    assert "--torch" in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_its_shell(shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"{shell}_source" in result.output
