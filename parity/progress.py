"""What this process does just now and how much of it is done, where another can read it.

A process that crashes cannot say what it was doing. Where a file is set, each step is a line in it
before the step begins; otherwise :func:`step` and :func:`did` cost one comparison.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol


class Listener(Protocol):
    """What hears of this process's work."""

    def step(self, text: str) -> None:
        """Something begins."""

    def work(self, whole: float) -> None:
        """So much work begins; 0: how much there is cannot be known."""

    def did(self, done: float) -> None:
        """So much of it is done."""

    def within(self, seconds: float) -> None:
        """What is begun is broken off after so long."""


@dataclass
class _Work:
    unit: str
    whole: float
    done: float = 0.0


_COUNT = "\t"
"""Before the numbers of a line that says how much is done."""
_LOOK = 0.3
"""Seconds between two looks at what another process writes."""


_file: list[IO[str]] = []
_listeners: list[Listener] = []
_work: list[_Work] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell ``listener`` what happens inside the block."""
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
        listener.step(text)
    _write(text.replace("\n", " ").replace(_COUNT, " "))


@contextmanager
def work(whole: float, unit: str) -> Iterator[None]:
    """So many units are done inside the block, which :func:`did` counts.

    Work inside of other work is a part of it and not counted on its own.
    """
    if _work or whole <= 0:
        yield
        return
    _work.append(_Work(unit, whole))
    _write(f"{_COUNT}0{_COUNT}{whole}")
    for listener in _listeners:
        listener.work(whole)
    try:
        yield
    finally:
        _work.clear()
        _write(f"{_COUNT}0{_COUNT}0")
        for listener in _listeners:
            listener.work(0)


def did(unit: str, amount: float = 1.0) -> None:
    """Some units of the work are done; those of another kind of work do not count."""
    if not _work or _work[0].unit != unit:
        return
    _work[0].done += amount
    _write(f"{_COUNT}{_work[0].done}{_COUNT}{_work[0].whole}")
    for listener in _listeners:
        listener.did(_work[0].done)


def within(seconds: float) -> None:
    """What begins now is broken off after so long."""
    for listener in _listeners:
        listener.within(seconds)


def last_step(path: Path) -> str:
    """The last step in a file; empty where there is none."""
    return next((line for line in reversed(_lines(path)) if not line.startswith(_COUNT)), "")


@contextmanager
def relaying(path: Path, who: str) -> Iterator[None]:
    """Tell this process's listeners what another process writes to a file meanwhile."""
    if not _listeners:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_relay, args=(path, who, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _relay(path: Path, who: str, ended: threading.Event) -> None:
    seen, whole = 0, "0"
    while not ended.wait(_LOOK):
        lines = _lines(path)
        for line in lines[seen:]:
            _, *counts = line.split(_COUNT)
            for listener in _listeners:
                if not counts:
                    listener.step(f"{who}: {line}")
                    continue
                if counts[1] != whole:
                    listener.work(float(counts[1]))
                listener.did(float(counts[0]))
            whole = counts[1] if counts else whole
        seen = len(lines)


def _lines(path: Path) -> list[str]:
    """Whole lines only: the last one may be half written."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text[: text.rfind("\n") + 1].splitlines()


def _write(line: str) -> None:
    if _file:
        _file[0].write(line + "\n")
        _file[0].flush()  # the system keeps it, whatever becomes of the process
