"""What a process is doing just now, written where another process can read it.

A process that crashes cannot say what it was doing. Where a file is set, each step is a line in it
before the step begins; otherwise :func:`step` costs one comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_file: list[IO[str]] = []
_listeners: list[Callable[[str], None]] = []


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Tell ``listener`` of each step inside the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def write_to(path: Path) -> None:
    """Write the steps of this process to a file from now on."""
    _file[:] = [path.open("a", encoding="utf-8")]


def step(text: str) -> None:
    """Note what begins now."""
    for listener in _listeners:
        listener(text)
    if _file:
        _file[0].write(text.replace("\n", " ") + "\n")
        _file[0].flush()  # the system keeps it, whatever becomes of the process


def last_step(path: Path) -> str:
    """The last step in a file; empty where there is none."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""
