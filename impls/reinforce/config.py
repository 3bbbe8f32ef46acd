"""Constants of REINFORCE, and the state that it starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from impls.actor_critic_network.config import ActorCriticConfig
from impls.errors import ConfigError
from impls.learner.on_policy import GROUPS, OnPolicyConfig, initial_state

__all__ = ["GROUPS", "ReinforceConfig", "initial_state"]


@dataclass(frozen=True)
class ReinforceConfig(OnPolicyConfig):
    """Constants of REINFORCE; see :class:`~impls.learner.on_policy.OnPolicyConfig` for the rest.

    The network is a policy alone; ``shared`` means nothing.

    Raises:
        ConfigError: a value is out of its range; the message names the field.
    """

    learning_rate: float = 1e-3
    """Step size of the optimizer, at least 0."""
    entropy_coefficient: float = 0.0
    """Weight of the entropy bonus, at least 0 (paper: none)."""
    normalize_return: bool = True
    """Mean 0 and deviation 1 over all valid steps, which is a baseline (paper: no)."""

    @property
    def network(self) -> ActorCriticConfig:
        """The policy."""
        return replace(super().network, value=False)


def require_valid(valid: np.ndarray) -> None:
    """Refuse a mask that is not, in every column, True up to some step and False behind it.

    Raises:
        ConfigError: names the first such episode.
    """
    for b, column in enumerate(valid.T):
        if not column[0] or (column[1:] & ~column[:-1]).any():
            raise ConfigError(
                f"batch['valid'][:, {b}] is not True from the first step to the last one of the "
                "episode, and False behind it"
            )
