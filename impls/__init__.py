"""Paired implementations: one folder per component, always the same files.

Arrays are time-major ``[T, B, ...]``: T steps, B environments or rows of a batch. Names carry time
as in the literature: ``r_t``, ``discount_t``, ``v_tm1``, ``a_tm1``. ``terminated`` (the task ended:
the value of what follows is zero) and ``truncated`` (a time limit cut the episode: bootstrapping
goes on) are always told apart.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parity.component import Component

COMPONENTS = (
    "networks",
    "losses",
    "returns",
    "replay_buffer",
    "exploration",
    "target_update",
    "optimizers",
    "rollouts",
    "ddpg",
    "td3",
    "stream_training",
    "policies",
    "advantages",
    "policy_losses",
    "sac_losses",
    "value_losses",
    "actor_critic_network",
    "reinforce",
    "actor_critic",
    "a2c",
    "ppo",
    "n_step_replay",
    "prioritized_replay",
    "a3c",
    "dqn",
    "nature_cnn",
    "recurrent_policy",
    "sac",
)


def load_component(name: str) -> Component:
    """The component's specification, by folder name; imports no framework."""
    if name not in COMPONENTS:
        raise KeyError(f"unknown component {name!r}; known: {', '.join(COMPONENTS)}")
    component: Component = import_module(f"impls.{name}.spec").COMPONENT
    return component
