"""REINFORCE: the policy gradient of whole episodes, each step weighted by its reward to go.

One update, on B episodes, one per column, padded to T steps (``valid`` is False behind the end):

    G_t   = r_t + gamma * G_{t+1}      within the episode; r_t at its last step, 0 behind it
    w_t   = G_t, or (G_t - mean) / (deviation + 1e-8) over the N valid steps of all episodes
    loss  = -sum over valid steps of log pi(a_t|s_t) * w_t / N
            - entropy_coefficient * sum over valid steps of the entropy of pi(.|s_t) / N
    descend the loss, its gradient clipped to max_gradient_norm

Source: Williams 1992, "Simple statistical gradient-following algorithms", section 7 (episodic);
Sutton & Barto 2018, section 13.3.

Differs from Sutton & Barto: (1) no factor gamma^t before the step's term; (2) one step per batch of
episodes, with the mean over their steps: a long episode weighs more than a short one; (3) an
episode that a time limit cut counts as it is: there is no value to bootstrap from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impls.learner.spec import OnPolicyLearner
from impls.reinforce.cases import CHECKS
from impls.reinforce.config import ReinforceConfig, initial_state
from impls.reinforce.faults import ERRORS, MUTANTS
from parity.component import Component

__all__ = [
    "COMPONENT",
    "OnPolicyLearner",
    "Reinforce",
    "ReinforceConfig",
    "initial_state",
    "make_learner",
]


class Reinforce(OnPolicyLearner):
    """The learner; one network, ``actor_critic``, without a value head.

    Args:
        config: the constants.
        dtype: ``float32`` or ``float64``: of the network, batches and everything between.
        device: ``cpu``, ``cuda`` or ``cuda:N``.
        variant: how :meth:`update` runs: ``eager``; ``compile`` (torch, Inductor);
            ``function`` or ``xla`` (TensorFlow). Either makes one graph per shape of the batch.
            The links always run eagerly.

    Raises:
        ConfigError: the side has no such variant.
        DtypeError: another dtype.
    """

    def __init__(
        self, config: ReinforceConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None: ...

    def target(self, reward: Any, terminated: Any, truncated: Any, valid: Any) -> Any:
        """``G``: the reward to go of every step, [T, B]; no gradient.

        Args:
            reward: [T, B], float; anything finite behind the end.
            terminated, truncated: [T, B], bool: the last step of an episode; False behind it.
            valid: [T, B], bool: True up to and including the last step.

        Returns:
            [T, B], units of return; 0 behind the end.
        """
        ...

    def weight(self, target: Any, valid: Any) -> Any:
        """``w``: the returns, normalised if the configuration says so, [T, B]; no gradient.

        Mean and deviation (of the population) are over the valid steps of all episodes together;
        behind the end it is 0.
        """
        ...

    def flatten(
        self, observation: Any, action: Any, weight: Any, valid: Any
    ) -> tuple[Any, Any, Any, Any]:
        """[T, B, ...] -> [T * B, ...]: step t of episode b becomes row ``t * B + b``."""
        ...

    def loss(
        self, flat_observation: Any, flat_action: Any, flat_weight: Any, flat_valid: Any
    ) -> tuple[Any, Any, Any]:
        """The loss, and the policy's and the entropy in it, unweighted: three scalars.

        All are means over the valid rows. The weight gets no gradient; neither do rows behind the
        end.
        """
        ...

    def gradients_of(
        self, flat_observation: Any, flat_action: Any, flat_weight: Any, flat_valid: Any
    ) -> tuple[Any, Any, Any, dict[str, Any]]:
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
                ``reward`` [T, B], ``next_observation`` [T, B, obs] (which is not used; every
                learner from rollouts takes the same fields) of the learner's dtype;
                ``terminated``, ``truncated`` and ``valid`` [T, B], bool. Another shape compiles
                anew.
            draws: none.

        Returns:
            ``target`` and ``weight`` [T, B]; ``loss``, ``policy_loss``, ``entropy``; with clipping
            ``gradient_norm``, before it.

        Raises:
            ShapeError: a field is missing or unknown, or its shape is not as above.
            DtypeError: a field has another dtype; nothing is cast.
            ConfigError: ``valid`` is not a run of True from the first step in some column. Looked
                at with ``check_finite`` alone.
            NonFiniteError: NaN or infinity; the message names field, place and value. Nothing has
                been changed then.
        """
        ...


def make_learner(
    config: ReinforceConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> Any:
    """A :class:`Reinforce` that starts from ``initial_state(config, default_rng(0))``.

    The same numbers on every side; real training loads a state of its own seed.
    """
    ...


COMPONENT = Component(
    name="reinforce",
    contract=(Reinforce, make_learner),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
