"""Soft actor-critic (SAC) with an automatic temperature: two critics with targets, one actor.

The policy is a Gaussian squashed into the bounds. The actor network's output [B, 2 * act] is all
means, then all logarithms of standard deviations; the latter are clipped, and get no gradient
beyond the bounds:

    mean, raw  = halves of actor(s)
    log_std    = clip(raw, log_std_min, log_std_max)       gradient 1 within and on the bounds
    a          = max_action * tanh(mean + exp(log_std) * noise),   log pi(a|s) with its correction

One update, on a batch of transitions ``(s, a, r, s', terminated, truncated)`` and two independent
standard normal draws, ``next_noise`` and ``noise``:

    alpha    = exp(log_alpha), as it is before the update, for target and actor
    a'       ~ pi(.|s') with next_noise, from the actor as it is
    y        = r + gamma * (1 - terminated) * (min_i Qi_target(s', a') - alpha * log pi(a'|s'))
    critics:     descend  mean 1/2 (Q1(s, a) - y)^2 + 1/2 (Q2(s, a) - y)^2,   y constant
    actor:       a~ ~ pi(.|s) with noise; descend  mean alpha * log pi(a~|s) - min_i Qi(s, a~)
                 over the actor's parameters, Qi just updated, alpha constant
    temperature: descend  -exp(log_alpha) * mean (log pi(a~|s) + target_entropy)  over log_alpha,
                 a~ the sample that the actor learned from
    targets:     target <- (1 - tau) * target + tau * online, the critics only

Source: Haarnoja et al. 2018b, "Soft actor-critic algorithms and applications", algorithm 1 and
equations 5, 7 and 18; the squashing from Haarnoja et al. 2018a, appendix C.

Differs from the paper: (1) log_alpha is optimised, not alpha, as in the authors' code; (2) a time
limit does not end the sum of rewards; (3) gradients may be clipped by their global norm; (4) the
action is scaled to ``max_action``, and its density is that of the scaled action: the default target
entropy, -act, means the action in its own unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impls.learner.spec import Learner
from impls.sac.cases import CHECKS
from impls.sac.config import SACConfig, initial_state
from impls.sac.faults import ERRORS, MUTANTS
from parity.component import Component

__all__ = ["COMPONENT", "SAC", "Learner", "SACConfig", "initial_state", "make_learner"]


class SAC(Learner):
    """The learner: ``critic`` (layers ``q1/l1``, ..., ``q2/l3``), ``actor``, ``temperature``.

    ``temperature`` holds one parameter, the scalar ``log_alpha``. The critics have target networks.

    Args:
        config: the constants.
        dtype: ``float32`` or ``float64``: of networks, batches and everything between.
        device: ``cpu``, ``cuda`` or ``cuda:N``.
        variant: how :meth:`update` runs: ``eager``; ``compile`` (torch, Inductor);
            ``function`` or ``xla`` (TensorFlow). Either makes one graph of the whole update. The
            links always run eagerly.

    Raises:
        ConfigError: the side has no such variant.
        DtypeError: another dtype.
    """

    def __init__(
        self, config: SACConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None: ...

    def act(self, observation: Any, draws: Mapping[str, Any]) -> dict[str, Any]:
        """Draw actions from the policy.

        Args:
            observation: [B, obs], of the learner's dtype.
            draws: ``noise`` [B, act], standard normal.

        Returns:
            ``action`` [B, act], within ``max_action``.
        """
        ...

    def greedy(self, observation: Any) -> Any:
        """``max_action * tanh(mean)``: [B, obs] -> [B, act]; see ``tanh_gaussian_mode``."""
        ...

    def alpha(self) -> Any:
        """The temperature ``exp(log_alpha)``, a scalar above 0; no gradient."""
        ...

    def sample(self, observation: Any, noise: Any) -> tuple[Any, Any]:
        """An action of the actor as it is, and its log-density; see ``tanh_gaussian_sample``.

        Args:
            observation: [B, obs], float.
            noise: [B, act], standard normal.

        Returns:
            action [B, act], within ``max_action``; log-density [B] in nats.
        """
        ...

    def target(
        self,
        reward: Any,
        next_observation: Any,
        next_action: Any,
        next_log_prob: Any,
        alpha: Any,
        terminated: Any,
        truncated: Any,
    ) -> Any:
        """``y``, with the entropy of the next action only where there is a next state; no gradient.

        Args:
            reward: [B], float.
            next_observation: [B, obs], float; where an episode ended, its last observation.
            next_action: [B, act], float.
            next_log_prob: [B], float: log-density of it.
            alpha: scalar.
            terminated: [B], bool: the task ended, nothing follows.
            truncated: [B], bool: a time limit cut; bootstrapping goes on.

        Returns:
            [B], units of return.
        """
        ...

    def td_error(self, observation: Any, action: Any, target: Any) -> tuple[Any, Any]:
        """``y - Q1(s, a)`` and ``y - Q2(s, a)``: [B] each; for priorities, without gradient."""
        ...

    def critic_loss(self, observation: Any, action: Any, target: Any) -> Any:
        """``mean sum_i 1/2 (Qi(s, a) - y)^2``, a scalar; ``target`` [B] gets no gradient."""
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

    def actor_loss(self, observation: Any, noise: Any, alpha: Any) -> Any:
        """``mean alpha * log pi(a~|s) - min_i Qi(s, a~)``, a scalar; ``alpha`` gets no gradient.

        Of equal critics the first one passes the gradient on.
        """
        ...

    def actor_gradients(
        self, observation: Any, noise: Any, alpha: Any
    ) -> tuple[Any, Any, dict[str, Any]]:
        """The actor's loss, ``log pi(a~|s)`` [B], and the gradient of the actor's parameters."""
        ...

    def clip_actor(self, gradients: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """As :meth:`clip_critic`."""
        ...

    def apply_actor(self, gradients: Mapping[str, Any]) -> None:
        """One step of Adam: writes ``slot/actor`` and ``param/actor``."""
        ...

    def temperature_loss(self, log_prob: Any) -> Any:
        """``-exp(log_alpha) * mean (log_prob + target_entropy)``; ``log_prob`` gets no gradient."""
        ...

    def temperature_gradients(self, log_prob: Any) -> tuple[Any, dict[str, Any]]:
        """The temperature's loss, and its gradient by name: ``log_alpha``, a scalar."""
        ...

    def apply_temperature(self, gradients: Mapping[str, Any]) -> None:
        """One step of Adam: writes ``slot/temperature`` and ``param/temperature``."""
        ...

    def update_targets(self) -> None:
        """Polyak averaging: writes ``target/critic``."""
        ...

    def set_learning_rate(self, group: str, value: float) -> None:
        """See :class:`Learner`; groups ``critic``, ``actor`` and ``temperature``."""
        ...

    def update(self, batch: Mapping[str, Any], draws: Mapping[str, Any]) -> dict[str, Any]:
        """All links in order; those of the temperature only with ``learn_temperature``.

        Args:
            batch: tensors ``observation`` [B, obs], ``action`` [B, act], ``reward`` [B],
                ``next_observation`` [B, obs] of the learner's dtype; ``terminated`` and
                ``truncated`` [B], bool. B of at least 1;
                another B compiles anew, in TensorFlow only the second: that graph takes any B.
            draws: ``noise`` and ``next_noise`` [B, act], standard normal, independent, of the
                learner's dtype.

        Returns:
            ``alpha``, as it was before; ``target`` [B], ``critic_loss``, ``actor_loss``; where it
            is learned, ``temperature_loss``; with clipping also ``critic_norm``, ``actor_norm``,
            both before clipping.

        Raises:
            ShapeError: a field is missing or unknown, or its shape is not as above.
            DtypeError: a field has another dtype; nothing is cast.
            NonFiniteError: NaN or infinity; the message names field, row and value. Nothing has
                been changed then.
        """
        ...


def make_learner(
    config: SACConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> Any:
    """A :class:`SAC` that starts from ``initial_state(config, default_rng(0))``.

    The same numbers on every side; real training loads a state of its own seed.
    """
    ...


COMPONENT = Component(
    name="sac",
    contract=(SAC, make_learner),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
