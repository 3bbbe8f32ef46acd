"""Both frameworks through the same training, put back on one track after every update.

One side drives: it acts in the real environment and keeps the batches. Before each of its updates
the other side gets its state and the same batch and draws. In float32 every link of the update is
then run on both, each with the inputs and the state that the driving side has there; in float64 the
whole update. So a difference belongs to the link and the update in which it arose, however long the
training.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from impls.training.runs import Asked
from impls.training.sides import Side
from impls.training.train import make_loop
from parity.backends import to_numpy
from parity.checks.learner import Link

BOUNDS = {"float32": 1e-6, "float64": 1e-10}
"""Per link, and per whole update; times the largest magnitude of the compared array, at least 1.

float32: 8 roundings of an array's largest value, as for every check with forced inputs. float64:
a composed update of some hundred operations and an optimizer's division by roots near its epsilon.
"""


@dataclass
class Worst:
    """The largest error so far of one link (or of whole updates)."""

    error: float = 0.0
    update: int = -1
    entry: str = ""
    values: int = 0

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

    @property
    def worst(self) -> tuple[str, Worst]:
        return max(self.links.items(), key=lambda item: item[1].error)

    def document(self) -> dict[str, Any]:
        name, worst = self.worst
        return {
            "asked": asdict(self.asked),
            "updates": self.updates,
            "steps": self.steps,
            "bound": self.bound,
            "agree": self.first is None,
            "first_difference": self.first,
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
    other = "tf" if asked.framework == "torch" else "torch"
    for name in ("torch", "tf"):  # torch is imported first
        if name == asked.framework:
            driver = make_loop(asked, impl=impls.get(name), compiled=_compiled(asked, name))
        else:
            follower = _follower(asked, other, impls.get(name))
    chain = importlib.import_module(f"impls.{asked.algorithm}.cases").links(driver.config)
    result = Result(asked, bound=BOUNDS[asked.dtype])
    compare = _whole if asked.dtype == "float64" else _Links(chain, driver.side, follower)
    original = driver.on_update

    def watched(batch: Mapping[str, Any], draws: Mapping[str, Any]) -> Mapping[str, Any]:
        found = compare(driver.side, follower, original, batch, draws)
        for link, entry, error, size in found.errors:
            result.links.setdefault(link, Worst()).see(result.updates, entry, error, size)
            if result.first is None and not error <= result.bound:
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


def _compiled(asked: Asked, framework: str) -> bool:
    """TensorFlow always as graphs: its eager updates take ten times as long."""
    return asked.compiled or framework == "tf"


def _follower(asked: Asked, framework: str, impl: Any) -> Side:
    compiled = _compiled(asked, framework)
    loop = make_loop(replace(asked, framework=framework), impl=impl, compiled=compiled)
    loop.close()
    return loop.side


@dataclass
class Found:
    """Errors of one update: link, entry, error, values; and what the driving side returned."""

    errors: list[tuple[str, str, float, int]]
    made: Mapping[str, Any]


def _whole(
    driver: Side,
    follower: Side,
    update: Callable[..., Mapping[str, Any]],
    batch: Mapping[str, Any],
    draws: Mapping[str, Any],
) -> Found:
    """The whole update on both, from the driver's state."""
    follower.learner.load_state(driver.learner.state())
    given = [{n: to_numpy(v) for n, v in group.items()} for group in (batch, draws)]
    made = update(batch, draws)
    theirs = follower.update(*(follower.tensors(group) for group in given))
    errors = [
        ("update", name, *error_of(to_numpy(value), to_numpy(theirs[name])))
        for name, value in made.items()
    ]
    ours, others = driver.learner.state(), follower.learner.state()
    errors += [("update", name, *error_of(ours[name], others[name])) for name in ours]
    return Found(errors, made)


class _Links:
    """Link by link; those of TensorFlow as graphs, because eager ones take ten times as long."""

    def __init__(self, chain: tuple[Link, ...], *sides: Side) -> None:
        self.chain = chain
        self.methods = {
            side.name: {link.name: _method(side, link.name) for link in chain} for side in sides
        }

    def __call__(
        self,
        driver: Side,
        follower: Side,
        update: Callable[..., Mapping[str, Any]],
        batch: Mapping[str, Any],
        draws: Mapping[str, Any],
    ) -> Found:
        before = driver.learner.state()
        follower.learner.load_state(before)
        values: dict[str, Any] = {
            n: to_numpy(v) for group in (batch, draws) for n, v in group.items()
        }
        errors = list(self._walk(driver, follower, values))
        driver.learner.load_state(before)
        return Found(errors, update(batch, draws))

    def _walk(
        self, driver: Side, follower: Side, values: dict[str, Any]
    ) -> Iterator[tuple[str, str, float, int]]:
        for link in self.chain:
            outputs = {}
            for side in (driver, follower):
                arguments = [_tensors(side, values[name]) for name in link.inputs]
                returned = self.methods[side.name][link.name](*arguments)
                parts = returned if isinstance(returned, tuple) else (returned,)
                outputs[side.name] = [_arrays(side, p) for p in parts[: len(link.outputs)]]
            for name, ours, theirs in zip(
                link.outputs, outputs[driver.name], outputs[follower.name], strict=True
            ):
                values[name] = ours
                for entry, a, b in _pairs(name, ours, theirs):
                    yield (link.name, entry, *error_of(a, b))
            if link.writes:
                ours, theirs = driver.learner.state(), follower.learner.state()
                for entry in ours:
                    yield (link.name, entry, *error_of(ours[entry], theirs[entry]))
                follower.learner.load_state(ours)


def _method(side: Side, name: str) -> Callable[..., Any]:
    method: Callable[..., Any] = getattr(side.learner, name)
    if side.name == "torch":
        return method
    import tensorflow as tf

    traced: Callable[..., Any] = tf.function(method, autograph=False)
    return traced


def _tensors(side: Side, value: Any) -> Any:
    if isinstance(value, Mapping):
        return side.learner.from_canonical(value)
    return side.tensors({"value": value})["value"]


def _arrays(side: Side, value: Any) -> Any:
    if isinstance(value, Mapping):
        return side.learner.to_canonical({n: v for n, v in value.items() if v is not None})
    return to_numpy(value)


def _pairs(name: str, ours: Any, theirs: Any) -> Iterator[tuple[str, Any, Any]]:
    if not isinstance(ours, Mapping):
        yield name, ours, theirs
        return
    for key in {**ours, **theirs}:
        yield f"{name}/{key}", ours.get(key), theirs.get(key)


def error_of(ours: Any, theirs: Any) -> tuple[float, int]:
    """The largest difference, relative to the largest magnitude (at least 1), and how many values.

    Infinite where one side lacks the array, has another shape, or is not finite where the other is.
    """
    if ours is None or theirs is None or ours.shape != theirs.shape:
        return float("inf"), 0
    if ours.dtype.kind in "biu":
        return (0.0 if np.array_equal(ours, theirs) else float("inf")), ours.size
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    if a.size == 0:
        return 0.0, 0
    if not np.isfinite(a).all() or not np.isfinite(b).all():
        return (0.0 if np.array_equal(a, b, equal_nan=True) else float("inf")), a.size
    return float(np.abs(a - b).max() / max(1.0, np.abs(a).max())), a.size
