"""Policies as distributions over actions: categorical, diagonal Gaussian, squashed Gaussian.

The last axis holds the logits or the dimensions of the action; leading axes are free: ``[B, A]``,
or ``[T, B, A]``. Draws are arguments (``uniform`` in [0, 1), standard normal ``noise``), so that
every side can be given the same ones.

A Gaussian's ``log_std`` has the shape of the mean, or ``[act]``: one parameter for all rows, as
in most PPO codes. Its gradient is then summed over the rows.
"""

from __future__ import annotations

from typing import Any

from impls.policies.cases import CHECKS
from impls.policies.faults import ERRORS, MUTANTS
from parity.component import Component


def categorical_sample(logits: Any, uniform: Any) -> Any:
    """Action by inverse CDF: the first whose cumulative probability exceeds the draw.

        w_a = exp(logits_a - max logits)
        action = min { a : w_0 + ... + w_a > uniform * (w_0 + ... + w_{A-1}) }

    Source: Devroye 1986, "Non-uniform random variate generation", section III.2.

    Args:
        logits: [..., A], floating and finite; an action is masked by a logit such as -1e9.
        uniform: [...], floating of either dtype: draws in [0, 1).

    Returns:
        [...], int64. An action of probability zero is never drawn, not even by a draw of 0.

    Raises:
        ShapeError: logits have no action, or uniform is not one draw per row.
        DtypeError: logits or uniform are not floating.

    Conventions: weights and sums are float64 whatever dtype the logits have, because in float32
    a draw within 1e-7 of an edge falls on either side of it. No gradient: the result is an index.
    """
    ...


def categorical_log_prob(logits: Any, action: Any) -> Any:
    """Log-probability of an action: ``logits_action - log(sum_a exp(logits_a))``.

    Source: Sutton & Barto 2018, equation 13.2 (softmax in action preferences).

    Args:
        logits: [..., A], floating and finite.
        action: [...], int64 in [0, A): the range is not checked.

    Returns:
        [...], dtype of the logits; differentiable in them.

    Raises:
        ShapeError: logits have no action, or action is not one index per row.
        DtypeError: logits are not floating, or action is not int64.

    Conventions: exact in the tail. ``log(softmax + 1e-8)`` stops at -18.4 and has no slope there.
    """
    ...


def categorical_entropy(logits: Any) -> Any:
    """Entropy in nats: ``-sum_a p_a log(p_a)`` with ``p = softmax(logits)``.

    Args:
        logits: [..., A], floating and finite.

    Returns:
        [...], same dtype, between 0 and log(A); differentiable.

    Raises:
        ShapeError, DtypeError: as :func:`categorical_sample`.
    """
    ...


def categorical_mode(logits: Any) -> Any:
    """The most probable action; among equal ones the lowest.

    Args:
        logits: [..., A], floating.

    Returns:
        [...], int64.

    Raises:
        ShapeError, DtypeError: as :func:`categorical_sample`.
    """
    ...


def gaussian_sample(mean: Any, log_std: Any, noise: Any) -> Any:
    """Reparameterised sample: ``mean + exp(log_std) * noise``.

    Source: Kingma & Welling 2014, section 2.4.

    Args:
        mean: [..., act], floating.
        log_std: same dtype, the shape of the mean or [act]: log of the standard deviation.
        noise: the shape and dtype of the mean: standard normal draws.

    Returns:
        [..., act], same dtype. Differentiable in mean and log_std: a policy gradient by likelihood
        ratio must take it as data, or the two paths of the gradient cancel.

    Raises:
        ShapeError: noise and mean differ in shape, or log_std has neither allowed shape.
        DtypeError: not of one floating dtype.
    """
    ...


def gaussian_log_prob(mean: Any, log_std: Any, action: Any) -> Any:
    """Log-density of an action, summed over its dimensions.

        sum_i -((action_i - mean_i) / exp(log_std_i))^2 / 2 - log_std_i - log(2 pi) / 2

    Source: Williams 1992, section 6 (Gaussian units).

    Args:
        mean, log_std: as in :func:`gaussian_sample`.
        action: the shape and dtype of the mean.

    Returns:
        [...], same dtype; differentiable in all three.

    Raises:
        ShapeError, DtypeError: as :func:`gaussian_sample`.

    Conventions: a sum over the dimensions, not their mean.
    """
    ...


