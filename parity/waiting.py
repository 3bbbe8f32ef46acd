"""What a command is doing, on a terminal, where it takes more than two seconds."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from parity import progress
from parity.text import cut, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

DELAY = 2.0
"""Seconds without a word."""
FEWEST = 0.03
"""Share of the work that must be done before the time left is told from its speed."""
_STEP = 42
"""Columns of a step; what is left of 80 holds the bar and the times."""


class Left:
    """How long a piece of work will still take, as far as that can be known.

    Args:
        clock: seconds since some time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.text = ""
        self.work(0)

    def step(self, text: str) -> None:
        self.text = text

    def work(self, whole: float) -> None:
        self.whole, self.done, self.began = whole, 0.0, self.clock()
        self.until: float | None = None

    def did(self, done: float) -> None:
        self.done = min(done, self.whole)

    def within(self, seconds: float) -> None:
        self.until = self.clock() + seconds

    @property
    def share(self) -> float | None:
        """How much of the work is done, from 0 to 1; None where its amount is not known."""
        return self.done / self.whole if self.whole else None

    def __str__(self) -> str:
        """``about 0:12 left``; empty where nothing tells how long it will take."""
        now = self.clock()
        if self.until is not None:
            # a limit on computing time is reached later on a busy machine
            return f"at most about {_clock(self.until - now)} left" if self.until > now else ""
        if not FEWEST * self.whole <= self.done < self.whole:
            return ""  # nothing is known yet, or what follows was not counted
        left = (now - self.began) * (self.whole - self.done) / self.done
        return f"about {_clock(left)} left"


@contextmanager
def waiting(
    console: Console | None = None, *, delay: float = DELAY, first: str = "importing the frameworks"
) -> Iterator[None]:
    """A line on stderr: the step, the time it has taken, and the time left where it can be told.

    How long a framework takes to start cannot be known, so no time left is made up for that. The
    line is gone when the block ends.

    Args:
        first: what is done until the first step says otherwise.
    """
    with _own(console) as shown:
        if shown is None or not shown.is_terminal:
            yield
            return
        left = Left()
        left.step(first)
        line = _line(shown, left)
        timer = threading.Timer(delay, line.start)
        timer.daemon = True
        timer.start()
        try:
            with progress.listening(left):
                yield
        finally:
            timer.cancel()
            timer.join()
            line.stop()


@contextmanager
def _own(console: Console | None) -> Iterator[Console | None]:
    """The console, or one on stderr that still shows while others' stderr is held back."""
    if console is not None:
        yield console
        return
    from rich.console import Console as RichConsole

    try:
        file = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace")
    except (AttributeError, OSError, ValueError, io.UnsupportedOperation):
        yield None  # replaced by something that is no terminal
        return
    with file:
        yield RichConsole(file=file)


def _line(console: Console, left: Left) -> Progress:
    from rich.progress import Progress as RichProgress
    from rich.progress import ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    class Bar(ProgressColumn):
        max_refresh = None

        def render(self, task: Task) -> ProgressBar | Text:
            share = left.share
            return Text("") if share is None else ProgressBar(total=1, completed=share, width=12)

    class Words(ProgressColumn):
        max_refresh = None

        def render(self, task: Task) -> Text:
            return Text("  ".join(filter(None, (str(left), cut(printable(left.text), _STEP)))))

    columns = (SpinnerColumn(), TimeElapsedColumn(), Bar(), Words())
    shown = RichProgress(*columns, console=console, transient=True)
    shown.add_task("", total=None)
    return shown


def _clock(seconds: float) -> str:
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
