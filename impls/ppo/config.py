"""Constants of PPO, the state that it starts from, and the draws that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from impls.errors import ConfigError, ShapeError
from impls.learner.config import require_at_least_zero, require_share
from impls.learner.on_policy import GROUPS, OnPolicyConfig, initial_state
from impls.policy_losses.config import require_ratio_clip, require_value_clip

__all__ = ["GROUPS", "PPOConfig", "initial_state"]


@dataclass(frozen=True)
class PPOConfig(OnPolicyConfig):
    """Constants of PPO; see :class:`~impls.learner.on_policy.OnPolicyConfig` for the rest.

    Raises:
        ConfigError: a value is out of its range; the message names the field.
    """

    learning_rate: float = 3e-4
    """Step size of the optimizer, at least 0 (paper: 3e-4)."""
    gae_lambda: float = 0.95
    """Lambda of the advantage estimate, in [0, 1] (paper: 0.95)."""
    ratio_clip: float = 0.2
    """How far the ratio may move from 1 with a gain, in (0, 1) (paper: 0.2)."""
    value_clip: float | None = None
    """How far a value may move from the old one with a gain, above 0, units of return; None does
    not clip (paper: none; Baselines: 0.2)."""
    value_coefficient: float = 0.5
    """Weight of the value loss, at least 0; the loss itself has a factor of one half too."""
    normalize_advantage: bool = True
    """Mean 0 and deviation 1 over each minibatch (paper: no; Baselines: over the rollout)."""
    epochs: int = 4
    """How often each step of the rollout is used, at least 1 (paper: 3 to 10)."""
    minibatches: int = 4
    """Parts of the rollout, one optimizer step each, at least 1; they divide T * B."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_share(gae_lambda=self.gae_lambda)
        require_ratio_clip(self.ratio_clip)
        if self.value_clip is not None:
            require_value_clip(self.value_clip)
        require_at_least_zero(value_coefficient=self.value_coefficient)
        for name in ("epochs", "minibatches"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)!r}: must be at least 1")


def require_permutation(
    config: PPOConfig, rollout: Sequence[int | None], permutation: Sequence[int | None]
) -> None:
    """Refuse draws that are not one order of all T * B rows per epoch.

    Args:
        rollout: ``[T, B]``.
        permutation: the shape of the draw.

    Raises:
        ShapeError: another shape, or the minibatches do not divide the rows.
    """
    steps, environments = rollout
    if steps is None or environments is None:
        return
    rows = steps * environments
    if tuple(permutation) != (config.epochs, rows):
        raise ShapeError(
            f"draws['permutation'] has shape {list(permutation)}, expected [epochs, T * B] = "
            f"[{config.epochs}, {rows}]"
        )
    if rows % config.minibatches:
        raise ShapeError(
            f"a rollout of {steps} x {environments} = {rows} rows does not divide into "
            f"minibatches={config.minibatches}"
        )


def require_orders(permutation: np.ndarray) -> None:
    """Refuse a row of the permutation in which some step is missing or comes twice.

    Raises:
        ConfigError: for the first one found.
    """
    for epoch, order in enumerate(permutation):
        if not np.array_equal(np.sort(order), np.arange(len(order))):
            raise ConfigError(
                f"draws['permutation'][{epoch}] is no order of 0 to {len(order) - 1}: each step "
                "comes once per epoch"
            )
