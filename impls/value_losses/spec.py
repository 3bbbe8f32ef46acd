"""Deep Q-learning: targets of DQN and double DQN, and the Huber loss of the chosen values.

Action values are ``[B, A]``, everything else is ``[B]``. Nothing is broadcast.
"""

from __future__ import annotations

from typing import Any

from impls.value_losses.cases import CHECKS
from impls.value_losses.faults import ERRORS, MUTANTS
from parity.component import Component


def chosen_value(q_tm1: Any, a_tm1: Any) -> Any:
    """The value of the action that was taken: ``q_tm1[b, a_tm1[b]]``.

    Args:
        q_tm1: [B, A], floating: action values.
        a_tm1: [B], int64 in [0, A): the range is not checked.

    Returns:
        [B], same dtype; differentiable in ``q_tm1``.

    Raises:
        ShapeError: not [B, A] and [B], or a size is 0.
        DtypeError: q_tm1 is not floating, or a_tm1 is not int64.
    """
    ...


def dqn_target(r_t: Any, discount_t: Any, q_t: Any) -> Any:
    """Target of DQN: ``r_t + discount_t * max_a q_t[a]``.

    Source: Mnih et al. 2015, "Human-level control through deep reinforcement learning",
    algorithm 1.

    Args:
        r_t: [B], floating: rewards; for n-step returns the discounted sum of n of them.
        discount_t: [B], same dtype: 0 where terminated, not where truncated.
        q_t: [B, A], same dtype: of the target network, at the observation that followed.

    Returns:
        [B], same dtype. A constant: no gradient flows into any argument.

    Raises:
        ShapeError: the shapes do not fit together, or a size is 0.
        DtypeError: not of one floating dtype.
    """
    ...


def double_dqn_target(r_t: Any, discount_t: Any, q_t: Any, selector_q_t: Any) -> Any:
    """Target of double DQN: one network chooses the action, the other values it.

        a*_b = argmax_a selector_q_t[b, a]
        y_b = r_t + discount_t * q_t[b, a*_b]

    Source: van Hasselt et al. 2016, "Deep reinforcement learning with double Q-learning",
    equation 4.

    Args:
        r_t, discount_t, q_t: as in :func:`dqn_target`; ``q_t`` is the target network's.
        selector_q_t: [B, A], same dtype: the online network's, at the same observation.

    Returns:
        [B], same dtype. A constant: no gradient flows into any argument.

    Raises:
        ShapeError, DtypeError: as :func:`dqn_target`.

    Conventions: among equal values of the selector the lowest action is taken.
    """
    ...


def q_learning_loss(
    q_tm1: Any,
    a_tm1: Any,
    target: Any,
    *,
    weight: Any = None,
    delta: float = 1.0,
    reduction: str = "mean",
) -> Any:
    """Huber loss of the chosen action values.

        e_b = q_tm1[b, a_tm1[b]] - target_b
        loss = mean_b weight_b * (0.5 e_b^2                       if |e_b| <= delta
                                  delta * (|e_b| - 0.5 delta)     otherwise)

    Source: Mnih et al. 2015, section Methods (errors clipped at 1); Schaul et al. 2016,
    "Prioritized experience replay", section 3.4 (weights).

    Args:
        q_tm1: [B, A], floating: of the online network.
        a_tm1: [B], int64 in [0, A): actions taken.
        target: [B], same dtype as q_tm1; constant.
        weight: [B], same dtype: importance of each row, from prioritized replay; constant. None: 1.
        delta: above 0, units of return: where the loss turns linear.
        reduction: ``mean`` over the batch, ``sum``, or ``none``.

    Returns:
        A scalar; [B] for ``none``.

    Raises:
        ShapeError, DtypeError: as :func:`chosen_value`; target or weight does not fit.
        ConfigError: the reduction is unknown, or delta is not finite and above 0.

    Conventions: the mean divides by B, not by the sum of the weights nor by B times A.
    """
    ...


COMPONENT = Component(
    name="value_losses",
    contract=(chosen_value, dqn_target, double_dqn_target, q_learning_loss),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
