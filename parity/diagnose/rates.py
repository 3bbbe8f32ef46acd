"""What makes two learning-rate schedules differ: a setting of Keras's, or another shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from parity.diagnose.schedules import recognise

_CLOSE = 2e-6
"""Rates of Keras are float32."""
_TURNS = 30
_SHOWN = 4


def facts(optimizer: Any, torch: Sequence[float], tf: Sequence[float]) -> dict[str, Any]:
    """Both series, the setting that would make them equal, and their shapes where known."""
    found: dict[str, Any] = {"torch_rates": _said(torch), "tf_rates": _said(tf)}
    wanted, held = np.asarray(torch, np.float64), np.asarray(tf, np.float64)
    for name, a, b in (("late", wanted[:-1], held[1:]), ("early", wanted[1:], held[:-1])):
        if len(a) > 1 and np.ptp(a) and np.allclose(a, b, rtol=_CLOSE, atol=0):
            return {**found, "shifted": name}
    schedule = getattr(optimizer, "_learning_rate", None)
    if schedule is None or not hasattr(schedule, "get_config") or not callable(schedule):
        return found
    config = {k: v for k, v in schedule.get_config().items() if isinstance(v, (bool, int, float))}
    start = _offset(_rates(schedule, {}, len(tf) + 1), held)
    for name, value in _fitting(schedule, config, wanted, start):
        found["argument"] = f"{type(schedule).__name__}({name}={value})"
        return found
    numbers = [float(v) for v in config.values() if not isinstance(v, bool) and v]
    numbers += [float(wanted[0]), float(wanted[-1]), float(wanted.min()), float(len(wanted))]
    steps = np.arange(start, start + len(wanted))
    shapes = [recognise(steps, series.astype(np.float32), numbers, "float32")
              for series in (wanted, held)]  # fmt: skip
    if shapes[0] is not None and shapes[1] is not None and shapes[0].kind != shapes[1].kind:
        found["shapes"] = (shapes[0].text, shapes[1].text)
    return found


def _said(rates: Sequence[float]) -> str:
    shown = ", ".join(f"{rate:.4g}" for rate in rates[:_SHOWN])
    return shown + (", ..." if len(rates) > _SHOWN else "")


def _rates(schedule: Any, changed: dict[str, Any], count: int) -> np.ndarray:
    """The first rates of a schedule with some settings changed; NaN where it refuses them."""
    try:
        made = type(schedule).from_config({**schedule.get_config(), **changed})
        return np.array([float(made(step)) for step in range(count)])
    except Exception:  # a value that the schedule does not take is not the one
        return np.full(count, np.nan)


def _offset(rates: np.ndarray, held: np.ndarray) -> int:
    """From which step on the recorded rates count."""
    return 0 if np.allclose(rates[: len(held)], held, rtol=_CLOSE, atol=0) else 1


def _fitting(
    schedule: Any, config: dict[str, Any], wanted: np.ndarray, start: int
) -> Iterator[tuple[str, Any]]:
    count = len(wanted) + start

    def gap(name: str, value: Any) -> np.ndarray:
        return np.asarray(_rates(schedule, {name: value}, count)[start:] - wanted)

    for name, value in config.items():
        options = _options(value)
        if isinstance(value, float):
            solved = _solved(partial(gap, name), value)
            options = [] if solved is None else [solved]
        for option in options:
            if np.abs(gap(name, option)).max() <= _CLOSE * np.abs(wanted).max():
                yield name, option


def _options(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if not isinstance(value, int):
        return []
    near = [value + step for step in (-1, 1, -2, 2)]
    return [v for v in (*near, 2 * value, value // 2, 10 * value, value // 10) if v > 0]


def _solved(gap: Callable[[float], np.ndarray], start: float) -> float | None:
    """The number under which one series becomes the other, by the secant of its largest gap."""
    first = gap(start)
    if not np.isfinite(first).all():
        return None
    at = int(np.argmax(np.abs(first)))
    a, b = start, start * 1.1 + 0.01
    fa, fb = float(first[at]), float(gap(b)[at])
    for _ in range(_TURNS):
        if not np.isfinite(fb) or fb == fa:
            break
        a, fa, b = b, fb, b - fb * (b - a) / (fb - fa)
        fb = float(gap(b)[at])
    if not np.isfinite(b):
        return None
    return next((float(f"{b:.{d}g}") for d in range(1, 5) if abs(float(f"{b:.{d}g}") - b)
                 <= 1e-4 * abs(b)), b)  # fmt: skip