def gaussian_entropy(log_std: Any) -> Any:
    """Differential entropy in nats: ``sum_i log_std_i + log(2 pi e) / 2``.

    Args:
        log_std: [..., act], floating.

    Returns:
        [...], same dtype: a scalar for a ``log_std`` [act] that all rows share. May be negative.

    Raises:
        ShapeError: log_std has no dimension.
        DtypeError: log_std is not floating.
    """
    ...


def gaussian_mode(mean: Any) -> Any:
    """The most probable action: the mean itself, the same for every ``log_std``.

    Args:
        mean: [..., act], floating.

    Returns:
        [..., act], same dtype.

    Raises:
        ShapeError, DtypeError: as :func:`gaussian_entropy`.
    """
    ...


def tanh_gaussian_sample(
    mean: Any, log_std: Any, noise: Any, *, low: Any = -1.0, high: Any = 1.0
) -> Any:
    """Reparameterised sample of a Gaussian squashed into bounds, with its log-density.

        u = mean + exp(log_std) * noise
        action = (high + low) / 2 + half * tanh(u)        half = (high - low) / 2
        log_prob = sum_i -noise_i^2 / 2 - log_std_i - log(2 pi) / 2
                         - 2 (log(2) - |u_i| - log(1 + exp(-2 |u_i|))) - log(half_i)

    Source: Haarnoja et al. 2018, "Soft actor-critic", appendix C, equation 21, with
    log(1 - tanh(u)^2) in a form that is exact in the tails.

    Args:
        mean, log_std, noise: as in :func:`gaussian_sample`.
        low, high: bounds of the action; scalar or [act]; numbers, tuples or tensors.

    Returns:
        action [..., act] and log_prob [...], same dtype; both differentiable in mean and log_std.

    Raises:
        ShapeError, DtypeError: as :func:`gaussian_sample`.
        ConfigError: a number low is not below a number high.

    Conventions: the quadratic term is taken from the noise, not from ``(u - mean) / std``, in
    which a small deviation is lost to rounding. The density is that of the action within its
    bounds, hence the term ``log(half)``; where ``|u|`` is large, ``action`` rounds to a bound,
    ``log_prob`` stays finite.
    """
    ...


def tanh_gaussian_log_prob(
    mean: Any, log_std: Any, pre_action: Any, *, low: Any = -1.0, high: Any = 1.0
) -> Any:
    """Log-density of the action that ``pre_action`` is squashed to.

        gaussian_log_prob(mean, log_std, u)
            - sum_i 2 (log(2) - |u_i| - log(1 + exp(-2 |u_i|))) + log(half_i)

    Source: as :func:`tanh_gaussian_sample`.

    Args:
        mean, log_std: as in :func:`gaussian_sample`.
        pre_action: the shape and dtype of the mean: ``u``, before the squashing. An action that
            rounded to a bound could not be taken back.
        low, high: as in :func:`tanh_gaussian_sample`.

    Returns:
        [...], same dtype; differentiable in mean, log_std and pre_action.

    Raises:
        ShapeError, DtypeError, ConfigError: as :func:`tanh_gaussian_sample`.
    """
    ...


def tanh_gaussian_mode(mean: Any, *, low: Any = -1.0, high: Any = 1.0) -> Any:
    """The action without noise: ``(high + low) / 2 + (high - low) / 2 * tanh(mean)``.

    Source: Haarnoja et al. 2018, section 5 (evaluation with the mean action).

    Args:
        mean: [..., act], floating.
        low, high: as in :func:`tanh_gaussian_sample`.

    Returns:
        [..., act], same dtype; differentiable.

    Raises:
        ShapeError, DtypeError, ConfigError: as :func:`tanh_gaussian_sample`.

    Conventions: called the mode by custom; it is the median of the squashed density, which may
    peak elsewhere. There is no closed form of the entropy: estimate it by ``-log_prob``.
    """
    ...


COMPONENT = Component(
    name="policies",
    contract=(
        categorical_sample,
        categorical_log_prob,
        categorical_entropy,
        categorical_mode,
        gaussian_sample,
        gaussian_log_prob,
        gaussian_entropy,
        gaussian_mode,
        tanh_gaussian_sample,
        tanh_gaussian_log_prob,
        tanh_gaussian_mode,
    ),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
