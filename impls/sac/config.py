"""Constants of SAC, and the state that it starts from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impls.errors import ConfigError
from impls.learner.config import (
    fresh_state,
    require_at_least_zero,
    require_max_norm,
    require_share,
)
from impls.networks.config import ActorConfig, CriticConfig, MLPConfig, initial_parameters

GROUPS = ("critic", "actor", "temperature")
"""What has an optimizer, in the order in which an update changes it."""


@dataclass(frozen=True)
class SACConfig:
    """Constants of SAC; the defaults are those of the paper with the automatic temperature.

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
    """Units of each hidden layer, of all networks (paper: 256, 256)."""
    actor_learning_rate: float = 3e-4
    """Adam's step size for the actor, at least 0 (paper: 3e-4)."""
    critic_learning_rate: float = 3e-4
    """Adam's step size for both critics, at least 0 (paper: 3e-4)."""
    temperature_learning_rate: float = 3e-4
    """Adam's step size for the logarithm of the temperature, at least 0 (paper: 3e-4)."""
    gamma: float = 0.99
    """Discount per step, in [0, 1] (paper: 0.99)."""
    tau: float = 0.005
    """Share of the online critics that the target critics take, in [0, 1] (paper: 0.005)."""
    initial_temperature: float = 1.0
    """alpha at the start, above 0; units of reward per nat (authors' code: 1)."""
    learn_temperature: bool = True
    """Adjust alpha so that the policy's entropy stays near ``target_entropy``; else it is fixed."""
    target_entropy: float | None = None
    """Entropy to hold, in nats, of the action in its own unit; None: -action_size (paper)."""
    log_std_min: float = -20.0
    """Lower end of the clip of the logarithm of the standard deviation (authors' code: -20)."""
    log_std_max: float = 2.0
    """Upper end of that clip, above the lower (authors' code: 2)."""
    max_gradient_norm: float | None = None
    """Bound on the joint norm of the gradients of both critics, and of the actor's; None does not
    clip (paper: none)."""
    check_finite: bool = True
    """Refuse NaN and infinity in batch and draws; one look at the values per update (ours)."""

    def __post_init__(self) -> None:
        _ = self.bounds, self.critic  # their own checks: sizes, bounds
        require_at_least_zero(
            actor_learning_rate=self.actor_learning_rate,
            critic_learning_rate=self.critic_learning_rate,
            temperature_learning_rate=self.temperature_learning_rate,
        )
        require_share(gamma=self.gamma, tau=self.tau)
        require_max_norm(self.max_gradient_norm)
        alpha, target = self.initial_temperature, self.target_entropy
        if not (math.isfinite(alpha) and alpha > 0.0):
            raise ConfigError(f"initial_temperature={alpha!r}: must be finite and above 0")
        if target is not None and not math.isfinite(target):
            raise ConfigError(f"target_entropy={target!r}: must be None or finite")
        if not -math.inf < self.log_std_min < self.log_std_max < math.inf:
            raise ConfigError(
                f"log_std_min={self.log_std_min!r}, log_std_max={self.log_std_max!r}: must be "
                "finite, the first below the second"
            )

    @property
    def actor(self) -> MLPConfig:
        """The policy network: all means, then the logarithms of all standard deviations."""
        return MLPConfig(self.observation_size, self.hidden_sizes, 2 * self.action_size)

    @property
    def critic(self) -> CriticConfig:
        """The two action-value networks."""
        return CriticConfig(self.observation_size, self.action_size, self.hidden_sizes)

    @property
    def bounds(self) -> tuple[float, ...]:
        """``max_action`` with one entry per action dimension."""
        sizes = (self.observation_size, self.action_size, self.hidden_sizes)
        return ActorConfig(*sizes, self.max_action).bounds

    @property
    def limits(self) -> dict[str, tuple[float, ...]]:
        """Arguments of the squashed policy: bounds of the action, per dimension."""
        return {"low": tuple(-bound for bound in self.bounds), "high": self.bounds}

    @property
    def entropy(self) -> float:
        """The entropy that the temperature holds, in nats."""
        return -float(self.action_size) if self.target_entropy is None else self.target_entropy


def initial_state(config: SACConfig, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The state of a learner before its first update; target critics are copies.

    Returns:
        Canonical name -> float64 array (values that float32 can hold) or integer:
        ``slot/critic/step``, ``slot/critic/m/q1/l1/kernel``, ..., ``param/critic/q1/l1/kernel``,
        ..., the same for ``actor`` (``l1/kernel``, ...) and ``temperature`` (``log_alpha``, a
        scalar); ``target/critic/...``, and no other target; ``learning_rate/critic``,
        ``learning_rate/actor``, ``learning_rate/temperature``; ``step``, the updates made.
    """
    log_alpha = np.array(np.float32(math.log(config.initial_temperature)), np.float64)
    parameters = {
        "critic": initial_parameters(config.critic, rng),
        "actor": initial_parameters(config.actor, rng),
        "temperature": {"log_alpha": log_alpha},
    }
    rates = {
        "critic": config.critic_learning_rate,
        "actor": config.actor_learning_rate,
        "temperature": config.temperature_learning_rate,
    }
    return fresh_state(parameters, rates, targets=("critic",))
