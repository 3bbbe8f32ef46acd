"""Every Python block of the documentation runs, page by page, top to bottom.

A block that cannot run on its own says so in an HTML comment before it: ``<!-- not run: why -->``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("**/*.md")])
BLOCK = re.compile(r"(<!-- not run: [^>]+-->\s*)?^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[str]:
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [code for skipped, code in found if not skipped]


RUNNABLE = [page for page in PAGES if blocks(page)]


def test_the_pattern_finds_blocks() -> None:
    text = "text\n```python\na = 1\n```\n<!-- not run: needs a file -->\n```python\nb\n```\n"
    assert [(bool(skip), code) for skip, code in BLOCK.findall(text)] == [
        (False, "a = 1\n"),
        (True, "b\n"),
    ]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda p: str(p.relative_to(ROOT)))
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks(page)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{page.name}:\n{done.stdout}\n{done.stderr[-3000:]}"
