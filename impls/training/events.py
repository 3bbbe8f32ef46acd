"""Learning curves of runs as event files of TensorBoard, where that is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from impls.errors import ConfigError
from impls.training.runs import Folder

CURVES = ("evaluation", "score", "best")
"""Columns of a run's log that are curves over its steps."""


def write_events(paths: Sequence[Path], folder: Path) -> int:
    """Write an event file for each run, in a folder of its name; returns the number of values.

    Raises:
        ConfigError: tensorboard is not installed, a folder holds no run, or two runs share a name.
    """
    try:
        from tensorboard.summary import Writer
    except ImportError:
        raise ConfigError(
            "curves --tensorboard: tensorboard is not installed: pip install tensorboard"
        ) from None
    names = [path.resolve().name for path in paths]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"curves --tensorboard: two runs are called {twice}; rename one")
    count = 0
    for path, name in zip(paths, names, strict=True):
        run = Folder(path)
        asked, rows = run.asked(), run.rows()
        writer = Writer(str(folder / name))
        for row in rows:
            for curve in CURVES:
                tag = f"{asked.algorithm}/{asked.env}/{curve}"
                writer.add_scalar(tag, row[curve], step=int(row["step"]))
                count += 1
        writer.close()
    return count
