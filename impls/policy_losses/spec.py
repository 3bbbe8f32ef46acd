"""Losses of stochastic actor-critic methods: REINFORCE, A2C, PPO.

Every array holds one value per step: ``[B]``, or ``[T, B]`` where environments are kept apart.
All arguments of a loss have one shape; nothing is broadcast. Losses are minimised: the policy
gradient and the entropy bonus carry their minus sign here.
"""

from __future__ import annotations

from typing import Any

from impls.policy_losses.cases import CHECKS
from impls.policy_losses.faults import ERRORS, MUTANTS
from parity.component import Component


def policy_gradient_loss(log_prob: Any, advantage: Any, *, reduction: str = "mean") -> Any:
    """Loss whose descent is the policy gradient.

        loss = -mean_b log_prob_b * stop_gradient(advantage_b)

    Source: Williams 1992 (REINFORCE), section 5; Sutton & Barto 2018, equations 13.8 and 13.11.

    Args:
        log_prob: [B] or [T, B], floating: of the actions taken, under the policy that learns.
        advantage: same shape and dtype: return, return minus baseline, or GAE; constant.
        reduction: ``mean`` over all steps, ``sum``, or ``none``.

    Returns:
        A scalar; the shape of the arguments for ``none``.

    Raises:
        ShapeError: the shapes differ, or there is no row.
        DtypeError: not of one floating dtype.
        ConfigError: the reduction is unknown.
    """
    ...


def entropy_loss(entropy: Any, *, coefficient: Any = 0.01, reduction: str = "mean") -> Any:
    """Entropy bonus as a loss: ``-coefficient * mean_b entropy_b``.

    Source: Williams & Peng 1991; Mnih et al. 2016 (A3C), section 4 (coefficient 0.01).

    Args:
        entropy: [B] or [T, B], floating, nats.
        coefficient: at least 0; a Python number or a scalar tensor, whose range is not checked.
        reduction: as in :func:`policy_gradient_loss`.

    Returns:
        A scalar; the shape of the entropy for ``none``.

    Raises:
        ShapeError, DtypeError, ConfigError: as :func:`policy_gradient_loss`; a number coefficient
            is negative.
    """
    ...


def value_loss(v_tm1: Any, target: Any, *, reduction: str = "mean") -> Any:
    """Squared error of the value: ``mean_b 0.5 * (v_tm1_b - stop_gradient(target_b))^2``.

    Source: Sutton & Barto 2018, equation 9.4 and section 13.5.

    Args:
        v_tm1: [B] or [T, B], floating, units of return.
        target: same shape and dtype: a return; constant.
        reduction: as in :func:`policy_gradient_loss`.

    Returns:
        A scalar; the shape of the arguments for ``none``.

    Raises:
        ShapeError, DtypeError, ConfigError: as :func:`policy_gradient_loss`.

    Conventions: with the factor of one half, so that the slope is the error itself. A coefficient
    of 0.5 comes on top of it in most PPO codes.
    """
    ...


def clipped_value_loss(
    v_tm1: Any, old_v_tm1: Any, target: Any, *, clip: float = 0.2, reduction: str = "mean"
) -> Any:
    """Value loss of PPO, in which a value gains nothing by moving further than ``clip``.

        moved_b = old_v_tm1_b + min(max(v_tm1_b - old_v_tm1_b, -clip), clip)
        loss = mean_b 0.5 * max((v_tm1_b - target_b)^2, (moved_b - target_b)^2)

    Source: Dhariwal et al. 2017, OpenAI Baselines (ppo2); Engstrom et al. 2020, "Implementation
    matters in deep policy gradients", section 3.

    Args:
        v_tm1: [B] or [T, B], floating, units of return.
        old_v_tm1: same shape and dtype: the value when the data were collected; constant.
        target: same shape and dtype: a return; constant.
        clip: above 0, units of return.
        reduction: as in :func:`policy_gradient_loss`.

    Returns:
        A scalar; the shape of the arguments for ``none``.

    Raises:
        ShapeError, DtypeError, ConfigError: as :func:`policy_gradient_loss`; clip is not above 0.

    Conventions: the larger of the two losses, so that clipping never hides an error; where they
    are equal the gradient is that of the unclipped one.
    """
    ...


def clipped_surrogate_loss(
    log_prob: Any,
    old_log_prob: Any,
    advantage: Any,
    *,
    clip: float = 0.2,
    reduction: str = "mean",
) -> Any:
    """Policy loss of PPO.

        ratio_b = exp(log_prob_b - old_log_prob_b)
        kept_b = min(max(ratio_b, 1 - clip), 1 + clip)
        loss = -mean_b min(ratio_b * advantage_b, kept_b * advantage_b)

    Source: Schulman et al. 2017, "Proximal policy optimization algorithms", equation 7.

    Args:
        log_prob: [B] or [T, B], floating: of the actions taken, under the policy that learns.
        old_log_prob: same shape and dtype: under the policy that acted; constant.
        advantage: same shape and dtype; constant.
        clip: in (0, 1).
        reduction: as in :func:`policy_gradient_loss`.

    Returns:
        A scalar; the shape of the arguments for ``none``.

    Raises:
        ShapeError, DtypeError, ConfigError: as :func:`policy_gradient_loss`; clip is out of range.

    Conventions: the smaller of the two gains: a ratio that has left the interval in the direction
    of the advantage has no gradient, one that left it the other way keeps its own. Where both are
    equal the gradient is that of the unclipped one.
    """
    ...


COMPONENT = Component(
    name="policy_losses",
    contract=(
        policy_gradient_loss,
        entropy_loss,
        value_loss,
        clipped_value_loss,
        clipped_surrogate_loss,
    ),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
