"""Losses of soft actor-critic: target, critics, actor, temperature. Vectors ``[B]`` throughout.

``alpha`` is the temperature, the weight of the entropy in units of return: a Python number or a
scalar tensor. It gets no gradient except from :func:`temperature_loss`, which takes its logarithm.
Log-probabilities are those of ``policies.tanh_gaussian_sample``.
"""

from __future__ import annotations

from typing import Any

from impls.sac_losses.cases import CHECKS
from impls.sac_losses.faults import ERRORS, MUTANTS
from parity.component import Component


def soft_target(
    r_t: Any, discount_t: Any, q1_t: Any, q2_t: Any, log_prob_t: Any, *, alpha: Any
) -> Any:
    """Target of the critics.

        y_b = r_t + discount_t * (min(q1_t, q2_t) - alpha * log_prob_t)

    Source: Haarnoja et al. 2018, "Soft actor-critic algorithms and applications", equations 3 and
    5; the minimum of two target critics by its section 6.

    Args:
        r_t: [B], floating: rewards.
        discount_t: [B], same dtype: 0 where terminated, not where truncated.
        q1_t, q2_t: [B], same dtype: of the target critics, at an action that the current policy
            draws for the next observation.
        log_prob_t: [B], same dtype: of that action.
        alpha: at least 0.

    Returns:
        [B], same dtype. A constant: no gradient flows into any argument.

    Raises:
        ShapeError: not vectors of one length of at least 1, or a tensor alpha is no scalar.
        DtypeError: not of one floating dtype.
        ConfigError: a number alpha is negative.
    """
    ...


def soft_critic_loss(q1_tm1: Any, q2_tm1: Any, target: Any, *, reduction: str = "mean") -> Any:
    """Loss of both critics against one target.

        loss = mean_b 0.5 * (q1_tm1_b - y_b)^2 + 0.5 * (q2_tm1_b - y_b)^2

    Source: Haarnoja et al. 2018, equation 5.

    Args:
        q1_tm1, q2_tm1: [B], floating: of the actions taken.
        target: [B], same dtype: :func:`soft_target`; constant.
        reduction: ``mean`` over the batch, ``sum``, or ``none``.

    Returns:
        A scalar; [B] for ``none``.

    Raises:
        ShapeError, DtypeError: as :func:`soft_target`.
        ConfigError: the reduction is unknown.

    Conventions: one half per critic, as in the paper; ``losses.twin_critic_loss`` has none.
    """
    ...


def soft_actor_loss(log_prob: Any, q1: Any, q2: Any, *, alpha: Any, reduction: str = "mean") -> Any:
    """Loss of the actor: ``mean_b alpha * log_prob_b - min(q1_b, q2_b)``.

    Source: Haarnoja et al. 2018, equation 9; the minimum by its section 6.

    Args:
        log_prob: [B], floating: of a reparameterised action.
        q1, q2: [B], same dtype: of the critics at that action; the gradient flows through both
            into the action.
        alpha: at least 0; constant.
        reduction: as in :func:`soft_critic_loss`.

    Returns:
        A scalar; [B] for ``none``.

    Raises:
        ShapeError, DtypeError, ConfigError: as :func:`soft_target` and :func:`soft_critic_loss`.

    Conventions: between equal values the gradient is that of ``q1``.
    """
    ...


def temperature_loss(
    log_alpha: Any, log_prob: Any, *, target_entropy: float, reduction: str = "mean"
) -> Any:
    """Loss of the temperature, whose descent moves the policy's entropy to its target.

        loss = -mean_b exp(log_alpha) * stop_gradient(log_prob_b + target_entropy)

    Source: Haarnoja et al. 2018, equation 18.

    Args:
        log_alpha: scalar, floating: the parameter that is trained.
        log_prob: [B], same dtype: of actions that the policy draws; constant.
        target_entropy: nats; minus the number of action dimensions there.
        reduction: as in :func:`soft_critic_loss`.

    Returns:
        A scalar; [B] for ``none``.

    Raises:
        ShapeError: log_alpha is no scalar, or log_prob is no vector of at least 1.
        DtypeError: not of one floating dtype.
        ConfigError: the reduction is unknown.

    Conventions: alpha itself stands in the loss. Many codes have ``log_alpha`` there: the same
    sign, another step size. Where the entropy ``-log_prob`` is below its target, alpha rises.
    """
    ...


COMPONENT = Component(
    name="sac_losses",
    contract=(soft_target, soft_critic_loss, soft_actor_loss, temperature_loss),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
