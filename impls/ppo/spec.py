"""Proximal policy optimization (PPO) with a clipped surrogate.

One update, on a rollout of T steps of B environments that the present policy has made:

    v_t, v'_t = V(observation_t), V(next_observation_t)                 no gradient, before any step
    delta_t = r_t + discount_t * v'_t - v_t;      discount_t = gamma * (1 - terminated_t)
    A_t = delta_t                                          where truncated, or t is the last step
          delta_t + discount_t * gae_lambda * A_{t+1}      otherwise
    G_t = A_t + v_t
    [T, B] becomes one batch of T * B rows
    for each epoch, for each part of that epoch's permutation of the rows, a minibatch of M:
        A   <- (A - mean A) / (deviation of A + 1e-8), over the minibatch
        ratio = exp(log pi(a|s) - log_prob of the batch)
        loss  = -mean min(ratio * A, clip(ratio, 1 - ratio_clip, 1 + ratio_clip) * A)
                + value_coefficient * mean(0.5 * (V(s) - G)^2)      or its clipped form
                - entropy_coefficient * mean(entropy of pi(.|s))
        descend the loss, its gradient clipped to max_gradient_norm

Source: Schulman et al. 2017, "Proximal policy optimization algorithms", algorithm 1 and equations
7, 9, 11; where OpenAI Baselines (ppo2) is more definite, that.

Differs from the paper: (1) a time limit does not end the sum of rewards; (2) advantages are
normalised per minibatch; (3) gradients are clipped by their global norm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impls.learner.spec import OnPolicyLearner
from impls.ppo.cases import CHECKS
from impls.ppo.config import PPOConfig, initial_state
from impls.ppo.faults import ERRORS, MUTANTS
from parity.component import Component

__all__ = ["COMPONENT", "PPO", "OnPolicyLearner", "PPOConfig", "initial_state", "make_learner"]


class PPO(OnPolicyLearner):
    """The learner; one network, ``actor_critic``.

    Args:
        config: the constants.
        dtype: ``float32`` or ``float64``: of the network, batches and everything between.
        device: ``cpu``, ``cuda`` or ``cuda:N``.
        variant: how :meth:`update` runs: ``eager``; ``compile`` (torch, Inductor);
            ``function`` or ``xla`` (TensorFlow). Either makes one graph, of a minibatch's links,
            per size of the minibatch. What comes before the first step runs once per update, in
            torch eagerly, in TensorFlow as another graph, which ``traces`` does not count. The loop
            over minibatches is Python's: in a graph it would be unrolled.

    Raises:
        ConfigError: the side has no such variant.
        DtypeError: another dtype.
    """

    def __init__(
        self, config: PPOConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None: ...

    def value_estimates(self, observation: Any, next_observation: Any) -> tuple[Any, Any]:
        """``v`` and ``v'``: [T, B, obs] twice -> [T, B] twice; no gradient."""
        ...

    def advantage(
        self, reward: Any, value: Any, next_value: Any, terminated: Any, truncated: Any
    ) -> tuple[Any, Any]:
        """``A`` and ``G``, [T, B] each; no gradient. See ``advantages.gae``.

        Args:
            reward: [T, B], float.
            value, next_value: [T, B], float: before and after the step.
            terminated: [T, B], bool: the task ended, nothing follows.
            truncated: [T, B], bool: a time limit cut; bootstrapping goes on.
        """
        ...

    def flatten(
        self, observation: Any, action: Any, log_prob: Any, value: Any, advantage: Any, target: Any
    ) -> tuple[Any, ...]:
        """[T, B, ...] -> [T * B, ...]: step t of environment b becomes row ``t * B + b``."""
        ...

    def gather(
        self,
        permutation: Any,
        flat_observation: Any,
        flat_action: Any,
        flat_log_prob: Any,
        flat_value: Any,
        flat_advantage: Any,
        flat_target: Any,
    ) -> tuple[Any, ...]:
        """All minibatches, in order: [T * B, ...] -> [epochs * minibatches, M, ...] each.

        Part j of epoch e holds the rows ``permutation[e, j * M : (j + 1) * M]``, and is minibatch
        ``e * minibatches + j``; M is T * B / minibatches.
        """
        ...

    def minibatch(
        self,
        all_observation: Any,
        all_action: Any,
        all_log_prob: Any,
        all_value: Any,
        all_advantage: Any,
        all_target: Any,
        k: int = 0,
    ) -> tuple[Any, ...]:
        """Minibatch k of what :meth:`gather` returns."""
        ...

    def normalize(self, mb_advantage: Any) -> Any:
        """[M] -> [M], mean 0 and deviation 1; see ``advantages.normalize_advantage``.

        Only with ``normalize_advantage`` set.
        """
        ...

    def loss(
        self,
        mb_observation: Any,
        mb_action: Any,
        mb_log_prob: Any,
        mb_value: Any,
        mb_advantage: Any,
        mb_target: Any,
    ) -> tuple[Any, Any, Any, Any]:
        """The loss, and the policy's, the value's and the entropy in it, unweighted: four scalars.

        The last four arguments, which are from before the update, get no gradient.
        """
        ...

    def gradients_of(
        self,
        mb_observation: Any,
        mb_action: Any,
        mb_log_prob: Any,
        mb_value: Any,
        mb_advantage: Any,
        mb_target: Any,
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
        """All links in order, the last ones for each minibatch of each epoch.

        Args:
            batch: tensors ``observation`` [T, B, obs], ``action`` [T, B] int64 or [T, B, act],
                ``reward`` [T, B], ``next_observation`` [T, B, obs] and ``log_prob`` [T, B] (of the
                action when it was taken) of the learner's dtype; ``terminated`` and ``truncated``
                [T, B], bool. Another shape compiles anew.
            draws: ``permutation`` [epochs, T * B] int64: an order of the rows for each epoch.

        Returns:
            ``advantage`` and ``target`` [T, B]; ``loss``, ``policy_loss``, ``value_loss``,
            ``entropy`` [epochs * minibatches], each before its step; with clipping
            ``gradient_norm``, the same, before clipping.

        Raises:
            ShapeError: a field is missing or unknown, its shape is not as above, or the minibatches
                do not divide T * B.
            DtypeError: a field has another dtype; nothing is cast.
            ConfigError: a row of the permutation is none. Looked at with ``check_finite`` alone.
            NonFiniteError: NaN or infinity; the message names field, place and value. Nothing has
                been changed then.
        """
        ...


def make_learner(
    config: PPOConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> Any:
    """A :class:`PPO` that starts from ``initial_state(config, default_rng(0))``.

    The same numbers on every side; real training loads a state of its own seed.
    """
    ...


COMPONENT = Component(
    name="ppo",
    contract=(PPO, make_learner),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
