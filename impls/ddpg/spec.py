"""Deep deterministic policy gradient (DDPG): one critic, one actor, a target network of each.

One update, on a batch of transitions ``(s, a, r, s', terminated, truncated)``:

    a'       = actor_target(s')
    y        = r + gamma * (1 - terminated) * Q_target(s', a')
    critic:    descend  mean (Q(s, a) - y)^2         over the critic's parameters, y constant
    actor:     descend  -mean Q(s, actor(s))         over the actor's parameters, Q just updated
    targets:   target <- (1 - tau) * target + tau * online, both networks

Source: Lillicrap et al. 2016, "Continuous control with deep reinforcement learning", algorithm 1.

Differs from the paper: (1) the critic takes the action in its first layer, not its second; (2) the
last layers start like the others, not at 3e-3; (3) a time limit does not end the sum of rewards;
(4) gradients may be clipped by their global norm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impls.ddpg.cases import CHECKS
from impls.ddpg.config import DDPGConfig, initial_state
from impls.ddpg.faults import ERRORS, MUTANTS
from impls.learner.spec import Learner
from parity.component import Component

__all__ = ["COMPONENT", "DDPG", "DDPGConfig", "Learner", "initial_state", "make_learner"]


class DDPG(Learner):
    """The learner; networks ``critic`` (layers ``l1``, ...) and ``actor``.

    Args:
        config: the constants.
        dtype: ``float32`` or ``float64``: of networks, batches and everything between.
        device: ``cpu``, ``cuda`` or ``cuda:N``.
        variant: how :meth:`update` runs: ``eager``; ``compile`` (torch, one Inductor graph);
            ``function`` or ``xla`` (TensorFlow, one graph). The links always run eagerly.

    Raises:
        ConfigError: the side has no such variant.
        DtypeError: another dtype.
    """

    def __init__(
        self, config: DDPGConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None: ...

    def target_action(self, next_observation: Any) -> Any:
        """``a' = actor_target(s')``: [B, obs] -> [B, act]; no gradient."""
        ...

    def target(
        self, reward: Any, next_observation: Any, next_action: Any, terminated: Any, truncated: Any
    ) -> Any:
        """``y = r + gamma * (1 - terminated) * Q_target(s', a')``; no gradient.

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

    def td_error(self, observation: Any, action: Any, target: Any) -> Any:
        """``y - Q(s, a)``: [B]; no gradient."""
        ...

    def critic_loss(self, observation: Any, action: Any, target: Any) -> Any:
        """``mean (Q(s, a) - y)^2``, a scalar; ``target`` [B] gets no gradient."""
        ...

    def critic_gradients(
        self, observation: Any, action: Any, target: Any
    ) -> tuple[Any, dict[str, Any]]:
        """The critic's loss, and its gradient by name of the critic's parameters."""
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
        """``-mean Q(s, actor(s))``, a scalar."""
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
        """All links, in order: one update of every network.

        Args:
            batch: tensors ``observation`` [B, obs], ``action`` [B, act], ``reward`` [B],
                ``next_observation`` [B, obs] of the learner's dtype; ``terminated`` and
                ``truncated`` [B], bool. B of at least 1;
                another B compiles anew, in TensorFlow only the second: that graph takes any B.
            draws: empty: DDPG draws nothing.

        Returns:
            ``target`` [B], ``critic_loss``, ``actor_loss``; with clipping also ``critic_norm``,
            ``actor_norm``, both before clipping.

        Raises:
            ShapeError: a field is missing or unknown, or its shape is not as above.
            DtypeError: a field has another dtype; nothing is cast.
            NonFiniteError: NaN or infinity; the message names field, row and value. Nothing has
                been changed then.
        """
        ...


def make_learner(
    config: DDPGConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> Any:
    """A :class:`DDPG` that starts from ``initial_state(config, default_rng(0))``.

    The same numbers on every side; real training loads a state of its own seed.
    """
    ...


COMPONENT = Component(
    name="ddpg",
    contract=(DDPG, make_learner),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
