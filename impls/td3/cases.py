"""What TD3 is checked on: its chain of links, and the data of the cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from impls.learner.cases import Examples, level_critics, real_batches, synthetic_batches
from impls.td3.config import TD3Config, initial_state
from impls.td3.numpy_ref import make_learner
from parity.checks.learner import Link
from parity.checks.training import LinkCheck, LockstepCheck, UpdateSequenceCheck
from parity.component import Check
from parity.tolerance import Tolerance

COMPOSED = {
    "float64": {"*": Tolerance(1e-10, "20 updates, each continuing from its own side's results")}
}


def links(config: TD3Config) -> tuple[Link, ...]:
    """The update as a chain, in order."""
    clips = config.max_gradient_norm is not None
    chain = (
        Link("target_action", ("next_observation", "noise"), ("next_action",)),
        Link(
            "target",
            ("reward", "next_observation", "next_action", "terminated", "truncated"),
            ("target",),
        ),
        Link("td_error", ("observation", "action", "target"), ("td_error_q1", "td_error_q2")),
        Link(
            "critic_loss",
            ("observation", "action", "target"),
            ("critic_loss",),
            constants=("target",),
        ),
        Link(
            "critic_gradients",
            ("observation", "action", "target"),
            ("critic_loss", "critic_gradients"),
        ),
        Link("clip_critic", ("critic_gradients",), ("critic_clipped", "critic_norm")),
        Link(
            "apply_critic",
            ("critic_clipped" if clips else "critic_gradients",),
            writes=("slot/critic/*", "param/critic/*"),
        ),
        Link("actor_loss", ("observation",), ("actor_loss",)),
        Link("actor_gradients", ("observation",), ("actor_loss", "actor_gradients")),
        Link("clip_actor", ("actor_gradients",), ("actor_clipped", "actor_norm")),
        Link(
            "apply_actor",
            ("actor_clipped" if clips else "actor_gradients",),
            writes=("slot/actor/*", "param/actor/*"),
        ),
        Link("update_targets", writes=("target/*",)),
    )
    return tuple(link for link in chain if clips or not link.name.startswith("clip_"))


def _acting(learner: Any, given: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """What the targets are made of: the next observations, and the target actor's actions there."""
    s = given["next_observation"]
    return s, learner.target_action(s, given["noise"])


def starting_state(config: TD3Config, examples: Examples) -> Any:
    """See :func:`impls.learner.cases.level_critics`."""
    return level_critics(initial_state, make_learner, config, examples, _acting)


@dataclass(frozen=True)
class Case:
    """A configuration with its data."""

    name: str
    config: TD3Config
    examples: Examples
    needs: tuple[str, ...] = ()

    def common(self) -> dict[str, Any]:
        return {
            "case": self.name,
            "config": self.config,
            "initial_state": starting_state(self.config, self.examples),
            "examples": self.examples,
            "needs": self.needs,
        }


CASES = (
    Case(
        "pendulum",
        TD3Config(3, 1, 2.0, (11,), max_gradient_norm=0.5, tau=0.01),
        real_batches("Pendulum-v1", reward_scale=0.1, max_episode_steps=20, noise=True),
        ("gymnasium",),
    ),
    Case(
        "lunar-lander",
        TD3Config(8, 2, 1.0, (11, 7), policy_delay=3),
        real_batches(
            "LunarLanderContinuous-v3", reward_scale=0.1, max_episode_steps=90, noise=True
        ),
        ("gymnasium", "box2d"),
    ),
    Case(
        "half-cheetah",
        TD3Config(17, 6, 1.0, (11, 7), gamma=0.9, policy_noise=0.6, noise_clip=0.9),
        real_batches("HalfCheetah-v5", max_episode_steps=25, noise=True),
        ("gymnasium", "mujoco"),
    ),
    Case(
        "one-row",
        TD3Config(3, 2, (0.5, 2.0), (11, 7), policy_delay=1, max_gradient_norm=0.02),
        synthetic_batches(3, 2, rows=1, noise=True),
    ),
    Case("square", TD3Config(5, 5, 1.0, (5, 5)), synthetic_batches(5, 5, rows=5, noise=True)),
)

PENDULUM = CASES[0]
"""Small, and the one that is compiled as well: compiling takes seconds per layer."""

TRACES = 2
"""Graphs of a compiled learner: the critics' part and the delayed part."""


def _slower(group: str) -> Any:
    return lambda learner: learner.set_learning_rate(group, 2.5e-4)


CHANGES = {2: _slower("critic"), 3: _slower("actor")}
"""Learning rates change while a compiled update is in use."""

LINK_CHECKS: tuple[Check, ...] = tuple(
    LinkCheck(name=link.name, links=links(case.config), **case.common())
    for case in CASES
    for link in links(case.config)
)

BEFORE_FIRST = ("update/0[01]/state/slot/actor/*",)
"""The actor's slots are zero until its first, delayed, update."""

UPDATE_CHECKS: tuple[Check, ...] = tuple(
    check
    for case in CASES
    for check in (
        UpdateSequenceCheck(
            name="update",
            traces=TRACES,
            dtypes=("float64",),
            modes=("eager", "xla") if case is PENDULUM else ("eager",),
            changes=CHANGES,
            tolerances=COMPOSED,
            expect_zero=BEFORE_FIRST,
            **case.common(),
        ),
        LockstepCheck(
            name="update",
            traces=TRACES,
            changes=CHANGES,
            expect_zero=BEFORE_FIRST,
            **case.common(),
        ),
    )
)

# torch compiles TD3 in float64, inside of the stream trainer, which runs this learner: compiling
# takes most of the suite's time, and is done once for each algorithm.
COMPILED_CHECK = LockstepCheck(
    name="update",
    traces=TRACES,
    dtypes=("float32",),
    modes=("xla",),
    changes=CHANGES,
    expect_zero=BEFORE_FIRST,
    **{**PENDULUM.common(), "case": "pendulum-compiled"},
)

CHECKS = (*LINK_CHECKS, *UPDATE_CHECKS, COMPILED_CHECK)
