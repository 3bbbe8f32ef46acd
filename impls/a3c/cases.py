"""What A3C is checked on: single links, and events of several workers in a drawn order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from impls.a3c.config import PULL, PUSH, A3CConfig, initial_state
from impls.a3c.live_check import LiveCheck
from impls.learner.rollout_cases import (
    Examples,
    away_from_start,
    real_rollouts,
    synthetic_rollouts,
)
from parity.checks.function import FunctionCheck
from parity.checks.learner import Example, Link, State
from parity.checks.training import LinkCheck, LockstepCheck, UpdateSequenceCheck
from parity.component import DTYPES, Check
from parity.tolerance import Tolerance

EVENTS = 24
COMPOSED = {
    "float64": {"*": Tolerance(1e-10, "24 events, each continuing from its own side's results")}
}
EARLY = ("update/0*/state/slot/*", "update/0*/state/step")
"""Before the first push nothing has been counted or averaged."""
FIELDS = ("observation", "action", "reward", "next_observation", "terminated", "truncated")
LINKS = (
    Link("gradients", ("worker", *FIELDS), ("loss", "gradients")),
    Link(
        "push",
        ("worker", "gradients"),
        writes=("slot/actor_critic/*", "param/actor_critic/*", "step"),
    ),
    Link("pull", ("worker",), writes=("pulled/*",)),
)
"""The pull comes last: after it a worker holds what is shared, and a mistake would not show."""


def drawn_order(rng: np.random.Generator, workers: int, events: int) -> np.ndarray:
    """A legal order of events, [events, 2]: who is next is drawn, and does what comes next."""
    holding: set[int] = set()
    order = []
    for worker in rng.integers(workers, size=events).tolist():
        order.append((worker, PUSH if worker in holding else PULL))
        holding ^= {worker}
    return np.array(order, np.int64)


def with_events(examples: Examples, workers: int) -> Examples:
    """Rollouts, each with the event that it is for; a pull looks at none."""

    def made(rng: np.random.Generator, count: int) -> list[Example]:
        order = drawn_order(rng, workers, count)
        return [
            (batch, {"worker": worker, "event": event})
            for (batch, _), (worker, event) in zip(examples(rng, count), order, strict=True)
        ]

    return made


def workers_apart(config: A3CConfig) -> Any:
    """A starting state in which no worker holds the shared parameters or another worker's."""
    shared = away_from_start(initial_state, config)

    def state(rng: np.random.Generator) -> State:
        found = dict(shared(rng))
        for name, value in found.items():
            if name.startswith("pulled/"):
                moved = value + rng.uniform(-0.2, 0.2, value.shape)
                found[name] = moved.astype(np.float32).astype(np.float64)
        return found

    return state


@dataclass(frozen=True)
class Case:
    """A configuration with its data."""

    name: str
    config: A3CConfig
    examples: Examples
    needs: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = DTYPES

    def common(self) -> dict[str, Any]:
        return {
            "case": self.name,
            "config": self.config,
            "initial_state": workers_apart(self.config),
            "examples": with_events(self.examples, self.config.workers),
            "needs": self.needs,
        }


CASES = (
    Case(
        "cart-pole",
        A3CConfig(4, 2, hidden_sizes=(11,), workers=3, max_gradient_norm=0.02, gamma=0.9),
        real_rollouts(
            "CartPole-v1", steps=5, environments=1, max_episode_steps=12, reward_scale=0.1
        ),
        ("gymnasium",),
    ),
    Case(
        "adam",
        A3CConfig(
            3, 2, 2.0, True, (7,), optimizer="adam", workers=2, max_gradient_norm=None, gamma=0.9
        ),
        synthetic_rollouts(3, 2, steps=4, environments=1, continuous=True),
        dtypes=("float64",),
    ),
)

TINY = Case(
    "tiny",
    A3CConfig(3, 2, hidden_sizes=(5,), workers=1),
    synthetic_rollouts(3, 2, steps=3, environments=1),
)
"""One worker, one graph: it is compiled, which takes seconds."""

CHECKS: tuple[Check, ...] = (
    *(
        LinkCheck(name=link.name, links=LINKS, at=(0, 3), dtypes=case.dtypes, **case.common())
        for case in CASES
        for link in LINKS
    ),
    *(
        UpdateSequenceCheck(
            name="update",
            traces=1,
            updates=EVENTS,
            dtypes=("float64",),
            modes=modes,
            tolerances=COMPOSED,
            expect_zero=EARLY,
            **case.common(),
        )
        for case, modes in ((CASES[0], ("eager",)), (CASES[1], ("eager",)), (TINY, ("xla",)))
    ),
    LockstepCheck(name="update", traces=1, updates=8, expect_zero=EARLY, **CASES[0].common()),
    LiveCheck(
        name="push",
        case="two-threads",
        config=A3CConfig(3, 2, hidden_sizes=(5,), workers=2),
        examples=synthetic_rollouts(3, 2, steps=3, environments=1),
        dtypes=("float64",),
    ),
    FunctionCheck(
        name="worker_seeds",
        case="five-workers",
        inputs=lambda rng: {},
        options={"seed": 7, "workers": 5},
    ),
    FunctionCheck(
        name="worker_seeds",
        case="large-seed",
        inputs=lambda rng: {},
        options={"seed": 2**40 + 3, "workers": 2},
    ),
)
