"""Constants of DDPG, and the state that it starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impls.learner.config import (
    fresh_state,
    require_at_least_zero,
    require_max_norm,
    require_share,
)
from impls.networks.config import ActorConfig, MLPConfig, initial_parameters

GROUPS = ("critic", "actor")
"""The networks, in the order in which an update changes them."""


@dataclass(frozen=True)
class DDPGConfig:
    """Constants of DDPG; the defaults are those of Lillicrap et al. 2016, section 7.

    Raises:
        ConfigError: a value is out of its range; the message names the field.
    """

    observation_size: int
    """Features of one observation."""
    action_size: int
    """Dimensions of one action."""
    max_action: tuple[float, ...] | float = 1.0
    """Largest magnitude of an action, in the environment's unit: one for all, or per dimension."""
    hidden_sizes: tuple[int, ...] = (400, 300)
    """Units of each hidden layer, of either network (paper: 400, 300)."""
    actor_learning_rate: float = 1e-4
    """Adam's step size for the actor, at least 0 (paper: 1e-4)."""
    critic_learning_rate: float = 1e-3
    """Adam's step size for the critic, at least 0 (paper: 1e-3)."""
    critic_weight_decay: float = 1e-2
    """L2 coefficient on all of the critic's parameters, joins the gradient (paper: 1e-2)."""
    gamma: float = 0.99
    """Discount per step, in [0, 1] (paper: 0.99)."""
    tau: float = 0.001
    """Share of the online networks that target networks take per update, in [0, 1] (paper: 0.001).
    """
    max_gradient_norm: float | None = None
    """Bound on the joint norm of each network's gradients; None does not clip (paper: none)."""
    check_finite: bool = True
    """Refuse NaN and infinity in a batch; costs one look at the values per update (ours)."""

    def __post_init__(self) -> None:
        _ = self.actor, self.critic  # their own checks: sizes, bounds
        require_at_least_zero(
            actor_learning_rate=self.actor_learning_rate,
            critic_learning_rate=self.critic_learning_rate,
            critic_weight_decay=self.critic_weight_decay,
        )
        require_share(gamma=self.gamma, tau=self.tau)
        require_max_norm(self.max_gradient_norm)

    @property
    def actor(self) -> ActorConfig:
        """The policy network."""
        return ActorConfig(
            self.observation_size, self.action_size, self.hidden_sizes, self.max_action
        )

    @property
    def critic(self) -> MLPConfig:
        """The action-value network, on observation and action side by side."""
        return MLPConfig(self.observation_size + self.action_size, self.hidden_sizes, 1)


def initial_state(config: DDPGConfig, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The state of a learner before its first update; target networks are copies.

    Returns:
        Canonical name -> float64 array (values that float32 can hold) or integer:
        ``slot/critic/step``, ``slot/critic/m/l1/kernel``, ..., ``param/critic/l1/kernel``, ...,
        the same for ``actor``; ``target/critic/...``, ``target/actor/...``;
        ``learning_rate/critic``, ``learning_rate/actor``; ``step``, the updates made.
    """
    parameters = {
        "critic": initial_parameters(config.critic, rng),
        "actor": initial_parameters(config.actor, rng),
    }
    rates = {"critic": config.critic_learning_rate, "actor": config.actor_learning_rate}
    return fresh_state(parameters, rates)
