"""Numbers that the two sides hold, a change to one of the tf side's, and solving for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from parity.diagnose.bench import Bench
from parity.diagnose.constants import Constant, constants_of, put
from parity.diagnose.hypotheses import Change
from parity.tolerance import SAME_NUMBER

_NEWTON = 8


def close(bench: Bench) -> float:
    """Numbers found from data are known to the precision of the run."""
    return SAME_NUMBER * (0.01 if bench.bound_dtype == "float64" else 3.0)


def torch_numbers(bench: Bench) -> list[tuple[str, float]]:
    """Numbers of the torch side: by name from its code, and from its operations."""
    caller = bench.callers["torch"]
    found = [
        (c.name or f"{float(c.value):.6g}", float(c.value))
        for c in constants_of(_made(bench, "torch"), caller.subject.factory)
        if not isinstance(c.value, bool)
    ]
    for value in bench.theirs:
        numbers = value.call.numbers if value.call is not None else ()
        found += [(f"{n:.6g}", n) for n in numbers if np.isfinite(n) and abs(n) < 1e6]
    found += _settings(bench)
    unique: dict[float, str] = {}
    for name, number in found:
        unique.setdefault(number, name)
    return [(name, number) for number, name in unique.items()]


def _settings(bench: Bench) -> list[tuple[str, float]]:
    return [
        (f"{owner}.{name}", float(value))
        for owner, settings in bench.torch_settings
        for name, value in settings.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]


def _made(bench: Bench, side: str) -> Any:
    caller = bench.callers[side]
    try:
        return caller.made(bench.dtype, bench.inputs[side])
    except Exception:
        return caller.subject.value


def tf_constants(bench: Bench) -> list[Constant]:
    return constants_of(_made(bench, "tf"), bench.callers["tf"].subject.factory)


def setting(bench: Bench, values: dict[str, Any]) -> Change:
    """A change that gives some constants of the tf side's code other values."""
    caller = bench.callers["tf"]

    def altered(made: Any) -> AbstractContextManager[None]:
        return put(constants_of(made), values)

    @contextmanager
    def inside() -> Iterator[None]:
        before = caller.alter
        caller.alter = altered
        try:
            with put(constants_of(None, caller.subject.factory), values):
                yield
        finally:
            caller.alter = before

    return Change(inside=(inside,))


def solve(bench: Bench, change: Callable[..., Change], start: float) -> float | None:
    """The number under which the tf side comes nearest to torch, by Gauss and Newton."""
    names = [bench.first] if bench.first is not None else []
    step = 1e-4 if bench.bound_dtype == "float64" else 1e-2
    x = start
    for turn in range(_NEWTON):
        if bench.expired:
            return None
        delta = step * max(abs(x), 0.1)
        here, there = bench.traced(change(x)), bench.traced(change(x + delta))
        r0 = None if here is None else bench.residual(here, names)
        r1 = None if there is None else bench.residual(there, names)
        if r0 is None or r1 is None:
            return None
        slope = (r1 - r0) / delta
        power = float(slope @ slope)
        if power == 0.0:
            return None
        move = -float(slope @ r0) / power
        left = r0 + slope * move
        if turn == 0 and float(left @ left) > 0.25 * float(r0 @ r0):
            return None  # not even near: the difference is of another kind
        x += move
        if abs(move) <= 1e-14 * max(abs(x), 1e-30):
            break
        step = max(step * 0.1, 1e-7 if bench.bound_dtype == "float64" else 1e-2)
    return x
