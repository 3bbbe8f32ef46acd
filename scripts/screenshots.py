"""Draw three reports with headless Chromium: ``python scripts/screenshots.py [FOLDER]``.

Writes the pictures of docs/how-to/reports.md, by default to docs/images. Needs Debian's chromium.
The reports are those of the tests of the pages, so nothing is checked here and it takes seconds.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from parity.html.page import report_page  # noqa: E402
from parity.report import Report  # noqa: E402
from tests.support.pages import hostile, long, network  # noqa: E402

PICTURES: Mapping[str, tuple[Callable[[], Report], int]] = {
    "network": (lambda: network(6), 1250),
    "trace": (lambda: long(400), 800),
    "hostile-names": (hostile, 700),
}
"""File -> report, height in pixels."""
WIDTH = 1100
LIMIT = 150_000
"""Bytes of a picture: they are kept in the repository."""


def draw(page: str, picture: Path, height: int) -> None:
    """The top of a page as PNG, as a reader with a light screen sees it."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("screenshots: Debian's chromium is not installed")
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "report.html"
        source.write_text(page, encoding="utf-8")
        command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   f"--user-data-dir={name}/profile", f"--window-size={WIDTH},{height}",
                   f"--screenshot={picture}", source.as_uri()]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=120)


def main(folder: Path) -> None:
    """Draw them all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (make, height) in PICTURES.items():
        picture = folder / f"{name}.png"
        draw(report_page(make()), picture, height)
        size = picture.stat().st_size
        if size > LIMIT:
            raise SystemExit(f"screenshots: {picture} has {size:,} bytes, more than {LIMIT:,}")
        print(f"{picture}: {size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images")
