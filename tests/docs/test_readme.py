"""The README's first screen is what the command prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "01_check_a_network"
BLOCK = re.compile(r"^```console\n\$ parity (.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d+(\.\d+)?(e[-+]\d+)?")


def shape(line: str) -> str:
    """The line without its numbers: those of float32 runs differ between machines."""
    return " ".join(NUMBER.sub("#", line).split())


@pytest.mark.parametrize(("arguments", "printed"), BLOCK.findall((ROOT / "README.md").read_text()))
def test_the_console_blocks_are_what_is_printed(arguments: str, printed: str) -> None:
    import shlex

    done = subprocess.run(
        [sys.executable, "-m", "parity", *shlex.split(arguments)],
        cwd=EXAMPLE,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == (0 if printed.startswith("AGREE") else 1), done.stderr
    shown = [shape(line) for line in printed.splitlines()]
    real = [shape(line) for line in done.stdout.splitlines()]
    assert real[: len(shown)] == shown
    # the last line is made to be pasted, and so it is one line
    fitting = [line for line in done.stdout.splitlines() if not line.startswith("reproduce: ")]
    assert max(map(len, fitting)) <= 80


def test_there_are_two_blocks() -> None:
    assert len(BLOCK.findall((ROOT / "README.md").read_text())) == 2
