"""The documentation builds as a site without a warning, and every page is in its menu."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"


def listed() -> set[str]:
    """Pages of the menu; read as text, since the settings name Python objects."""
    lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").splitlines()
    return {line.rpartition(": ")[2] for line in lines if line.endswith(".md")}


def test_every_page_is_in_the_menu_and_there() -> None:
    docs = ROOT / "docs"
    assert listed() == {str(path.relative_to(docs)) for path in docs.rglob("*.md")}


def test_the_site_builds(tmp_path: Path) -> None:
    if not all(find_spec(name) for name in ("mkdocs", "material", "mkdocstrings")):
        pytest.skip("the extra docs is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for page in listed():
        name = "index.html" if page == "index.md" else f"{page.removesuffix('.md')}/index.html"
        assert (tmp_path / name).is_file(), name
    reference = (tmp_path / "reference" / "index.html").read_text(encoding="utf-8")
    import parity

    missing = [
        name for name in public(parity) if not re.search(rf'id="parity\.(api\.)?{name}"', reference)
    ]
    assert missing == [], "docs/reference.md has no entry for them"


def public(module: object) -> list[str]:
    """Public names, without submodules."""
    return [name for name in getattr(module, "__all__", ()) if not name.startswith("_")]


def test_pictures_are_small_and_shown() -> None:
    text = (ROOT / "docs" / "how-to" / "reports.md").read_text(encoding="utf-8")
    pictures = sorted(IMAGES.glob("*.png"))
    assert len(pictures) >= 3
    for path in pictures:
        assert path.stat().st_size < 150_000, path.name
        assert f"../images/{path.name}" in text
