"""Exploration: noise on actions, its decay, target smoothing, epsilon-greedy.

Random draws are arguments (standard normal ``noise``, ``uniform`` in [0, 1)), so that every side
can be given the same ones. Scales and bounds may be Python numbers, tuples with one number per
action dimension, or tensors; inside a compiled step whatever changes between calls has to be a
tensor, because a Python number is frozen there. The ranges of tensors are not checked.
"""

from __future__ import annotations

from typing import Any

from impls.exploration.cases import CHECKS
from impls.exploration.faults import ERRORS, MUTANTS
from parity.component import Component


def gaussian_action(action: Any, noise: Any, *, sigma: Any, low: Any, high: Any) -> Any:
    """Action with Gaussian noise, kept in bounds: ``clip(action + sigma * noise, low, high)``.

    Source: Fujimoto et al. 2018, "Addressing function approximation error in actor-critic methods",
    algorithm 1 (a ~ pi(s) + epsilon, epsilon ~ N(0, sigma)).

    Args:
        action: [B, act], floating.
        noise: [B, act], same dtype: standard normal draws.
        sigma: standard deviation, at least 0, in units of the action; scalar or [act]. Fujimoto
            et al. use 0.1 times the largest action.
        low, high: bounds of the action; scalar or [act].

    Returns:
        [B, act], same dtype.

    Raises:
        ShapeError: action and noise differ in shape.
        DtypeError: their dtypes differ or are not floating.
        ConfigError: a number sigma is negative, or a number low exceeds a number high.
    """
    ...


def smoothed_target_action(
    action: Any, noise: Any, *, sigma: Any, noise_clip: Any, low: Any, high: Any
) -> Any:
    """Target policy smoothing: noise is clipped first, then the action.

        clip(action + clip(sigma * noise, -noise_clip, noise_clip), low, high)

    Source: Fujimoto et al. 2018, equation 14 and algorithm 1.

    Args:
        action: [B, act], floating: action of the target policy.
        noise: [B, act], same dtype: standard normal draws.
        sigma: as in :func:`gaussian_action`; Fujimoto et al. use 0.2 times the largest action.
        noise_clip: largest magnitude of the noise after scaling, at least 0, in units of the
            action; scalar or [act]; 0.5 times the largest action there.
        low, high: bounds of the action; scalar or [act].

    Returns:
        [B, act], same dtype.

    Raises:
        ShapeError, DtypeError, ConfigError: as :func:`gaussian_action`; a number noise_clip is
            negative.
    """
    ...


def ou_step(x_tm1: Any, noise: Any, *, theta: Any, sigma: Any, mu: Any, dt: Any) -> Any:
    """One Euler-Maruyama step of an Ornstein-Uhlenbeck process.

        x_t = x_tm1 + theta * (mu - x_tm1) * dt + sigma * sqrt(dt) * noise

    Source: Uhlenbeck & Ornstein 1930, "On the theory of the Brownian motion"; Lillicrap et al.
    2016, section 7 (theta = 0.15, sigma = 0.2), which leaves dt out, that is dt = 1.

    Args:
        x_tm1: [B, act], floating: the process before the step.
        noise: [B, act], same dtype: standard normal draws.
        theta: rate of reversion per unit of time, at least 0.
        sigma: diffusion per square root of time, at least 0.
        mu: mean that the process reverts to; scalar or [act].
        dt: time step, above 0, in the unit of theta.

    Returns:
        [B, act], same dtype.

    Raises:
        ShapeError: x_tm1 and noise differ in shape.
        DtypeError: their dtypes differ or are not floating.
        ConfigError: a number theta or sigma is negative, or dt is not above 0.
    """
    ...


def ou_sequence(
    x_tm1: Any,
    noise: Any,
    terminated: Any,
    truncated: Any,
    *,
    theta: Any,
    sigma: Any,
    mu: Any,
    dt: Any,
) -> Any:
    """An Ornstein-Uhlenbeck process over time that starts afresh at ``mu`` with each episode.

        x_t       = ou_step(state_t, noise_t)
        state_t+1 = mu     if terminated_t or truncated_t
                    x_t    otherwise

    Source: Lillicrap et al. 2016, algorithm 1 (a random process is initialised per episode).

    Args:
        x_tm1: [B, act], floating: the state before the first step.
        noise: [T, B, act], same dtype: standard normal draws.
        terminated, truncated: [T, B], bool: the episode ended after this step, either way.
        theta, sigma, mu, dt: as in :func:`ou_step`.

    Returns:
        x [T, B, act], same dtype: the noise of each step; and the state [B, act] to continue from.

    Raises:
        ShapeError: the shapes do not fit together, or T is 0.
        DtypeError: floating dtypes differ, or a flag is not bool.
        ConfigError: as :func:`ou_step`.
    """
    ...


def linear_decay(step: Any, *, start: float, end: float, decay_steps: int) -> Any:
    """A scale that moves in a straight line from start to end, then stays.

        start + (end - start) * min(step / decay_steps, 1)

    Source: Mnih et al. 2015, section Methods (epsilon from 1.0 to 0.1 over 1e6 frames, then fixed).

    Args:
        step: integer of at least 0, any shape: a Python number or, in a compiled step, a tensor.
        start, end: the scale at step 0 and from ``decay_steps`` on.
        decay_steps: at least 1.

    Returns:
        The shape of ``step``, float64 whatever dtype the actions have: float32 counts steps only
        up to 2**24.

    Raises:
        ConfigError: decay_steps is below 1.
        DtypeError: step is not an integer.
    """
    ...


def exponential_decay(step: Any, *, start: float, end: float, decay: float) -> Any:
    """A scale that shrinks by a factor per step, down to a floor.

        max(start * decay**step, end)

    Args:
        step: integer of at least 0, any shape: a Python number or, in a compiled step, a tensor.
        start: the scale at step 0, above 0.
        end: the smallest scale, in [0, start].
        decay: factor per step, in (0, 1].

    Returns:
        The shape of ``step``, float64.

    Raises:
        ConfigError: start, end or decay is out of range.
        DtypeError: step is not an integer.
    """
    ...


def epsilon_greedy(q: Any, uniform: Any, random_action: Any, *, epsilon: Any) -> Any:
    """Greedy action, or with probability epsilon the given random one.

        random_action     if uniform < epsilon
        argmax_a q(a)     otherwise

    Source: Sutton & Barto 2018, section 2.2.

    Args:
        q: [B, A], floating: action values.
        uniform: [B], floating: draws in [0, 1).
        random_action: [B], int64: draws from {0, ..., A - 1}.
        epsilon: in [0, 1]; 0 is never random, 1 always.

    Returns:
        [B], int64.

    Raises:
        ShapeError: the shapes do not fit together.
        DtypeError: q or uniform is not floating, or random_action is not int64.
        ConfigError: a number epsilon is out of range.

    Conventions: among equal values the lowest action is taken. The draw is compared in float64,
    because an epsilon rounded to float32 can pass a draw by.
    """
    ...


COMPONENT = Component(
    name="exploration",
    contract=(
        gaussian_action,
        smoothed_target_action,
        ou_step,
        ou_sequence,
        linear_decay,
        exponential_decay,
        epsilon_greedy,
    ),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
