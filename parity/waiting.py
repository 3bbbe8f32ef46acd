"""What a check is doing, on a terminal, where it takes more than two seconds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from parity import progress

if TYPE_CHECKING:
    from rich.console import Console

DELAY = 2.0
"""Seconds without a word."""


@contextmanager
def waiting(console: Console | None = None, *, delay: float = DELAY) -> Iterator[None]:
    """A line on stderr with the step and the time it has taken; gone when the block ends.

    How long a framework will take cannot be known, so no time left is made up.
    """
    from rich.console import Console as RichConsole
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = console or RichConsole(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    shown = Progress(*columns, console=console, transient=True)
    task = shown.add_task("importing the frameworks", total=None)
    timer = threading.Timer(delay, shown.start)
    timer.daemon = True
    timer.start()
    try:
        with progress.listening(lambda text: shown.update(task, description=text)):
            yield
    finally:
        timer.cancel()
        timer.join()
        shown.stop()
