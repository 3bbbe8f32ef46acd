"""The line that says what a check is doing."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from parity import progress
from parity.waiting import waiting


def said(delay: float, *, terminal: bool = True) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=80)
    with waiting(console, delay=delay):
        progress.step("tf module, pass in [float64]")
        time.sleep(0.3)
    progress.step("afterwards")
    return text.getvalue()


def test_the_step_is_shown_and_taken_back() -> None:
    text = said(0.05)
    assert "tf module, pass in [float64]" in text
    assert "afterwards" not in text


@pytest.mark.parametrize(("delay", "terminal"), [(5.0, True), (0.0, False)])
def test_nothing_for_what_is_quick_or_not_watched(delay: float, terminal: bool) -> None:
    assert "pass in" not in said(delay, terminal=terminal)


def test_an_error_ends_it() -> None:
    console = Console(file=io.StringIO(), force_terminal=True)
    with pytest.raises(ValueError, match="no"), waiting(console, delay=0.0):
        raise ValueError("no")
    assert not progress._listeners
