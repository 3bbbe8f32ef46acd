"""`pytest -m parity` looks into one folder only, and no check is anywhere else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "conftest.py"
CHECK = "import pytest\n@pytest.mark.parity\ndef test_it(parity):\n    parity.check(a=1.0, b=1.0)\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    shutil.copy(CONFTEST, pytester.path)
    (pytester.path / "tests" / "parity").mkdir(parents=True)
    (pytester.path / "tests" / "unit").mkdir()
    (pytester.path / "tests" / "parity" / "test_here.py").write_text(CHECK)
    return pytester


def collected(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_subprocess(
        "--collect-only", "-q", "--import-mode=importlib", *arguments
    )


def test_other_folders_are_not_even_imported(project: pytest.Pytester) -> None:
    (project.path / "tests" / "unit" / "test_there.py").write_text("raise SystemError('imported')")
    result = collected(project, "-m", "parity")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*test_here.py::test_it"])
    result = collected(project)
    result.stdout.fnmatch_lines(["*SystemError: imported*"])


def test_a_check_in_another_folder_is_an_error(project: pytest.Pytester) -> None:
    (project.path / "tests" / "unit" / "test_there.py").write_text(CHECK)
    result = collected(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_there.py::test_it: marked parity, so it belongs*"])
