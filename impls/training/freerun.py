"""Both frameworks on their own from one seed: is what comes between them chaos, or a bug?

Training is a closed loop: an update changes the policy, which changes what is seen next. Rounding
therefore grows, mostly by a constant factor per update, until the two have nothing to do with each
other, in correct pairs too. The horizon is the first update after which the parameters are more
than 1e-6 apart. float64 begins about 2^29 times closer, so with growth by g digits per update its
horizon lies 29 log10(2) / g updates later. A bug does not know the precision: it makes the same
difference in both, at once.

    chaos     wherever float64 differs, it does so by about 2^-29 of what float32 differs by, until
              float32 has reached its horizon; so the horizon moves out
    diverge   float64 differs by far more than that
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from impls.training.differences import error_of
from impls.training.loops import Loop
from impls.training.runs import Asked
from impls.training.sides import Side
from impls.training.train import make_loop
from parity.backends import to_numpy
from parity.report import SCHEMA

HORIZON = 1e-6
DIGITS = 29 * math.log10(2.0)
"""Digits that float64 has more than float32."""
MARGIN = 1e3
"""How many times more than 2^-29 of float32's difference float64's may be and still be rounding.

Both are the largest of some thousand rounding errors that grew by different paths, so the ratio of
a correct pair is not 1. docs/lockstep.md has the ratios that were measured, of correct pairs and of
planted bugs.
"""
FLOOR = {"float32": 2.0**-24, "float64": 2.0**-53}
"""One rounding of a parameter near 1: what a difference is at least counted as."""


@dataclass
class Series:
    """Largest difference of the parameters after each update, and environment steps made."""

    dtype: str
    differences: list[float] = field(default_factory=list)
    outputs: list[float] = field(default_factory=list)
    """The same of what the updates returned (losses, TD errors), relative to their size."""
    steps: int = 0

    @property
    def horizon(self) -> int | None:
        """The first update (from 1) after which the two are over the bound; None: never."""
        return next((i + 1 for i, d in enumerate(self.differences) if not d <= HORIZON), None)


@dataclass
class Result:
    """What a free run found."""

    asked: Asked
    updates: int
    float32: Series
    float64: Series
    growth: float | None
    """Digits per update; None where float32 did not come near its horizon."""
    predicted: float | None
    """float64's horizon by that growth."""
    excess: float
    """The largest ratio of float64's difference to 2^-29 of float32's, before float32's horizon:
    of the parameters, and of what the updates returned."""
    verdict: str

    def document(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "kind": "freerun",
            "asked": asdict(self.asked),
            "updates": self.updates,
            "verdict": self.verdict,
            "growth_digits_per_update": self.growth,
            "horizon": {"float32": self.float32.horizon, "float64": self.float64.horizon},
            "predicted_horizon_float64": self.predicted,
            "excess_over_rounding": self.excess,
            "differences": {
                "float32": [_strict(d) for d in self.float32.differences],
                "float64": [_strict(d) for d in self.float64.differences],
            },
        }


