"""Constants of the one-step actor-critic, and the state that it starts from."""

from __future__ import annotations

from dataclasses import dataclass

from impls.learner.config import require_at_least_zero
from impls.learner.on_policy import GROUPS, OnPolicyConfig, initial_state

__all__ = ["GROUPS", "ActorCriticConfig", "initial_state"]


@dataclass(frozen=True)
class ActorCriticConfig(OnPolicyConfig):
    """Constants of the learner; see :class:`~impls.learner.on_policy.OnPolicyConfig` for the rest.

    Raises:
        ConfigError: a value is out of its range; the message names the field.
    """

    value_coefficient: float = 0.5
    """Weight of the value loss, at least 0; the loss itself has a factor of one half too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least_zero(value_coefficient=self.value_coefficient)
