"""Virtual environments that lack one of the frameworks, made from the packages that are here.

A folder of links to every installed package but the framework's stands in the place of
site-packages. Nothing is downloaded, and nothing pretends: the framework is not there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "torch": ("torch", "functorch", "torchgen"),
    "tf": ("tensorflow", "keras", "tf_keras"),
}


def environment_without(side: str, folder: Path) -> Path:
    """The interpreter of a new environment in which this side's framework is not installed."""
    venv.create(folder, with_pip=False, symlinks=True)
    links = folder / "packages"
    links.mkdir()
    left_out = PACKAGES[side]
    for place in dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")):
        for entry in Path(place).iterdir():
            name = entry.name.partition("-")[0].partition(".")[0].lower()
            if name not in left_out and entry.suffix != ".pth" and entry.name != "__pycache__":
                (links / entry.name).symlink_to(entry)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site = folder / "lib" / version / "site-packages"
    (site / "links.pth").write_text(f"{links}\n{ROOT}\n", encoding="utf-8")
    return folder / "bin" / "python"


def run(
    python: Path | str, *arguments: object, folder: Path = ROOT, timeout: float = 600
) -> subprocess.CompletedProcess[str]:
    """Run an interpreter of one of these; what it prints comes back."""
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PARITY_REQUIRE")}
    return subprocess.run(
        [str(python), *map(str, arguments)],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
