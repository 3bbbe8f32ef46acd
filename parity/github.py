"""Annotations of a pull request: failures shown beside the user's own line.

A runner of GitHub Actions reads commands from what a step prints. Everything in such a command that
could end it, or start another, is escaped.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from parity.message import cut, printable, render
from parity.report import Report

SHOWN = 10
"""Errors of one step that GitHub shows; the rest would be dropped without a word."""
LINES = 3
"""Lines of a report that are enough to act on."""
_TITLE = 200
_PLACE = re.compile(r"^(?P<file>.+?\.py):(?P<line>\d+)(?::|$)")


class Place(NamedTuple):
    """A line of the user's code."""

    file: str
    line: int


def wanted() -> bool:
    """Whether this runs on GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def head(text: str) -> str:
    """The first lines of a report: verdict, place, both values."""
    return "\n".join(text.strip().splitlines()[:LINES])


def of_report(report: Report, *, fallback: Place | None = None) -> str:
    """The annotation of a report that did not pass."""
    near = [Path(fallback.file)] if fallback else []
    place = user_place(report, near=near) or fallback
    cause = next((str(c.get("cause")) for c in report.causes), "")
    title = f"parity: {report.verdict}" + (f", {cause}" if cause else "")
    fixes = [f"fix: {c['fix']}" for c in report.causes[:1] if c.get("fix")]
    return command("\n".join([head(render(report)), *map(printable, fixes)]), title, place)


def command(message: str, title: str, place: Place | None = None, *, level: str = "error") -> str:
    """``::error file=...,line=...,title=...::message``, on one line whatever is in it."""
    properties = {"title": cut(printable(title), _TITLE)}
    if place is not None:
        properties = {"file": _from_root(place.file), "line": str(place.line), **properties}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {listed}::{_data(message)}"


def limited(commands: Iterable[str]) -> list[str]:
    """As many as are shown; the last one then counts the rest."""
    found = list(commands)
    if len(found) <= SHOWN:
        return found
    rest = len(found) - SHOWN + 1
    return [*found[: SHOWN - 1], command(f"{rest} more checks failed; see the log", "parity")]


def user_place(report: Report, *, near: Iterable[Path] = ()) -> Place | None:
    """The user's line that is to blame: of the cause, else of the first difference, else of a side.

    Args:
        near: files whose folders are searched where a place is a bare file name.
    """
    subject = report.subject
    sides = [str(subject.get(side) or "") for side in ("tf", "torch")]
    files = [Path(label.rpartition(":")[0]) for label in sides if ".py:" in label]
    known = [*files, *near]
    for text in _candidates(report):
        match = _PLACE.match(text)
        file = _resolved(match["file"], known) if match else None
        if match and file:
            return Place(str(file), int(match["line"]))
    for label in sides:
        place = _definition(label)
        if place is not None:
            return place
    return None


def _candidates(report: Report) -> Iterator[str]:
    """Texts that may start with ``file.py:12``, best first."""
    subject = report.subject
    for cause in report.causes:
        yield str(cause.get("place") or "")
    for row in subject.get("table") or ():
        if row.get("verdict") == "differs":
            where: Mapping[str, str] = row.get("where") or {}
            yield from (str(where[side]) for side in ("tf", "torch") if side in where)
    yield from (str(subject.get(key) or "") for key in ("tf_line", "torch_line"))
    sources = subject.get("source") or {}
    yield from (str(sources[side]) for side in ("tf", "torch") if side in sources)


def _resolved(name: str, known: Iterable[Path]) -> Path | None:
    """The file behind a name that may lack its folder."""
    path = Path(name)
    folders = [file.parent for file in known]
    found = [path, *(folder / path for folder in folders if not path.is_absolute())]
    return next((file for file in found if file.is_file()), None)


def _definition(label: str) -> Place | None:
    """Where the object of ``file.py:name`` is defined."""
    file, _, name = label.rpartition(":")
    if not file.endswith(".py"):
        return None
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None
    first = name.partition(".")[0]
    for node in tree.body:
        kinds = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
        names = [node.name] if isinstance(node, kinds) else []
        if isinstance(node, ast.Assign):
            names = [t.id for t in node.targets if isinstance(t, ast.Name)]
        if first in names:
            return Place(file, node.lineno)
    return Place(file, 1)


def _from_root(file: str) -> str:
    """The path as the repository has it, where the file is inside of it."""
    root = os.environ.get("GITHUB_WORKSPACE") or os.getcwd()
    path = os.path.realpath(file)
    inside = os.path.relpath(path, os.path.realpath(root))
    return file if inside.startswith("..") else inside.replace(os.sep, "/")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
