"""The line that says what a command is doing, and how long it will still take."""

from __future__ import annotations

import io
import time
from collections.abc import Callable

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from parity import progress
from parity.api import compare
from parity.waiting import Left, waiting


def said(delay: float, *, terminal: bool = True, work: Callable[[], None] = lambda: None) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=80)
    with waiting(console, delay=delay):
        progress.step("tf module, pass in [float64]")
        work()
        time.sleep(0.3)
    progress.step("afterwards")
    return text.getvalue()


def test_the_step_is_shown_and_taken_back() -> None:
    text = said(0.05)
    assert "tf module, pass in [float64]" in text
    assert "afterwards" not in text
    assert " left" not in text, "nothing says how long it will take"


@pytest.mark.parametrize(("delay", "terminal"), [(5.0, True), (0.0, False)])
def test_nothing_for_what_is_quick_or_not_watched(delay: float, terminal: bool) -> None:
    assert "pass in" not in said(delay, terminal=terminal)


def test_an_error_ends_it() -> None:
    console = Console(file=io.StringIO(), force_terminal=True)
    with pytest.raises(ValueError, match="no"), waiting(console, delay=0.0):
        raise ValueError("no")
    assert not progress._listeners


def test_a_bar_and_the_time_left_stand_on_the_line() -> None:
    def half() -> None:
        with progress.work(10, "steps"):
            for _ in range(5):
                time.sleep(0.02)
                progress.did("steps")
            time.sleep(0.3)

    text = said(0.0, work=half)
    assert "about 0:0" in text
    assert "━" in text
    progress.did("steps")  # no work: nobody minds


def test_a_hostile_step_fits_its_line() -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=80, color_system=None)
    with waiting(console, delay=0.0):
        progress.step("layer \x1b[2J" + "x" * 10_000)
        time.sleep(0.3)
    lines = text.getvalue().replace("\r", "\n").splitlines()
    assert any("\\x1b[2J" in line for line in lines)
    assert "\x1b[2J" not in text.getvalue()
    assert max(cell_len(line.replace("\x1b[2K", "")) for line in lines) <= 80 + len("\x1b[1A")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_time_left_is_what_the_speed_so_far_says() -> None:
    clock = Clock()
    left = Left(clock)
    with progress.listening(left), progress.work(100, "layers"):
        assert str(left) == ""
        clock.now += 3
        progress.did("layers", 25)
        assert str(left) == "about 0:09 left"
        progress.did("entries", 25)  # of another kind
        with progress.work(7, "entries"):  # a part of the whole
            progress.did("entries")
        assert left.share == 0.25
        clock.now += 3597
        progress.did("layers", 25)
        assert str(left) == "about 1:00:00 left"
        progress.did("layers", 50)
        assert str(left) == "", "what follows was not counted"
    assert left.share is None


def test_a_bound_is_said_as_one_and_ends_with_the_work() -> None:
    clock = Clock()
    left = Left(clock)
    with progress.listening(left):
        progress.within(20)
        clock.now += 4
        assert str(left) == "at most about 0:16 left"
        with progress.work(10, "steps"):
            assert str(left) == ""


def test_a_comparison_counts_its_entries() -> None:
    shares: list[float | None] = []

    class Watch(Left):
        def did(self, done: float) -> None:
            super().did(done)
            shares.append(self.share)

    arrays = {f"step/{i}": np.full(3, i + 1.0) for i in range(4)}
    with progress.listening(Watch()):
        compare(torch=arrays, tf={k: a.copy() for k, a in arrays.items()})
    assert shares == [0.25, 0.5, 0.75, 1.0]
