"""One update on both sides of a lockstep run, compared: whole, or link by link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from impls.training.chains import Chain, Walk, Walker, flat, follower_of
from impls.training.differences import errors_of
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
AGAIN = 1e-12
"""What a link over its bound in float32 must hold in float64, from the same inputs and state, to
be rounding and not a difference: the bound of every float64 check with forced inputs."""
SHRINKS = 2.0**-23
"""Or this part of its error in float32, if that is less than a whole update may have: float64 has
29 more bits, and a difference would keep its size. A loss of 1,000 behind a saturated unit leaves
gradients with errors near 1e-4 in float32, and near 1e-12 in float64; 6 bits are left for how
differently two libraries round."""


Labels = list[tuple[int, str]]
"""Places of links in their chain, with an entry of what each makes."""


def is_compiled(asked: Asked, framework: str) -> bool:
    """TensorFlow always as graphs: its eager updates take ten times as long."""
    return asked.compiled or framework == "tf"


def side_of(asked: Asked, framework: str, impl: Any) -> Side:
    compiled = is_compiled(asked, framework)
    loop = make_loop(replace(asked, framework=framework), impl=impl, compiled=compiled)
    loop.close()
    return loop.side


def is_rounding(error: float, left: float) -> bool:
    """Whether an error in float32, of which so much is left in float64, is that of rounding."""
    return left <= max(AGAIN, min(SHRINKS * error, BOUNDS["float64"]))


@dataclass
class Found:
    """Errors of one update: link, entry, error, values; and what the driving side returned."""

    errors: list[tuple[str, str, float, int]]
    made: Mapping[str, Any]
    roundings: frozenset[tuple[str, str]] = frozenset()
    """Links and entries over the bound that agree in float64."""


class Twins:
    """Both sides once more, in float64; made when a link is over its bound for the first time."""

    def __init__(self, asked: Asked, impls: Mapping[str, Any]) -> None:
        self.asked, self.impls = replace(asked, dtype="float64"), impls
        self.walkers: list[Walker] = []

    def agree(
        self, chain: Chain, walk: Walk, at: int, errors: Mapping[str, float]
    ) -> frozenset[str]:
        """Of the entries with these errors in float32, those that a link makes alike in float64."""
        if not self.walkers:
            sides = [side_of(self.asked, name, self.impls.get(name)) for name in ("torch", "tf")]
            self.walkers = [Walker(side, chain) for side in sides]
        entries = []
        for walker in self.walkers:
            walker.side.learner.load_state(chain.state_at(walk, at))
            made, wrote = walker.call(at, walk.values)
            entries.append({**flat(made), **wrote})
        ours, theirs = entries
        again = errors_of([(ours[name], theirs.get(name)) for name in errors])
        return frozenset(
            name
            for (name, error), (left, _) in zip(errors.items(), again, strict=True)
            if is_rounding(error, left)
        )


class Whole:
    """The whole update on both, from the driving side's state."""

    def __init__(self, driver: Side, follower: Side) -> None:
        self.driver, self.follower = driver, follower
        self.held: Any = follower.learner
        if follower.name == "tf":
            from impls.training.tf_chains import Mirror

            self.held = Mirror(follower.learner)

    def __call__(
        self,
        update: Callable[..., Mapping[str, Any]],
        batch: Mapping[str, Any],
        draws: Mapping[str, Any],
    ) -> Found:
        self.held.load_state(self.driver.learner.state())
        given = [{n: to_numpy(v) for n, v in group.items()} for group in (batch, draws)]
        made = update(batch, draws)
        theirs = self.follower.update(*(self.follower.tensors(group) for group in given))
        returned = [(to_numpy(value), to_numpy(theirs[name])) for name, value in made.items()]
        ours, others = self.driver.learner.state(), self.held.state()
        found = errors_of([*returned, *((ours[name], others[name]) for name in ours)])
        return Found([("update", n, *e) for n, e in zip([*made, *ours], found, strict=True)], made)


class Links:
    """Link by link: the driving side walks, the other follows, then the driver makes its update."""

    def __init__(self, links: tuple[Link, ...], driver: Side, follower: Side, twins: Twins) -> None:
        self.chain = Chain(links, driver.learner.state())
        self.driver, self.twins = driver, twins
        self.leads, self.follows = Walker(driver, self.chain), follower_of(follower, self.chain)

    def __call__(
        self,
        update: Callable[..., Mapping[str, Any]],
        batch: Mapping[str, Any],
        draws: Mapping[str, Any],
    ) -> Found:
        given = {n: to_numpy(v) for group in (batch, draws) for n, v in group.items()}
        ours = self.leads.drive(given)
        theirs = self.follows.follow(ours)
        self.driver.learner.load_state(ours.before)
        names = [*(link.name for link in self.chain.links), "(untouched)"]
        labels, pairs = [], []
        for at, (mine, other) in enumerate(
            zip([*ours.made, ours.rest], [*theirs.made, theirs.rest], strict=True)
        ):
            for entry in {**mine, **other}:
                labels.append((at, entry))
                pairs.append((mine.get(entry), other.get(entry)))
        found = errors_of(pairs)
        over = {
            label: e
            for label, (e, _) in zip(labels, found, strict=True)
            if not e <= BOUNDS["float32"]
        }
        errors = [(names[at], n, *e) for (at, n), e in zip(labels, found, strict=True)]
        roundings = frozenset((names[at], n) for at, n in self._roundings(ours, over))
        return Found(errors, update(batch, draws), roundings)

    def _roundings(self, walk: Walk, over: Mapping[tuple[int, str], float]) -> Labels:
        """Those of the arrays over the bound that agree in float64."""
        agree = []
        for link in {at for at, _ in over if at < len(self.chain.links)}:
            errors = {entry: error for (at, entry), error in over.items() if at == link}
            agree += [(link, entry) for entry in self.twins.agree(self.chain, walk, link, errors)]
        return agree
