"""What `parity check` says besides its report: Markdown, annotations, and less."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from parity.cli import main

pytest.importorskip("torch")
pytest.importorskip("tensorflow")

PORT = """
import tensorflow as tf
import torch

def torch_loss(q):
    return torch.mean(q ** 2)

def tf_loss(q):
    return tf.reduce_mean(q ** 2)

def tf_half(q):
    half = tf.reduce_mean(q ** 2) / 2
    return half
"""

Check = Callable[..., Result]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    (tmp_path / "port.py").write_text(PORT)

    def run(tf: str, *more: str) -> Result:
        sides = ["port.py:torch_loss", f"port.py:{tf}", "--input", "q=float32[13]"]
        return CliRunner().invoke(main, ["check", *sides, *more])

    return run


def test_quiet_says_nothing_of_what_passes(check: Check) -> None:
    result = check("tf_loss", "-q")
    assert (result.exit_code, result.output) == (0, "")


def test_quiet_says_what_is_needed_to_act(check: Check) -> None:
    result = check("tf_half", "--quiet")
    assert result.exit_code == 1
    first, second, third = result.output.splitlines()
    assert first.startswith("DIVERGE")
    assert second.startswith("first difference: output/value")
    assert "torch" in third and "tf" in third


def test_markdown_is_appended(check: Check, tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    assert check("tf_half", "--markdown", "summary.md").exit_code == 1
    assert check("tf_loss", "--markdown", "summary.md").exit_code == 0
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n### Parity: DIVERGE")
    assert "### Parity: AGREE" in text


def test_markdown_that_cannot_be_written_is_misuse(check: Check) -> None:
    result = check("tf_loss", "--markdown", "port.py/summary.md")
    assert result.exit_code == 2
    assert "--markdown" in result.output


def test_a_failure_stands_on_the_users_line(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    result = check("tf_half")
    (line,) = [said for said in result.stderr.splitlines() if said.startswith("::")]
    number = 1 + PORT.splitlines().index("    half = tf.reduce_mean(q ** 2) / 2")
    assert line.startswith(f"::error file=port.py,line={number},title=parity%3A diverge")
    assert "::error" not in check("tf_loss").output
