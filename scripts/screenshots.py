"""Make three reports and draw them: ``python scripts/screenshots.py [FOLDER] [NAME ...]``.

Writes the pictures of docs/how-to/reports.md, by default to docs/images. Needs Debian's chromium.
Each report is made anew by the command beside it, as a user would; together they take minutes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PORT = ROOT / "examples" / "01_check_a_network" / "port.py"
PYTHON = sys.executable
TEST = """
import numpy as np
import pytest

from parity.random import Stream

STATE = np.linspace(-2, 2, 39, dtype=np.float32).reshape(13, 3)


@pytest.mark.parametrize("actor", ["keras_actor_fixed", "keras_actor"])
def test_actor(parity, actor):
    parity.check(torch="port.py:torch_actor", tf=f"port.py:{actor}", inputs=STATE)


@pytest.mark.parametrize("shape", [(13,), (13, 3)], ids=str)
def test_noise(parity, shape):
    parity.compare(torch=Stream(7).normal(shape), tf=Stream(7).normal(shape))
"""
WIDTH = 1040
LIMIT = 170_000
"""Bytes of a picture: they are kept in the repository."""


def epsilon(page: Path) -> None:
    """A port whose LayerNorm keeps Keras's epsilon."""
    shutil.copy(PORT, page.parent)
    run(page.parent, "-m", "parity", "check", "port.py:torch_actor", "port.py:keras_actor",
        "--input", "state=float32[13,3]", "--html", page.name)  # fmt: skip


def training(page: Path) -> None:
    """DDPG in lockstep, one side of which discounts twice."""
    run(page.parent, "-m", "impls", "lockstep", "ddpg", "--env", "Pendulum-v1", "--updates", "200",
        "--plant", "gamma-squared", "--html", page.name)  # fmt: skip


def suite(page: Path) -> None:
    """A run of pytest, one check of which fails."""
    folder = page.parent
    shutil.copy(PORT, folder)
    (folder / "test_port.py").write_text(TEST, encoding="utf-8")
    run(folder, "-m", "pytest", "-q", "test_port.py", f"--parity-html={page}")


REPORTS: Mapping[str, tuple[Callable[[Path], None], int]] = {
    "epsilon": (epsilon, 1200),
    "training": (training, 1150),
    "suite": (suite, 1000),
}
"""File -> what makes its report, height in pixels."""


def run(folder: Path, *arguments: object) -> None:
    """A command that finds a difference: it leaves with 1."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1"}
    command = [PYTHON, *map(str, arguments)]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if ended.returncode != 1:
        raise SystemExit(f"screenshots: {command} left with {ended.returncode}:\n{ended.stdout}"
                         f"{ended.stderr}")  # fmt: skip


def draw(source: Path, picture: Path, height: int) -> None:
    """The top of a page as PNG, as a reader with a light screen sees it."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("screenshots: Debian's chromium is not installed")
    command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
               f"--user-data-dir={source.parent}/profile", f"--window-size={WIDTH},{height}",
               f"--screenshot={picture}", source.as_uri()]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def main(folder: Path, names: Sequence[str]) -> None:
    """Draw them all, or some."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or REPORTS:
        make, height = REPORTS[name]
        picture = folder / f"{name}.png"
        with tempfile.TemporaryDirectory() as kept:
            page = Path(kept) / "report.html"
            make(page)
            draw(page, picture, height)
        size = picture.stat().st_size
        if size > LIMIT:
            raise SystemExit(f"screenshots: {picture} has {size:,} bytes, more than {LIMIT:,}")
        print(f"{picture}: {size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images", sys.argv[2:])
