"""Both frameworks through the same training, put back on one track after every update.

One side drives: it acts in the real environment and keeps the batches. Before each of its updates
the other side gets its state and the same batch and draws. In float32 every link of the update is
then run on both, each with the inputs and the state that the driving side has there; in float64 the
whole update. So a difference belongs to the link and the update in which it arose, however long the
training.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from impls.errors import ConfigError
from impls.training.registry import algorithm
from impls.training.runs import Asked
from impls.training.train import make_loop
from impls.training.updates import BOUNDS, Found, Links, Twins, Whole, is_compiled, side_of
from parity.checks.learner import Link
from parity.report import SCHEMA

POINTS = 400
"""Of a curve: as many as a plot can show."""


@dataclass
class Worst:
    """The largest error so far of one link (or of whole updates)."""

    error: float = 0.0
    update: int = -1
    entry: str = ""
    values: int = 0
    roundings: int = 0
    """Arrays over the bound in float32 that agree in float64."""

    def see(self, update: int, entry: str, error: float, size: int) -> None:
        self.values += size
        if not error <= self.error:  # NaN leads
            self.error, self.update, self.entry = error, update, entry


@dataclass
class Result:
    """What a lockstep run found."""

    asked: Asked
    updates: int = 0
    steps: int = 0
    bound: float = 0.0
    links: dict[str, Worst] = field(default_factory=dict)
    first: dict[str, Any] | None = None
    """Update, link, entry and error of the first difference over the bound."""
    curves: dict[str, dict[int, float]] = field(default_factory=dict)
    """Link -> part of the run (of :data:`POINTS`) -> its largest error there; for a plot."""

    @property
    def worst(self) -> tuple[str, Worst]:
        return max(self.links.items(), key=lambda item: item[1].error)

    @property
    def roundings(self) -> int:
        """Arrays over the bound in float32 that agree in float64."""
        return sum(worst.roundings for worst in self.links.values())

    def document(self) -> dict[str, Any]:
        name, worst = self.worst
        return {
            "schema": SCHEMA,
            "kind": "lockstep",
            "asked": asdict(self.asked),
            "updates": self.updates,
            "steps": self.steps,
            "bound": self.bound,
            "agree": self.first is None,
            "first_difference": self.first,
            "roundings": self.roundings,
            "worst": {"link": name, **asdict(worst)},
            "links": {name: asdict(w) for name, w in self.links.items()},
        }


def lockstep(
    asked: Asked,
    updates: int,
    *,
    progress: Callable[[int], None] = lambda done: None,
    impls: Mapping[str, Any] | None = None,
) -> Result:
    """Train in lockstep; ``asked.framework`` drives.

    Args:
        updates: how many updates are compared.
        impls: framework -> sibling module to use in place of the algorithm's, for planted bugs.

    Raises:
        ConfigError: what was asked does not fit together, or the algorithm has no chain of links.
    """
    impls = dict(impls or {})
    links_of(asked.algorithm)
    other = "tf" if asked.framework == "torch" else "torch"
    for name in ("torch", "tf"):  # torch is imported first
        if name == asked.framework:
            driver = make_loop(asked, impl=impls.get(name), compiled=is_compiled(asked, name))
        else:
            follower = side_of(asked, other, impls.get(name))
    chain = links_of(asked.algorithm, driver.config)
    result = Result(asked, bound=BOUNDS[asked.dtype])
    compare: Callable[..., Found] = (
        Whole(driver.side, follower)
        if asked.dtype == "float64"
        else Links(chain, driver.side, follower, Twins(asked, impls))
    )
    original = driver.on_update

    def watched(batch: Mapping[str, Any], draws: Mapping[str, Any]) -> Mapping[str, Any]:
        found = compare(original, batch, draws)
        for link, entry, error, size in found.errors:
            worst = result.links.setdefault(link, Worst())
            worst.see(result.updates, entry, error, size)
            curve = result.curves.setdefault(link, {})
            at = result.updates * POINTS // updates
            curve[at] = max(curve.get(at, 0.0), float(error), key=_size)
            if error <= result.bound:
                continue
            if (link, entry) in found.roundings:
                worst.roundings += 1
            elif result.first is None:
                result.first = {
                    "update": result.updates,
                    "link": link,
                    "entry": entry,
                    "error": float(error),
                }
        result.updates += 1
        progress(result.updates)
        return found.made

    driver.on_update = watched
    try:
        while result.updates < updates:
            driver.advance()
    finally:
        driver.close()
    result.steps = driver.step
    return result


def _size(error: float) -> float:
    return math.inf if math.isnan(error) else error


def links_of(name: str, config: Any = None) -> tuple[Link, ...]:
    """The chain of an algorithm's update; without a configuration, only whether it has one."""
    cases = importlib.import_module(f"impls.{algorithm(name).name}.cases")
    if not hasattr(cases, "links"):
        raise ConfigError(f"{name}: its update is no chain of links; freerun compares it whole")
    made: tuple[Link, ...] = () if config is None else cases.links(config)
    return made
