"""Deep Q-learning (DQN) and double DQN: one action-value network and its target network.

One update, on a batch of transitions ``(s, a, r, s', terminated, truncated)``:

    a*      = argmax_a Q(s', a)                  double; else argmax_a Q_target(s', a)
    y       = r + gamma^steps * (1 - terminated) * Q_target(s', a*)
    descend   mean weight * huber(Q(s, a) - y)   over the parameters of Q, y constant
    every ``target_period`` updates:  target <- (1 - tau) * target + tau * online

Source: Mnih et al. 2015, "Human-level control through deep reinforcement learning", algorithm 1;
van Hasselt et al. 2016, "Deep reinforcement learning with double Q-learning".

Differs from the paper: (1) Adam; (2) a time limit does not end the sum of rewards; (3) gradients
may be clipped by their global norm; (4) n-step transitions and weighted rows, if so configured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impls.dqn.cases import CHECKS
from impls.dqn.config import DQNConfig, initial_state
from impls.dqn.faults import ERRORS, MUTANTS
from impls.learner.spec import Learner
from parity.component import Component

__all__ = ["COMPONENT", "DQN", "DQNConfig", "Learner", "initial_state", "make_learner"]


class DQN(Learner):
    """The learner; one network, ``q`` (layers ``l1``, ...).

    Args:
        config: the constants.
        dtype: ``float32`` or ``float64``: of networks, batches and everything between.
        device: ``cpu``, ``cuda`` or ``cuda:N``.
        variant: how :meth:`update` runs: ``eager``; ``compile`` (torch, one Inductor graph);
            ``function`` or ``xla`` (TensorFlow, one graph). The links, acting, and the move of the
            target network, which most updates lack, always run eagerly.

    Raises:
        ConfigError: the side has no such variant.
        DtypeError: another dtype.
    """

    def __init__(
        self, config: DQNConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None: ...

    def act(self, observation: Any, draws: Mapping[str, Any]) -> dict[str, Any]:
        """Epsilon-greedy actions: random where ``uniform < epsilon``, else the best.

        Args:
            observation: [B, obs], float.
            draws: ``uniform`` [B], float, of [0, 1); ``random_action`` [B], int64 of [0, A);
                ``epsilon``, a scalar of [0, 1].

        Returns:
            ``action`` [B], int64.
        """
        ...

    def greedy(self, observation: Any) -> Any:
        """``argmax_a Q(s, a)``: [B, obs] -> [B], int64; among equal ones the lowest."""
        ...

    def target(
        self,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        truncated: Any,
        steps: Any = None,
    ) -> Any:
        """``y``; no gradient.

        Args:
            reward: [B], float; of n steps their discounted sum.
            next_observation: [B, obs], float; where an episode ended, its last observation.
            terminated: [B], bool: the task ended, nothing follows.
            truncated: [B], bool: a time limit cut; bootstrapping goes on.
            steps: [B], int64: rewards in the sum; None: one each.

        Returns:
            [B], units of return.
        """
        ...

    def td_error(self, observation: Any, action: Any, target: Any) -> Any:
        """``y - Q(s, a)``: [B]; no gradient. Prioritized replay takes its magnitude."""
        ...

    def loss(self, observation: Any, action: Any, target: Any, weight: Any = None) -> Any:
        """``mean weight * huber(Q(s, a) - y)``, a scalar; ``target``, ``weight`` get no gradient.

        Args:
            action: [B], int64.
            weight: [B], float; None: 1.
        """
        ...

    def loss_gradients(
        self, observation: Any, action: Any, target: Any, weight: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        """The loss, and its gradient by name of the network's parameters."""
        ...

    def clip_gradients(self, gradients: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """Gradients scaled to a global norm of at most ``max_gradient_norm``; the norm before.

        Only with ``max_gradient_norm`` set; see ``optimizers.clip_by_global_norm``.
        """
        ...

    def apply_gradients(self, gradients: Mapping[str, Any]) -> None:
        """One step of Adam: writes ``slot/q`` and ``param/q``."""
        ...

    def update_target(self) -> None:
        """Polyak averaging, a copy for ``tau`` = 1: writes ``target/q``."""
        ...

    def set_learning_rate(self, group: str, value: float) -> None:
        """See :class:`Learner`; group ``q``."""
        ...

    def update(self, batch: Mapping[str, Any], draws: Mapping[str, Any]) -> dict[str, Any]:
        """All links, in order; the last one only in every ``target_period``-th update.

        Args:
            batch: tensors ``observation`` [B, obs], ``reward`` [B], ``next_observation`` [B, obs]
                of the learner's dtype; ``action`` [B], int64; ``terminated`` and ``truncated``
                [B], bool; ``steps`` [B], int64, only for ``n_step`` above 1; ``weight`` [B], only
                if ``weighted``. B of at least 1;
                another B compiles anew, in TensorFlow only the second: that graph takes any B.
            draws: empty: an update draws nothing.

        Returns:
            ``target`` [B], ``td_error`` [B], ``loss``; with clipping also ``gradient_norm``.

        Raises:
            ShapeError: a field is missing or unknown, or its shape is not as above.
            DtypeError: a field has another dtype; nothing is cast.
            NonFiniteError: NaN or infinity; the message names field, row and value. Nothing has
                been changed then.
        """
        ...


def make_learner(
    config: DQNConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> Any:
    """A :class:`DQN` that starts from ``initial_state(config, default_rng(0))``.

    The same numbers on every side; real training loads a state of its own seed.
    """
    ...


COMPONENT = Component(
    name="dqn",
    contract=(DQN, make_learner),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
