"""The suite as a whole: one edited line turns it red, and its message leads back to the line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parity.requirements import missing
from parity.suite import FRAMEWORKS

pytestmark = [
    pytest.mark.meta,
    pytest.mark.skipif(bool(missing(FRAMEWORKS)), reason="needs torch and tensorflow"),
]

ROOT = Path(__file__).parents[2]
EDITED = Path("impls", "returns", "tf_impl.py")
LINE, WRONG = "    return r_t + discount_t * v_t\n", "    return r_t - discount_t * v_t\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What a contributor has, without the harness itself: that is installed."""
    for part in ("impls", "tests/parity", "tests/support", "docs"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    bin_folder = Path(sys.executable).parent
    return subprocess.run(
        ["bash", "-c", f'PATH="{bin_folder}:$PATH"; {command}'],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_edited_line_is_found_and_the_command_shows_it_again(checkout: Path) -> None:
    path = checkout / EDITED
    source = path.read_text()
    assert source.count(LINE) == 1, "choose another line to break"
    path.write_text(source.replace(LINE, WRONG))

    run = shell(
        "python -m pytest -m parity tests/parity -k 'td_target and float64 and eager'", checkout
    )
    assert run.returncode == 1, run.stdout
    assert re.search(r"DIVERGE +returns/function\.td_target\[\w", run.stdout)
    assert "tf is off the float64 reference" in run.stdout
    commands = re.findall(r"^reproduce: (.*)$", run.stdout, re.MULTILINE)
    assert commands

    again = shell(commands[0], checkout)
    assert again.returncode == 1, again.stdout
    assert f"reproduce: {commands[0]}" in again.stdout
    assert re.search(r"1 failed in ", again.stdout)
