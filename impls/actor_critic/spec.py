"""One-step actor-critic: every step is weighted by its temporal-difference error.

One update, on a step of B environments (T is 1; with more steps each counts on its own):

    v, v'  = V(observation), V(next_observation)                       no gradient
    y      = r + gamma * (1 - terminated) * v'
    A      = y - v
    loss   = -mean(log pi(a|s) * A) + value_coefficient * mean(0.5 * (V(s) - y)^2)
             - entropy_coefficient * mean(entropy of pi(.|s))
    descend the loss, its gradient clipped to max_gradient_norm

Source: Sutton & Barto 2018, section 13.5, algorithm "One-step actor-critic (episodic)".

Differs from the book: (1) no factor gamma^t before the policy's term; (2) policy and value are one
loss with one optimizer, and may share layers; (3) several environments at once, and their mean; (4)
an entropy bonus; (5) a time limit does not end the sum of rewards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impls.actor_critic.cases import CHECKS
from impls.actor_critic.config import ActorCriticConfig, initial_state
from impls.actor_critic.faults import ERRORS, MUTANTS
from impls.learner.spec import OnPolicyLearner
from parity.component import Component

__all__ = [
    "COMPONENT",
    "ActorCritic",
    "ActorCriticConfig",
    "OnPolicyLearner",
    "initial_state",
    "make_learner",
]


class ActorCritic(OnPolicyLearner):
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
        self, config: ActorCriticConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None: ...

    def value_estimates(self, observation: Any, next_observation: Any) -> tuple[Any, Any]:
        """``v`` and ``v'``: [T, B, obs] twice -> [T, B] twice; no gradient."""
        ...

    def target(self, reward: Any, next_value: Any, terminated: Any, truncated: Any) -> Any:
        """``y``, [T, B], units of return; no gradient.

        Args:
            reward: [T, B], float.
            next_value: [T, B], float: of the last observation of the episode where that ends.
            terminated: [T, B], bool: the task ended, nothing follows.
            truncated: [T, B], bool: a time limit cut; bootstrapping goes on.
        """
        ...

    def advantage(self, value: Any, target: Any) -> Any:
        """``A``: the error ``target - value``, [T, B]; no gradient."""
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
    config: ActorCriticConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> Any:
    """An :class:`ActorCritic` that starts from ``initial_state(config, default_rng(0))``.

    The same numbers on every side; real training loads a state of its own seed.
    """
    ...


COMPONENT = Component(
    name="actor_critic",
    contract=(ActorCritic, make_learner),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
