"""Advantage actor-critic (A2C): n-step returns of several environments, one update for all.

One update, on a rollout of T steps of B environments:

    v'_t   = V(next_observation_t)                                     no gradient
    G_t    = r_t + discount_t * v'_t          where truncated, or t is the last step
             r_t + discount_t * G_{t+1}       otherwise;   discount_t = gamma * (1 - terminated_t)
    A_t    = G_t - V(observation_t)                                    no gradient
    [T, B] becomes one batch of N = T * B rows
    loss   = -mean(log pi(a|s) * A) + value_coefficient * mean(0.5 * (V(s) - G)^2)
             - entropy_coefficient * mean(entropy of pi(.|s))
    descend the loss, its gradient clipped to max_gradient_norm

Source: Mnih et al. 2016, "Asynchronous methods for deep reinforcement learning", algorithm S3,
with all workers in step; where OpenAI Baselines (a2c) is more definite, that.

Differs from the paper: (1) a time limit does not end the sum of rewards; (2) one gradient of the
mean over the batch, not a sum over each worker's steps; (3) the value is weighted by 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impls.a2c.cases import CHECKS
from impls.a2c.config import A2CConfig, initial_state
from impls.a2c.faults import ERRORS, MUTANTS
from impls.learner.spec import OnPolicyLearner
from parity.component import Component

__all__ = ["A2C", "COMPONENT", "A2CConfig", "OnPolicyLearner", "initial_state", "make_learner"]


class A2C(OnPolicyLearner):
    """The learner; one network, ``actor_critic``.

    Args:
        config: the constants.
        dtype: ``float32`` or ``float64``: of the network, batches and everything between.
        device: ``cpu``, ``cuda`` or ``cuda:N``.
        variant: how :meth:`update` runs: ``eager``; ``compile`` (torch, Inductor);
            ``function`` or ``xla`` (TensorFlow). Either makes one graph per shape of the rollout.
            The links always run eagerly.

    Raises:
        ConfigError: the side has no such variant.
        DtypeError: another dtype.
    """

    def __init__(
        self, config: A2CConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None: ...

    def bootstrap(self, next_observation: Any) -> Any:
        """``v'``: values of what each step led to, [T, B, obs] -> [T, B]; no gradient."""
        ...

    def target(self, reward: Any, next_value: Any, terminated: Any, truncated: Any) -> Any:
        """``G``: returns to the end of episode or rollout, [T, B]; environments never mix.

        Args:
            reward: [T, B], float.
            next_value: [T, B], float: of the last observation of the episode where that ends.
            terminated: [T, B], bool: the task ended, nothing follows.
            truncated: [T, B], bool: a time limit cut; bootstrapping goes on.

        Returns:
            [T, B], units of return; no gradient.
        """
        ...

    def advantage(self, observation: Any, target: Any) -> Any:
        """``A = G - V(observation)``, [T, B], normalised if the configuration says so; no gradient.

        See ``advantages.normalize_advantage``: over all T * B of them.
        """
        ...

    def flatten(
        self, observation: Any, action: Any, advantage: Any, target: Any
    ) -> tuple[Any, Any, Any, Any]:
        """[T, B, ...] -> [T * B, ...]: step t of environment b becomes row ``t * B + b``."""
        ...

    def loss(
        self, flat_observation: Any, flat_action: Any, flat_advantage: Any, flat_target: Any
    ) -> tuple[Any, Any, Any, Any]:
        """The loss, and the policy's, the value's and the entropy in it, unweighted: four scalars.

        Advantages and targets get no gradient.
        """
        ...

    def gradients_of(
        self, flat_observation: Any, flat_action: Any, flat_advantage: Any, flat_target: Any
    ) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """What :meth:`loss` returns, and the loss's gradient by name of the parameters."""
        ...

    def clip(self, gradients: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """Gradients scaled to a global norm of at most ``max_gradient_norm``; the norm before.

        Only with ``max_gradient_norm`` set; see ``optimizers.clip_by_global_norm``.
        """
        ...

    def apply(self, gradients: Mapping[str, Any]) -> None:
        """One step of the optimizer: writes ``slot/actor_critic`` and ``param/actor_critic``."""
        ...

    def update(self, batch: Mapping[str, Any], draws: Mapping[str, Any]) -> dict[str, Any]:
        """All links in order.

        Args:
            batch: tensors ``observation`` [T, B, obs], ``action`` [T, B] int64 or [T, B, act],
                ``reward`` [T, B], ``next_observation`` [T, B, obs] of the learner's dtype;
                ``terminated`` and ``truncated`` [T, B], bool. Another shape compiles anew.
            draws: none.

        Returns:
            ``target`` and ``advantage`` [T, B]; ``loss``, ``policy_loss``, ``value_loss``,
            ``entropy``; with clipping ``gradient_norm``, before it.

        Raises:
            ShapeError: a field is missing or unknown, or its shape is not as above.
            DtypeError: a field has another dtype; nothing is cast.
            NonFiniteError: NaN or infinity; the message names field, place and value. Nothing has
                been changed then.
        """
        ...


def make_learner(
    config: A2CConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> Any:
    """An :class:`A2C` that starts from ``initial_state(config, default_rng(0))``.

    The same numbers on every side; real training loads a state of its own seed.
    """
    ...


COMPONENT = Component(
    name="a2c",
    contract=(A2C, make_learner),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
