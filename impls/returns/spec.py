"""Returns: discounts, one-step targets, n-step returns and rewards to go. Time-major ``[T, B]``.

Row t of every argument belongs to the same transition: the reward ``r_t``, the discount
``discount_t`` of what follows it, and ``v_t``, the value of the observation it led to. At the end
of an episode that observation is the final one, not the first of the next episode.

The two ends of an episode are told apart. Where the task terminated the discount is 0, so nothing
behind it counts. Where a time limit truncated the episode the discount stays, the sum stops, and
what the episode would still have earned is bootstrapped from ``v_t``: a sum never runs into the
next episode. Where both flags are set, the discount of 0 decides.
"""

from __future__ import annotations

from typing import Any

from impls.returns.cases import CHECKS
from impls.returns.faults import ERRORS, MUTANTS
from parity.component import Component


def discounts(terminated: Any, truncated: Any, gamma: Any, *, dtype: str | None = None) -> Any:
    """The discount of what follows each step: ``gamma * (1 - terminated)``, truncated or not.

    Source: Pardo et al. 2018, "Time limits in reinforcement learning", equation 6.

    Args:
        terminated: bool, any shape: the task ended at this step.
        truncated: bool, the same shape: a time limit cut the episode. Taken so that a caller has
            to tell the two apart; the discount does not depend on it.
        gamma: in [0, 1]: a Python number or a scalar floating tensor, whose range is not checked.
        dtype: of the result. None: that of a tensor ``gamma``; for a Python number ``float32``.
            The reference computes in float64 throughout.

    Returns:
        The shape of ``terminated``, floating.

    Raises:
        ConfigError: gamma is a number outside [0, 1].
        DtypeError: a flag is not bool.
        ShapeError: the flags differ in shape.
    """
    ...


def td_target(r_t: Any, discount_t: Any, v_t: Any) -> Any:
    """One-step target: ``r_t + discount_t * v_t``.

    Source: Sutton & Barto 2018, equation 6.2 (the target of TD(0)).

    Args:
        r_t: any shape, floating: rewards.
        discount_t: the same shape and dtype: :func:`discounts`.
        v_t: the same shape and dtype: values of the observations that the steps led to.

    Returns:
        The same shape and dtype. Differentiable; losses stop the gradient.

    Raises:
        ShapeError: the shapes differ; nothing is broadcast, (B,) with (B, 1) included.
        DtypeError: the dtypes differ or are not floating.
    """
    ...


def n_step_return(r_t: Any, discount_t: Any, v_t: Any, n: int, *, truncated: Any = None) -> Any:
    """Return over at most n steps, bootstrapped from the value where the window ends.

        G_t = sum_{k=0}^{m-1} (prod_{j=0}^{k-1} discount_{t+j}) r_{t+k}
              + (prod_{j=0}^{m-1} discount_{t+j}) v_{t+m-1}

    where m is the smallest of n, T - t (the data end) and the number of steps up to and including
    the next truncated one.

    Source: Sutton & Barto 2018, equation 7.1, with a discount per step (White 2017, "Unifying task
    specification in reinforcement learning") and rows named as at the top of this file.

    Args:
        r_t: [T, B], floating: rewards.
        discount_t: [T, B], same dtype: 0 where terminated, not where truncated.
        v_t: [T, B], same dtype: value of the observation that step t led to.
        n: longest window, at least 1; larger than T is allowed.
        truncated: [T, B], bool: a time limit cut the episode after this step. None: nowhere.

    Returns:
        [T, B], same dtype. Differentiable in ``r_t`` and ``v_t``.

    Raises:
        ShapeError: not [T, B] with T of at least 1, or the shapes differ.
        DtypeError: floating dtypes differ, or ``truncated`` is not bool.
        ConfigError: n is below 1.

    Conventions: windows cut by the end of the data bootstrap from the last value with as many
    discounts as they have steps, so the last row is always ``r_t + discount_t * v_t``.
    """
    ...


def reward_to_go(r_t: Any, discount_t: Any, v_t: Any = None, *, truncated: Any = None) -> Any:
    """Discounted sum of the rewards from each step to the end of its episode.

        G_t = r_t + discount_t * next_t
        next_t = v_t        if step t is truncated or the last of the data
                 G_{t+1}    otherwise

    Source: Sutton & Barto 2018, equation 3.9; Pardo et al. 2018, section 3 (bootstrapping at time
    limits).

    Args:
        r_t: [T, B], floating: rewards.
        discount_t: [T, B], same dtype: 0 where terminated.
        v_t: [T, B], same dtype: value of the observation that step t led to. None: zero, a plain
            Monte Carlo sum over the data at hand.
        truncated: [T, B], bool: a time limit cut the episode after this step. None: nowhere.

    Returns:
        [T, B], same dtype. Differentiable in ``r_t`` and ``v_t``.

    Raises:
        ShapeError, DtypeError: as :func:`n_step_return`.
    """
    ...


COMPONENT = Component(
    name="returns",
    contract=(discounts, td_target, n_step_return, reward_to_go),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
