"""The plugin is loaded in every run of pytest: it must be light, and must not disturb imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FRAMEWORKS = ("torch", "tensorflow", "keras", "gym", "gymnasium")

REPORT_IMPORTS = f"""
import sys
def pytest_unconfigure(config):
    loaded = [name for name in {FRAMEWORKS!r} if name in sys.modules]
    print("LOADED", loaded)
"""


def python(*arguments: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_importing_the_plugin_imports_no_framework() -> None:
    code = f"import sys, parity.pytest_plugin; print([m for m in {FRAMEWORKS} if m in sys.modules])"
    assert python("-c", code).strip() == "[]"


def test_collecting_the_suite_imports_no_framework(tmp_path: Path) -> None:
    (tmp_path / "reporter.py").write_text(REPORT_IMPORTS)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import pytest; "
        "sys.exit(pytest.main(['--collect-only', '-q', '-m', 'parity', '-p', 'reporter', "
        "'-p', 'no:cacheprovider', 'tests/parity']))"
    )
    output = python("-c", code)
    assert "LOADED []" in output
    assert "/function." in output


@pytest.mark.parametrize("order", ["tensorflow", "tensorflow, torch"])
def test_torch_comes_before_tensorflow(pytester: pytest.Pytester, order: str) -> None:
    fakes = pytester.mkdir("fakes")
    (fakes / "torch.py").write_text("print('torch is here')")
    (fakes / "tensorflow.py").write_text("print('tensorflow is here')")
    pytester.makeconftest((ROOT / "conftest.py").read_text())
    pytester.makepyfile(
        f"import sys\nsys.path.insert(0, {str(fakes)!r})\nimport importlib.util\n"
        "importlib.util.find_spec('tensorflow')\n"
        "assert 'torch' not in sys.modules\n"
        f"import {order}\ndef test_it():\n    pass"
    )
    result = pytester.runpytest_subprocess("-s", "--import-mode=importlib")
    result.stdout.fnmatch_lines(["*torch is here", "tensorflow is here"])
    assert result.ret == 0
