"""What a reader of the tutorial and the how-to pages does is done here, command by command.

A Python block with ``title="file"`` is saved under that name; with ``replace="text"`` as well, it
takes the place of that text in the file. A console block is run, line by line after ``$``, and must
print what stands there, numbers aside; ``...`` stands for any lines. All blocks of a page share a
folder, from top to bottom.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "docs", ROOT / "docs" / "how-to", *sorted((ROOT / "examples").glob("*/")))
BLOCK = re.compile(
    r'^```(?:python title="(?P<file>[^"]+)"(?: replace="(?P<old>[^"]*)")?|(?P<console>console))\n'
    r"(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"\d[\d,]*(\.\d+)?(e[-+]?\d+)?")
FAILS = re.compile(r"^(DIVERGE|INVALID|LATENT)", re.MULTILINE)


def steps(page: Path) -> Iterator[tuple[str, str, str]]:
    """``write`` file, text; ``replace`` file, old and new; ``run`` command, output."""
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["console"]:
            parts = re.split(r"^\$ (.*)\n", block["body"], flags=re.MULTILINE)[1:]
            for command, output in zip(parts[::2], parts[1::2], strict=True):
                yield "run", command, output
        elif block["old"] is not None:
            yield "replace", block["file"], f"{block['old']}\0{block['body'].strip()}"
        else:
            yield "write", block["file"], block["body"]


PAGES = sorted(p for f in FOLDERS for p in f.glob("*.md") if any(s[0] == "run" for s in steps(p)))


def shape(line: str) -> str:
    """The line without its numbers, which differ a little between machines."""
    return " ".join(NUMBER.sub("#", line).split())


def matches(printed: str, expected: str) -> bool:
    """Whether the lines are those of the page; ``...`` is any lines, or any text in a line."""
    pattern = ""
    for line in map(shape, expected.splitlines()):
        if line == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("...")) + r"\n"
    text = "".join(f"{shape(line)}\n" for line in printed.splitlines())
    return re.fullmatch(pattern, text) is not None


@pytest.mark.parametrize(
    "page", PAGES, ids=lambda p: p.stem if p.stem != "README" else p.parent.name
)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    if page.parent.parent.name == "examples":
        shutil.copytree(page.parent, tmp_path, dirs_exist_ok=True)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    for kind, what, text in steps(page):
        if kind == "write":
            (tmp_path / what).write_text(text, encoding="utf-8")
        elif kind == "replace":
            old, _, new = text.partition("\0")
            source = (tmp_path / what).read_text(encoding="utf-8")
            assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {what}"
            (tmp_path / what).write_text(source.replace(old, new), encoding="utf-8")
        else:
            done = subprocess.run(
                what,
                shell=True,
                cwd=tmp_path,
                env={**os.environ, "PATH": path, "COLUMNS": "80"},
                capture_output=True,
                text=True,
                timeout=300,
            )
            said = f"$ {what}\n{done.stdout}{done.stderr[-2000:]}"
            assert done.returncode == (1 if FAILS.search(text) else 0), said
            assert matches(done.stdout, text), said


def test_the_tutorial_and_four_examples_are_among_them() -> None:
    """The first example is the README's own, see ``test_readme.py``."""
    assert "tutorial" in [page.stem for page in PAGES]
    assert sum(page.parent.parent.name == "examples" for page in PAGES) >= 4


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("a 1.5\nb\n", "a 2\n...\n", True),
        ("a 1.5\nb\n", "a 2\n", False),
        ("a\nx\nb\n", "...\nb\n", True),
        ("a\nx\nc\n", "...\nb\n", False),
        ("DIVERGE function-float32\n", "DIVERGE ...\n", True),
        ("", "...\n", True),
        ("", "a\n", False),
    ],
)
def test_comparing_output(printed: str, expected: str, same: bool) -> None:
    assert matches(printed, expected) is same
