"""What DDPG is checked on: its chain of links, and the data of the cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from impls.ddpg.config import DDPGConfig, initial_state
from impls.learner.cases import Examples, apart, real_batches, synthetic_batches
from parity.checks.learner import Link
from parity.checks.training import LinkCheck, LockstepCheck, UpdateSequenceCheck
from parity.component import Check
from parity.tolerance import Tolerance

COMPOSED = {
    "float64": {"*": Tolerance(1e-10, "20 updates, each continuing from its own side's results")}
}


def links(config: DDPGConfig) -> tuple[Link, ...]:
    """The update as a chain, in order."""
    clips = config.max_gradient_norm is not None
    chain = (
        Link("target_action", ("next_observation",), ("next_action",)),
        Link(
            "target",
            ("reward", "next_observation", "next_action", "terminated", "truncated"),
            ("target",),
        ),
        Link("td_error", ("observation", "action", "target"), ("td_error",)),
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


@dataclass(frozen=True)
class Case:
    """A configuration with its data."""

    name: str
    config: DDPGConfig
    examples: Examples
    needs: tuple[str, ...] = ()

    def common(self) -> dict[str, Any]:
        return {
            "case": self.name,
            "config": self.config,
            "initial_state": apart(initial_state, self.config),
            "examples": self.examples,
            "needs": self.needs,
        }


CASES = (
    Case(
        "pendulum",
        DDPGConfig(3, 1, 2.0, (11,), max_gradient_norm=0.5, tau=0.01),
        real_batches("Pendulum-v1", reward_scale=0.1, max_episode_steps=20),
        ("gymnasium",),
    ),
    Case(
        "lunar-lander",
        DDPGConfig(8, 2, 1.0, (11, 7), critic_weight_decay=0.0),
        real_batches("LunarLanderContinuous-v3", reward_scale=0.1, max_episode_steps=90),
        ("gymnasium", "box2d"),
    ),
    Case(
        "half-cheetah",
        DDPGConfig(17, 6, 1.0, (11, 7), gamma=0.9),
        real_batches("HalfCheetah-v5", max_episode_steps=25),
        ("gymnasium", "mujoco"),
    ),
    Case(
        "one-row",
        DDPGConfig(3, 2, (0.5, 2.0), (11, 7), max_gradient_norm=0.02),
        synthetic_batches(3, 2, rows=1),
    ),
    Case("square", DDPGConfig(5, 5, 1.0, (5, 5)), synthetic_batches(5, 5, rows=5)),
)

PENDULUM = CASES[0]
"""Small, and the one that is compiled as well: compiling takes seconds per layer."""

TRACES = 1
"""Graphs of a compiled learner."""


def _slower(group: str) -> Any:
    return lambda learner: learner.set_learning_rate(group, 2.5e-4)


CHANGES = {2: _slower("critic"), 3: _slower("actor")}
"""Learning rates change while a compiled update is in use."""

LINK_CHECKS: tuple[Check, ...] = tuple(
    LinkCheck(name=link.name, links=links(case.config), **case.common())
    for case in CASES
    for link in links(case.config)
)

UPDATE_CHECKS: tuple[Check, ...] = tuple(
    check
    for case in CASES
    for check in (
        UpdateSequenceCheck(
            name="update",
            traces=TRACES,
            dtypes=("float64",),
            modes=("eager", "compiled", "xla") if case is PENDULUM else ("eager",),
            changes=CHANGES,
            tolerances=COMPOSED,
            **case.common(),
        ),
        LockstepCheck(
            name="update",
            traces=TRACES,
            changes=CHANGES,
            **case.common(),
        ),
    )
)

# torch compiles DDPG in float64 only, in the composed check: compiling takes most of the suite's
# time, and TD3 compiles the same parts in both.
COMPILED_CHECK = LockstepCheck(
    name="update",
    traces=TRACES,
    dtypes=("float32",),
    modes=("xla",),
    changes=CHANGES,
    **{**PENDULUM.common(), "case": "pendulum-xla"},
)

CHECKS = (*LINK_CHECKS, *UPDATE_CHECKS, COMPILED_CHECK)
