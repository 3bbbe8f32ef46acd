"""What an environment's resets do with their seed, as properties that two generators can share.

Two sides may draw from different generators, so their starts need not agree. What must agree is
whether a seed matters, whether it brings a start back, and whether the episodes behind one seeded
reset begin in different states. A rollout cannot show the last: each of its resets is seeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.debug.environment_trials import Cause, cause_of
from parity.debug.stepping import leaves, observed, reset, takes_seed

if TYPE_CHECKING:
    from parity.debug.environments import Bench

PLACE = "reset/"
SEEDED_VARIES = "seeded/varies"
SEEDED_REPEATS = "seeded/repeats"
VARIES = "unseeded/varies"
REPEATS = "unseeded/repeats"
MOST = 8
"""Resets after which starts that were all one are taken for the only one there is: few starts may
come up several times in a row."""

Start = dict[str, np.ndarray]


def properties(fresh: Callable[[], Any], seed: int, label: str) -> dict[str, bool]:
    """The properties that could be found out; none for an environment that takes no seed.

    ``seeded/varies``: other seeds begin elsewhere. ``seeded/repeats``: a seed begins where it began
    before, in a used environment too. ``unseeded/varies``: resets without a seed, behind a seeded
    one, begin in different states. ``unseeded/repeats``: and in the same states when all is done
    again from that seed.

    Args:
        fresh: makes a new environment.
    """
    found: dict[str, bool] = {}
    with suppress(Exception):  # a reset without a seed, or out of turn, may be refused
        environment = fresh()
        if not takes_seed(environment):
            return {}
        first = _seeded(environment, seed, label)
        other = fresh()
        found[SEEDED_VARIES] = any(
            not _same(first, _seeded(other, seed + k, label)) for k in range(1, MOST)
        )
        found[SEEDED_REPEATS] = _same(first, _seeded(fresh(), seed, label))
        behind = list(_until_another(environment, label))
        found[VARIES] = any(not _same(behind[0], start) for start in behind)
        found[SEEDED_REPEATS] &= _same(first, _seeded(environment, seed, label))
        if found[VARIES]:
            again = fresh()
            _seeded(again, seed, label)
            found[REPEATS] = all(_same(start, _unseeded(again, label)) for start in behind)
    return found


def _until_another(environment: Any, label: str) -> Iterator[Start]:
    """The starts of resets without a seed, up to one that is not like the first of them."""
    first = _unseeded(environment, label)
    yield first
    for _ in range(MOST):
        start = _unseeded(environment, label)
        yield start
        if not _same(first, start):
            return


def _seeded(environment: Any, seed: int, label: str) -> Start:
    return _copied(leaves(reset(environment, seed, label)[0], label))


def _unseeded(environment: Any, label: str) -> Start:
    return _copied(leaves(observed(environment.reset())[0], label))


def _copied(start: Start) -> Start:
    # an environment may hand out one array that it writes into
    return {name: array.copy() for name, array in start.items()}


def _same(one: Start, other: Start) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f")
        for name in one
    )


def nothing_else(bench: Bench) -> bool:
    """Whether the rollouts and spaces agree, and only a property of the resets differs."""
    return all(entry.name.removeprefix(PLACE) in _SAID for entry in bench.report.failing)


def causes(bench: Bench) -> list[Cause]:
    """What the sides' resets do otherwise, one cause for each property that differs."""
    failing = {e.name.removeprefix(PLACE) for e in bench.report.failing}
    names = [name for name in _SAID if name in failing]
    if not names:
        return []
    torch_has, found = bench.sides["torch"].seeding(bench.seed), []
    for name in names:
        without = "tf" if torch_has.get(name) else "torch"
        cause, text = _SAID[name]
        said = text.format(side=without, other="tf" if without == "torch" else "torch")
        found.append(cause_of(cause, said))
    return found


_SAID: dict[str, tuple[str, str]] = {
    SEEDED_VARIES: (
        "environment-seed",
        "{side} begins alike whatever the seed, {other} does not: {side} ignores its seed",
    ),
    SEEDED_REPEATS: (
        "environment-seed",
        "a seed that {side} had before does not bring its start back: {side} takes its first seed "
        "only, or draws from elsewhere too; {other} begins as before",
    ),
    VARIES: (
        "reseeded",
        "resets without a seed, behind one with a seed, all begin in one state on the {side} side: "
        "it seeds itself again at each reset, or begins at a constant; {other} goes on with its "
        "generator",
    ),
    REPEATS: (
        "environment-seed",
        "resets without a seed begin elsewhere in a second run on the {side} side, although both "
        "runs begin with one seed: it makes a new generator there; {other} goes on with its own",
    ),
}
"""Property -> cause, and what is said of the side that lacks it."""
