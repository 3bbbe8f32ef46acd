"""Constants of TD3, and the state that it starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impls.errors import ConfigError
from impls.learner.config import (
    fresh_state,
    require_at_least_zero,
    require_max_norm,
    require_share,
)
from impls.networks.config import ActorConfig, CriticConfig, initial_parameters

GROUPS = ("critic", "actor")
"""The networks, in the order in which an update changes them."""


@dataclass(frozen=True)
class TD3Config:
    """Constants of TD3; the defaults are those of the authors' code, the paper's stand beside.

    Raises:
        ConfigError: a value is out of its range; the message names the field.
    """

    observation_size: int
    """Features of one observation."""
    action_size: int
    """Dimensions of one action."""
    max_action: tuple[float, ...] | float = 1.0
    """Largest magnitude of an action, in the environment's unit: one for all, or per dimension."""
    hidden_sizes: tuple[int, ...] = (256, 256)
    """Units of each hidden layer, of all networks (paper: 400, 300)."""
    actor_learning_rate: float = 3e-4
    """Adam's step size for the actor, at least 0 (paper: 1e-3)."""
    critic_learning_rate: float = 3e-4
    """Adam's step size for both critics, at least 0 (paper: 1e-3)."""
    gamma: float = 0.99
    """Discount per step, in [0, 1] (paper: 0.99)."""
    tau: float = 0.005
    """Share of the online networks that target networks take, in [0, 1] (paper: 0.005)."""
    policy_noise: float = 0.2
    """Standard deviation of the target smoothing noise, as a share of max_action (paper: 0.2)."""
    noise_clip: float = 0.5
    """Largest magnitude of that noise, as a share of max_action (paper: 0.5)."""
    policy_delay: int = 2
    """Updates of the critic per update of actor and target networks, at least 1 (paper: 2)."""
    max_gradient_norm: float | None = None
    """Bound on the joint norm of the gradients of both critics, and of the actor's; None does not
    clip (paper: none)."""
    check_finite: bool = True
    """Refuse NaN and infinity in batch and draws; one look at the values per update (ours)."""

    def __post_init__(self) -> None:
        _ = self.actor, self.critic  # their own checks: sizes, bounds
        require_at_least_zero(
            actor_learning_rate=self.actor_learning_rate,
            critic_learning_rate=self.critic_learning_rate,
            policy_noise=self.policy_noise,
            noise_clip=self.noise_clip,
        )
        require_share(gamma=self.gamma, tau=self.tau)
        require_max_norm(self.max_gradient_norm)
        if self.policy_delay < 1:
            raise ConfigError(f"policy_delay={self.policy_delay!r}: must be at least 1")

    @property
    def actor(self) -> ActorConfig:
        """The policy network."""
        return ActorConfig(
            self.observation_size, self.action_size, self.hidden_sizes, self.max_action
        )

    @property
    def critic(self) -> CriticConfig:
        """The two action-value networks."""
        return CriticConfig(self.observation_size, self.action_size, self.hidden_sizes)

    @property
    def smoothing(self) -> dict[str, tuple[float, ...]]:
        """Arguments of ``smoothed_target_action``, per action dimension, in the action's unit."""
        bounds = self.actor.bounds
        return {
            "sigma": tuple(self.policy_noise * bound for bound in bounds),
            "noise_clip": tuple(self.noise_clip * bound for bound in bounds),
            "low": tuple(-bound for bound in bounds),
            "high": bounds,
        }


def initial_state(config: TD3Config, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The state of a learner before its first update; target networks are copies.

    Returns:
        Canonical name -> float64 array (values that float32 can hold) or integer:
        ``slot/critic/step``, ``slot/critic/m/q1/l1/kernel``, ..., ``param/critic/q1/l1/kernel``,
        ..., the same for ``actor`` (``l1/kernel``, ...); ``target/critic/...``,
        ``target/actor/...``; ``learning_rate/critic``, ``learning_rate/actor``; ``step``, the
        updates made.
    """
    parameters = {
        "critic": initial_parameters(config.critic, rng),
        "actor": initial_parameters(config.actor, rng),
    }
    rates = {"critic": config.critic_learning_rate, "actor": config.actor_learning_rate}
    return fresh_state(parameters, rates)