def freerun(
    asked: Asked,
    updates: int,
    *,
    impls: Mapping[str, Any] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Result:
    """Run both frameworks freely in both precisions, and judge.

    Args:
        updates: per precision; a run ends early once the two are far beyond the horizon.
        impls: framework -> sibling module, for planted bugs.
        progress: called with the updates done, over both precisions.
    """
    series = {}
    for offset, dtype in enumerate(("float32", "float64")):
        series[dtype] = _run(
            replace(asked, dtype=dtype),
            updates,
            impls or {},
            lambda done, o=offset: progress(o * updates + done),
        )
    return judge(asked, updates, series["float32"], series["float64"])


def _run(
    asked: Asked, updates: int, impls: Mapping[str, Any], progress: Callable[[int], None]
) -> Series:
    loops = {
        name: make_loop(
            replace(asked, framework=name),
            impl=impls.get(name),
            compiled=asked.compiled or name == "tf",
        )
        for name in ("torch", "tf")
    }
    parameters = [parameters_of(loop.side) for loop in loops.values()]
    series = Series(asked.dtype)
    try:
        while len(series.differences) < updates:
            made = [_next_update(loop) for loop in loops.values()]
            series.outputs.append(outputs_apart(*made))
            series.differences.append(apart(*(read() for read in parameters)))
            progress(len(series.differences))
            if not series.differences[-1] <= 1e3 * HORIZON:
                break  # nothing is left to be seen
    finally:
        for loop in loops.values():
            loop.close()
    series.steps = loops["torch"].step
    return series


def _next_update(loop: Loop) -> Mapping[str, Any]:
    """Go on until there was one; what it returned."""
    before, made = loop.updates, {}
    while loop.updates == before:
        made = dict(loop.advance())
    return made


def outputs_apart(first: Mapping[str, Any], second: Mapping[str, Any]) -> float:
    """The largest difference of what two updates returned.

    A bug can sit in a value that is only reported: no parameter shows it. Counts are left out:
    precision does not grade them.
    """
    ours = {name: to_numpy(value) for name, value in first.items()}
    return max(
        (error_of(a, to_numpy(second[n]))[0] for n, a in ours.items() if a.dtype.kind == "f"),
        default=0.0,
    )


def parameters_of(side: Side) -> Callable[[], Mapping[str, np.ndarray]]:
    """What reads the trained parameters; those of one TensorFlow learner in one call."""
    if side.name == "torch" or not hasattr(side.learner, "optimizers"):
        return lambda: {n: v for n, v in side.learner.state().items() if n.startswith("param/")}
    from impls.training.tf_chains import Graph, Mirror

    mirror = Mirror(side.learner)
    names = [n for n in mirror.variables if n.startswith("param/")]
    graph = Graph(lambda none: mirror.read(names))
    return lambda: graph({})


def apart(ours: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray]) -> float:
    """The largest difference of two sets of parameters; infinite where one is not finite."""
    gaps = [np.abs(ours[n].astype(np.float64) - theirs[n]).max(initial=0.0) for n in ours]
    return max((float(g) if np.isfinite(g) else math.inf for g in gaps), default=0.0)


def judge(asked: Asked, updates: int, narrow: Series, wide: Series) -> Result:
    """The verdict over two series."""
    end = narrow.horizon or len(narrow.differences)
    excess = max(
        excess_of(narrow.differences[:end], wide.differences[:end]),
        excess_of(narrow.outputs[:end], wide.outputs[:end]),
    )
    growth = growth_of(narrow)
    predicted = None
    if growth is not None and growth > 0 and narrow.horizon is not None:
        predicted = round(narrow.horizon + DIGITS / growth, 1)
    short = wide.horizon is not None and narrow.horizon is not None and (
        wide.horizon <= narrow.horizon
    )  # fmt: skip
    bug = excess > MARGIN or short
    return Result(
        asked, updates, narrow, wide, growth, predicted, excess, "diverge" if bug else "chaos"
    )


def excess_of(narrow: Sequence[float], wide: Sequence[float]) -> float:
    """How many times more than 2^-29 of float32's difference float64's is, at most."""
    ratios = [
        max(d64, FLOOR["float64"]) / (2.0**-29 * max(d32, FLOOR["float32"]))
        for d32, d64 in zip(narrow, wide, strict=False)
        if not d32 == d64 == math.inf  # both lost: the horizons say so
    ]
    return max(ratios, default=0.0)


def growth_of(series: Series) -> float | None:
    """Digits per update up to the horizon: the slope between all pairs of points, its median.

    The median bears the jumps that a single decision of the environment makes. None where there
    are too few points, or nothing grew.
    """
    end = series.horizon or len(series.differences)
    points = [
        (i, math.log10(d)) for i, d in enumerate(series.differences[:end]) if 0 < d < math.inf
    ]
    if len(points) < 5:
        return None
    step = max(1, len(points) // 60)
    some = points[::step]
    slopes = [(y2 - y1) / (x2 - x1) for k, (x1, y1) in enumerate(some) for x2, y2 in some[k + 1 :]]
    return float(np.median(slopes))


def plot(result: Result, *, marks: bool = False) -> str:
    """log10(difference) against updates, as SVG markup."""
    from parity.html.plots import log_plot

    longest = max(len(s.differences) for s in (result.float32, result.float64))
    series: Sequence[Any] = [
        (key, s.dtype, mark, _thinned(s.differences))
        for key, s, mark in (
            ("propagated32", result.float32, "circle"),
            ("propagated64", result.float64, "square"),
        )
    ]
    return log_plot(
        series,
        longest,
        xlabel="update",
        ylabel="largest difference of parameters",
        marks=marks,
        bound=HORIZON,
    )


def _thinned(values: list[float]) -> list[tuple[int, float, str, Any]]:
    step = max(1, len(values) // 400)
    return [(i, v, f"update {i + 1}", None) for i, v in enumerate(values) if i % step == 0]


def _strict(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
