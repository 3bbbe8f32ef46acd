"""What all siblings of the rollouts share: the configuration, the transition and the refusals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from impls.errors import ConfigError, NonFiniteError, ShapeError
from impls.networks.config import ActorConfig, MLPConfig


@dataclass(frozen=True)
class PolicyConfig:
    """A deterministic actor (continuous actions) or a greedy perceptron (discrete ones).

    Raises:
        ConfigError: ``sigma`` is negative or not finite, or noise is asked of a greedy policy.
    """

    network: ActorConfig | MLPConfig
    """:class:`ActorConfig`: actions in ``[-max_action, max_action]``. :class:`MLPConfig`: one
    score per discrete action."""
    sigma: float = 0.0
    """Standard deviation of the exploration noise, as a share of ``max_action`` (TD3: 0.1)."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sigma) and self.sigma >= 0):
            raise ConfigError(f"sigma={self.sigma}: a finite number of at least 0")
        if self.greedy and self.sigma:
            raise ConfigError(f"sigma={self.sigma}: a greedy policy takes no noise, expected 0")

    @property
    def greedy(self) -> bool:
        return isinstance(self.network, MLPConfig)

    @property
    def observation_size(self) -> int:
        network = self.network
        return network.input_size if isinstance(network, MLPConfig) else network.observation_size


class Transition(NamedTuple):
    """One step of an environment, as NumPy values."""

    observation: np.ndarray
    """What the policy saw: ``[obs]``, the environment's dtype."""
    action: np.ndarray
    """What was applied: ``[act]`` in the policy's dtype, or an int64 scalar."""
    reward: float
    """Of this step, unscaled."""
    next_observation: np.ndarray
    """The environment's answer, ``[obs]``; at the end of an episode its last observation."""
    terminated: bool
    """The task ended: what follows is worth nothing."""
    truncated: bool
    """A time limit cut the episode: what follows still has its value."""


def require_observation(config: PolicyConfig, observation: Any) -> np.ndarray:
    """The observation as an array, if it is one finite row of the network's size."""
    array = np.asarray(observation)
    if array.shape != (config.observation_size,):
        raise ShapeError(
            f"observation has shape {array.shape}, expected ({config.observation_size},)"
        )
    _require_finite("observation", array)
    return array


def require_noise(config: PolicyConfig, noise: Any) -> np.ndarray | None:
    """The draw as an array, if it is there exactly when the policy has noise."""
    if (noise is None) != (config.sigma == 0):
        given = "no draw is given" if noise is None else "a draw is given"
        raise ConfigError(f"noise: sigma={config.sigma}, but {given}")
    if noise is None or isinstance(config.network, MLPConfig):
        return None
    array = np.asarray(noise)
    if array.shape != (config.network.action_size,):
        raise ShapeError(f"noise has shape {array.shape}, expected ({config.network.action_size},)")
    _require_finite("noise", array)
    return array


def _require_finite(name: str, array: np.ndarray) -> None:
    if not np.isfinite(array).all():
        raise NonFiniteError(f"{name}[{int(np.argmin(np.isfinite(array)))}] is not finite: {array}")
