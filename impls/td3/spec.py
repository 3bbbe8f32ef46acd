"""Twin delayed deep deterministic policy gradient (TD3): two critics, one actor, targets of each.

One update, on a batch of transitions ``(s, a, r, s', terminated, truncated)`` and standard normal
``noise``:

    a'       = clip(actor_target(s') + clip(policy_noise * noise, -noise_clip, noise_clip),
                    -max_action, max_action)         noise scales are shares of max_action
    y        = r + gamma * (1 - terminated) * min_i Qi_target(s', a')
    critics:   descend  sum_i mean (Qi(s, a) - y)^2  over both critics' parameters, y constant

and in every ``policy_delay``-th update also

    actor:     descend  -mean Q1(s, actor(s))        over the actor's parameters, Q1 just updated
    targets:   target <- (1 - tau) * target + tau * online, all networks

Source: Fujimoto et al. 2018, "Addressing function approximation error in actor-critic methods",
algorithm 1; where the authors' code (github.com/sfujim/TD3) is more definite, that.

Differs from the paper: (1) a time limit does not end the sum of rewards; (2) gradients may be
clipped by their global norm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impls.learner.spec import Learner
from impls.td3.cases import CHECKS
from impls.td3.config import TD3Config, initial_state
from impls.td3.faults import ERRORS, MUTANTS
from parity.component import Component

__all__ = ["COMPONENT", "TD3", "Learner", "TD3Config", "initial_state", "make_learner"]


class TD3(Learner):
    """The learner; networks ``critic`` (layers ``q1/l1``, ..., ``q2/l3``) and ``actor``.

    Args:
        config: the constants.
        dtype: ``float32`` or ``float64``: of networks, batches and everything between.
        device: ``cpu``, ``cuda`` or ``cuda:N``.
        variant: how :meth:`update` runs: ``eager``; ``compile`` (torch, Inductor);
            ``function`` or ``xla`` (TensorFlow). Either makes two graphs, one of the critics' part
            and one of the whole, for the delayed updates. The links always run eagerly.

    Raises:
        ConfigError: the side has no such variant.
        DtypeError: another dtype.
    """

    def __init__(
        self, config: TD3Config, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None: ...

    def target_action(self, next_observation: Any, noise: Any) -> Any:
        """``a'``, with target smoothing: [B, obs], standard normal [B, act] -> [B, act].

        See ``exploration.smoothed_target_action``; no gradient.
        """
        ...

    def target(
        self, reward: Any, next_observation: Any, next_action: Any, terminated: Any, truncated: Any
    ) -> Any:
        """``y = r + gamma * (1 - terminated) * min_i Qi_target(s', a')``; no gradient.

        Args:
            reward: [B], float.
            next_observation: [B, obs], float; where an episode ended, its last observation.
            next_action: [B, act], float.
            terminated: [B], bool: the task ended, nothing follows.
            truncated: [B], bool: a time limit cut; bootstrapping goes on.

        Returns:
            [B], units of return.
        """
        ...

    def td_error(self, observation: Any, action: Any, target: Any) -> tuple[Any, Any]:
        """``y - Q1(s, a)`` and ``y - Q2(s, a)``: [B] each; no gradient."""
        ...

    def critic_loss(self, observation: Any, action: Any, target: Any) -> Any:
        """``sum_i mean (Qi(s, a) - y)^2``, a scalar; ``target`` [B] gets no gradient."""
        ...

    def critic_gradients(
        self, observation: Any, action: Any, target: Any
    ) -> tuple[Any, dict[str, Any]]:
        """The critics' loss, and its gradient by name of both critics' parameters."""
        ...

    def clip_critic(self, gradients: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """Gradients scaled to a global norm of at most ``max_gradient_norm``; the norm before.

        Only with ``max_gradient_norm`` set; see ``optimizers.clip_by_global_norm``.
        """
        ...

    def apply_critic(self, gradients: Mapping[str, Any]) -> None:
        """One step of Adam: writes ``slot/critic`` and ``param/critic``."""
        ...

    def actor_loss(self, observation: Any) -> Any:
        """``-mean Q1(s, actor(s))``, a scalar."""
        ...

    def actor_gradients(self, observation: Any) -> tuple[Any, dict[str, Any]]:
        """The actor's loss, and its gradient by name of the actor's parameters, no others."""
        ...

    def clip_actor(self, gradients: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """As :meth:`clip_critic`."""
        ...

    def apply_actor(self, gradients: Mapping[str, Any]) -> None:
        """One step of Adam: writes ``slot/actor`` and ``param/actor``."""
        ...

    def update_targets(self) -> None:
        """Polyak averaging: writes ``target/critic`` and ``target/actor``."""
        ...

    def set_learning_rate(self, group: str, value: float) -> None:
        """See :class:`Learner`; groups ``critic`` and ``actor``."""
        ...

    def update(self, batch: Mapping[str, Any], draws: Mapping[str, Any]) -> dict[str, Any]:
        """The critics' links, and in every ``policy_delay``-th update the actor's and targets'.

        Args:
            batch: tensors ``observation`` [B, obs], ``action`` [B, act], ``reward`` [B],
                ``next_observation`` [B, obs] of the learner's dtype; ``terminated`` and
                ``truncated`` [B], bool. B of at least 1;
                another B compiles anew, in TensorFlow only the second: that graph takes any B.
            draws: ``noise`` [B, act], standard normal, of the learner's dtype.

        Returns:
            ``target`` [B], ``critic_loss``; in a delayed update ``actor_loss``; with clipping also
            ``critic_norm``, ``actor_norm``, both before clipping.

        Raises:
            ShapeError: a field is missing or unknown, or its shape is not as above.
            DtypeError: a field has another dtype; nothing is cast.
            NonFiniteError: NaN or infinity; the message names field, row and value. Nothing has
                been changed then.
        """
        ...


def make_learner(
    config: TD3Config, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> Any:
    """A :class:`TD3` that starts from ``initial_state(config, default_rng(0))``.

    The same numbers on every side; real training loads a state of its own seed.
    """
    ...


COMPONENT = Component(
    name="td3",
    contract=(TD3, make_learner),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
