"""The workflow and the hook that ``docs/ci.md`` ships: their shell steps run, and judge rightly.

Only what would install something has a stand-in; pytest, the plugin and the gate are the real ones.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parity.accepted import read_accepted
from parity.requirements import missing

PAGE = Path(__file__).parents[2] / "docs" / "ci.md"
TEST = """
import numpy as np

def test_loss(parity):
    q = np.linspace(-1, 1, 13)
    parity.compare(torch={"loss": q ** 2}, tf={"loss": q * q * (1 + 2e-14)})

def test_target(parity):
    r_t = np.linspace(0, 1, 7)
    parity.compare(torch={"target": r_t + 0.5}, tf={"target": 0.5 + r_t})
"""

pytestmark = pytest.mark.skipif(bool(missing(("torch", "tf"))), reason="the workflow needs both")


def block(language: str, first: str = "") -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return next(text for text in found if text.startswith(first))


def workflow_steps() -> dict[str, str]:
    """Name -> script, of the steps that run one."""
    steps: dict[str, str] = {}
    for step in re.split(r"^      - ", block("yaml", "# .github"), flags=re.MULTILINE)[1:]:
        name = re.match(r"name: (.*)\n", step)
        script = re.search(r"^        run: (?:\|\n((?: {10}.*\n)+)|(.*)\n)", step, re.MULTILINE)
        if script is None:
            assert step.startswith("uses: "), f"a step that neither runs nor uses: {step}"
            continue
        assert name is not None, step
        assert name[1] not in steps
        lines = (script[1] or script[2]).splitlines()
        steps[name[1]] = "\n".join(line.removeprefix(" " * 10) for line in lines)
    return steps


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's repository with a baseline, made as the page says."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_port.py").write_text(TEST)
    (folder / "requirements.txt").write_text("")
    stand_in = folder / "bin" / "pip"
    stand_in.parent.mkdir()
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > pip.log\n')
    stand_in.chmod(0o755)
    for command in commands():
        done = shell(command, folder)
        assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return folder


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """As a runner does it: a fresh ``bash -e`` with pipefail for every step."""
    tools = f"{folder / 'bin'}:{Path(sys.executable).parent}"
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "PARITY_"))},
        "PATH": f"{tools}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "PARITY_REQUIRE": required(),
    }
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def required() -> str:
    found = re.findall(r"^ +PARITY_REQUIRE: (.*)$", block("yaml", "# .github"), re.MULTILINE)
    assert len(found) == 1
    return str(found[0])


def commands() -> list[str]:
    """The page's first block: how the baseline is made."""
    lines = re.search(r"\n\n((?:    .*\n)+)", PAGE.read_text())
    assert lines is not None
    return [line.strip() for line in lines[1].splitlines()]


@pytest.fixture
def with_baseline(repository: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(repository, tmp_path / "repository"))


def run_workflow(folder: Path) -> tuple[str, subprocess.CompletedProcess[str]]:
    """The name of the step that failed (empty for none), and the last step's outcome."""
    for name, script in workflow_steps().items():
        done = shell(script, folder)
        if done.returncode:
            return name, done
    return "", done


def test_the_steps_are_these() -> None:
    assert list(workflow_steps()) == ["Install", "Compare", "Gate"]


def test_a_good_change_passes(with_baseline: Path) -> None:
    failed, done = run_workflow(with_baseline)
    assert not failed, done.stdout + done.stderr
    assert "parity[torch,tf,test]" in (with_baseline / "pip.log").read_text()
    assert "gate passed: 2 checks" in (with_baseline / "summary.md").read_text()
    assert (with_baseline / "parity.xml").is_file()


@pytest.mark.parametrize(
    ("old", "new", "step", "says"),
    [
        ("2e-14", "2e-3", "Gate", "FAILED: tests/test_port.py::test_loss"),
        # ten times the error, and a fifth of what the check allows
        ("2e-14", "2e-13", "Gate", "GREW: tests/test_port.py::test_loss"),
        ("def test_target", "def removed", "Gate", "DISAPPEARED: tests/test_port.py::test_target"),
        ("np.linspace(0, 1, 7)", "np.linspace(0, 1, 6)", "Gate",
         "VALUES: tests/test_port.py::test_target"),
        ("np.linspace(0, 1, 7)", "np.zeros(0)", "Gate", "FAILED: tests/test_port.py::test_target"),
        ("    parity.compare(torch={\"t", "    dict(torch={\"t", "Gate",
         "RAISED: tests/test_port.py::test_target"),
        ("import numpy", "import no_such_module_of_numpy", "Compare", "error"),
    ],
)  # fmt: skip
def test_a_worse_change_fails(
    with_baseline: Path, old: str, new: str, step: str, says: str
) -> None:
    path = with_baseline / "tests" / "test_port.py"
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))
    failed, done = run_workflow(with_baseline)
    assert (failed, done.returncode != 0) == (step, True), done.stdout + done.stderr
    assert says in done.stdout


def test_the_hook_runs_and_fails(with_baseline: Path) -> None:
    entry = re.search(r"^ +entry: (.*)$", block("yaml", "# .pre-commit"), re.MULTILINE)
    assert entry is not None
    assert shell(entry[1], with_baseline).returncode == 0
    path = with_baseline / "tests" / "test_port.py"
    path.write_text(TEST.replace("0.5 + r_t", "0.25 + r_t"))
    done = shell(entry[1], with_baseline)
    assert done.returncode == 1
    assert "FAILED: tests/test_port.py::test_target" in done.stdout
    path.write_text("import no_such_module\n")
    assert shell(entry[1], with_baseline).returncode == 1


def test_the_yaml_can_be_read() -> None:
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load(block("yaml", "# .github"))
    steps = workflow["jobs"]["parity"]["steps"]
    scripts = {step["name"]: step["run"].strip() for step in steps if "run" in step}
    assert scripts == workflow_steps()
    hook = yaml.safe_load(block("yaml", "# .pre-commit"))["repos"][0]["hooks"][0]
    assert hook["entry"].startswith("bash -c")


def test_the_ledger_shown_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    path.write_text(block("json"))
    assert len(read_accepted(path)) == len(json.loads(block("json"))) == 1
