"""Advantages and their targets: GAE, lambda-returns, V-trace. Time-major ``[T, B]``.

Row t of every argument belongs to the same transition: ``v_tm1``, the value of the observation
that it left, ``r_t`` and ``discount_t`` (``returns.discounts``: 0 where terminated), and ``v_t``,
the value of the observation that it led to. At the end of an episode that is the final
observation, not the first of the next episode, so ``v_t`` is not ``v_tm1`` one row later there;
everywhere else it is, if one network made both.

Where the task terminated, the discount of 0 keeps out everything behind it. Where a time limit
truncated the episode, ``v_t`` is bootstrapped and the recursion is cut: nothing of the next
episode comes in. The data end like a truncation. Environments never mix.
"""

from __future__ import annotations

from typing import Any

from impls.advantages.cases import CHECKS
from impls.advantages.faults import ERRORS, MUTANTS
from parity.component import Component


def gae(
    r_t: Any, discount_t: Any, v_tm1: Any, v_t: Any, *, lambda_: Any, truncated: Any = None
) -> Any:
    """Generalised advantage estimate.

        delta_t = r_t + discount_t * v_t - v_tm1
        A_t = delta_t                                          if truncated_t or t is the last row
              delta_t + discount_t * lambda_ * A_{t+1}         otherwise

    Source: Schulman et al. 2016, "High-dimensional continuous control using generalized advantage
    estimation", equations 11 and 16; Pardo et al. 2018 (time limits).

    Args:
        r_t: [T, B], floating: rewards.
        discount_t: [T, B], same dtype: 0 where terminated, not where truncated.
        v_tm1, v_t: [T, B], same dtype: values before and after the step, as above.
        lambda_: in [0, 1]: a Python number or a scalar tensor, whose range is not checked.
        truncated: [T, B], bool: a time limit cut the episode after this step. None: nowhere.

    Returns:
        [T, B], same dtype. A constant: no gradient flows into any argument. The target of the
        value function is ``A_t + v_tm1``.

    Raises:
        ShapeError: not [T, B] with T of at least 1, or the shapes differ.
        DtypeError: floating dtypes differ, or truncated is not bool.
        ConfigError: a number lambda_ is outside [0, 1].
    """
    ...


def lambda_returns(
    r_t: Any, discount_t: Any, v_t: Any, *, lambda_: Any, truncated: Any = None
) -> Any:
    """Mixture of n-step returns.

        G_t = r_t + discount_t * v_t                                        if truncated_t or last
              r_t + discount_t * ((1 - lambda_) * v_t + lambda_ * G_{t+1})  otherwise

    Source: Sutton & Barto 2018, equation 12.2 in its recursive form.

    Args:
        r_t, discount_t, v_t, lambda_, truncated: as in :func:`gae`.

    Returns:
        [T, B], same dtype. Differentiable in r_t and v_t; losses stop the gradient.

    Raises:
        ShapeError, DtypeError, ConfigError: as :func:`gae`.

    Conventions: lambda_ 0 is the one-step target, 1 the reward to go. Minus ``v_tm1`` it is
    :func:`gae` where ``v_tm1`` is ``v_t`` one row earlier within each episode.
    """
    ...


def vtrace(
    r_t: Any,
    discount_t: Any,
    v_tm1: Any,
    v_t: Any,
    log_pi_tm1: Any,
    log_mu_tm1: Any,
    *,
    lambda_: Any = 1.0,
    rho_bar: float = 1.0,
    c_bar: float = 1.0,
    truncated: Any = None,
) -> Any:
    """V-trace targets and policy-gradient advantages from another policy's steps.

        ratio_t = exp(log_pi_tm1 - log_mu_tm1)
        rho_t = min(rho_bar, ratio_t)                  c_t = lambda_ * min(c_bar, ratio_t)
        delta_t = rho_t * (r_t + discount_t * v_t - v_tm1)
        x_t = delta_t                                  if truncated_t or t is the last row
              delta_t + discount_t * c_t * x_{t+1}     otherwise
        target_t = v_tm1 + x_t
        next_t = v_t                                   if truncated_t or t is the last row
                 target_{t+1}                          otherwise
        advantage_t = rho_t * (r_t + discount_t * next_t - v_tm1)

    Source: Espeholt et al. 2018 (IMPALA), section 4.1: equation 1 by its remark 1, the policy
    gradient of section 4.2, lambda by remark 2.

    Args:
        r_t, discount_t, v_tm1, v_t, lambda_, truncated: as in :func:`gae`.
        log_pi_tm1: [T, B], same dtype: log-probability of the action under the policy that learns.
        log_mu_tm1: [T, B], same dtype: under the policy that acted.
        rho_bar: largest weight of a TD error, above 0; decides the fixed point. 1.0 there.
        c_bar: largest weight of what follows, above 0 and at most rho_bar. 1.0 there.

    Returns:
        target [T, B] and advantage [T, B], same dtype. Constants: no gradient flows into any
        argument.

    Raises:
        ShapeError, DtypeError, ConfigError: as :func:`gae`; rho_bar or c_bar is out of range.
    """
    ...


def normalize_advantage(advantage: Any, *, epsilon: float = 1e-8) -> Any:
    """Advantages with mean 0 and deviation 1: ``(A - mean(A)) / (std(A) + epsilon)``.

        std(A) = sqrt(mean((A - mean(A))^2))

    Source: Dhariwal et al. 2017, OpenAI Baselines (ppo2), which computes it in NumPy.

    Args:
        advantage: any shape, floating, at least one element: a minibatch.
        epsilon: at least 0, added to the deviation.

    Returns:
        The same shape and dtype. A constant: no gradient.

    Raises:
        ShapeError: no element.
        DtypeError: not floating.
        ConfigError: epsilon is negative.

    Conventions: over all elements, not per environment; the deviation of the population
    (ddof 0). ``torch.std`` divides by N - 1 unless told otherwise; of 64 elements that is 0.8 %.
    """
    ...


COMPONENT = Component(
    name="advantages",
    contract=(gae, lambda_returns, vtrace, normalize_advantage),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
