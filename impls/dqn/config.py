"""Constants of DQN, its state at the start, and the fields of its batches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impls.errors import ConfigError
from impls.learner.config import (
    Layout,
    fresh_state,
    require_at_least_zero,
    require_max_norm,
    require_share,
)
from impls.networks.config import MLPConfig, initial_parameters

GROUPS = ("q",)
"""The one network that is trained."""


@dataclass(frozen=True)
class DQNConfig:
    """Constants of DQN; the defaults are ours, for small observations; the paper's stand beside.

    Raises:
        ConfigError: a value is out of its range; the message names the field.
    """

    observation_size: int
    """Features of one observation."""
    action_size: int
    """Number of actions."""
    hidden_sizes: tuple[int, ...] = (64, 64)
    """Units of each hidden layer, relu after each (paper: convolutions, then 512)."""
    learning_rate: float = 1e-3
    """Adam's step size, at least 0 (paper: RMSprop with 2.5e-4)."""
    gamma: float = 0.99
    """Discount per step, in [0, 1] (paper: 0.99)."""
    double: bool = True
    """The online network chooses the next action, the target network values it (paper: no)."""
    huber_delta: float = 1.0
    """Error at which the loss turns linear, above 0, units of return (paper: 1)."""
    tau: float = 1.0
    """Share of the online network that the target network takes; 1 copies it (paper: 1)."""
    target_period: int = 250
    """Updates between two of those, at least 1 (paper: 10,000)."""
    n_step: int = 1
    """Rewards summed in one transition, at least 1. Above 1, batches have ``steps``."""
    weighted: bool = False
    """Batches have the ``weight`` of each row, as prioritized replay needs (paper: no)."""
    max_gradient_norm: float | None = 10.0
    """Bound on the norm of all gradients together; None does not clip (paper: none)."""
    check_finite: bool = True
    """Refuse NaN and infinity in a batch; costs one look at the values per update (ours)."""

    def __post_init__(self) -> None:
        _ = self.network  # its own checks: sizes
        require_at_least_zero(learning_rate=self.learning_rate)
        require_share(gamma=self.gamma, tau=self.tau)
        require_max_norm(self.max_gradient_norm)
        for name in ("target_period", "n_step"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)!r}: must be at least 1")
        if not (math.isfinite(self.huber_delta) and self.huber_delta > 0.0):
            raise ConfigError(f"huber_delta={self.huber_delta!r}: must be finite and above 0")

    @property
    def network(self) -> MLPConfig:
        """The action-value network: one output per action."""
        return MLPConfig(self.observation_size, self.hidden_sizes, self.action_size)


def initial_state(config: DQNConfig, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The state of a learner before its first update; the target network is a copy.

    Returns:
        Canonical name -> float64 array (values that float32 can hold) or integer:
        ``slot/q/step``, ``slot/q/m/l1/kernel``, ..., ``param/q/l1/kernel``, ...,
        ``target/q/l1/kernel``, ...; ``learning_rate/q``; ``step``, the updates made.
    """
    parameters = {"q": initial_parameters(config.network, rng)}
    return fresh_state(parameters, {"q": config.learning_rate})


def batch_layout(config: DQNConfig, dtype: str) -> Layout:
    """The fields of a batch: name -> shape of one row, dtype."""
    observation = ((config.observation_size,), dtype)
    layout: dict[str, tuple[tuple[int, ...], str]] = {
        "observation": observation,
        "action": ((), "int64"),
        "reward": ((), dtype),
        "next_observation": observation,
        "terminated": ((), "bool"),
        "truncated": ((), "bool"),
    }
    if config.n_step > 1:
        layout["steps"] = ((), "int64")
    if config.weighted:
        layout["weight"] = ((), dtype)
    return layout
