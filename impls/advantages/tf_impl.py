"""Advantages on TensorFlow tensors: see ``spec.py`` for the contract."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from impls.advantages.config import require_clips, require_epsilon, require_lambda
from impls.arguments import require_floating, require_rows, require_steps
from impls.errors import ShapeError


def gae(
    r_t: Any, discount_t: Any, v_tm1: Any, v_t: Any, *, lambda_: Any, truncated: Any = None
) -> Any:
    require_steps(truncated, r_t=r_t, discount_t=discount_t, v_tm1=v_tm1, v_t=v_t)
    require_lambda(lambda_)
    ends = _ends(r_t, truncated)
    delta_t = r_t + discount_t * v_t - v_tm1
    return tf.stop_gradient(_accumulate(delta_t, discount_t * lambda_, ends))


def lambda_returns(
    r_t: Any, discount_t: Any, v_t: Any, *, lambda_: Any, truncated: Any = None
) -> Any:
    require_steps(truncated, r_t=r_t, discount_t=discount_t, v_t=v_t)
    require_lambda(lambda_)
    ends = _ends(r_t, truncated)
    bootstrapped = tf.where(ends, v_t, (1.0 - lambda_) * v_t)
    return _accumulate(r_t + discount_t * bootstrapped, discount_t * lambda_, ends)


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
    require_steps(
        truncated,
        r_t=r_t,
        discount_t=discount_t,
        v_tm1=v_tm1,
        v_t=v_t,
        log_pi_tm1=log_pi_tm1,
        log_mu_tm1=log_mu_tm1,
    )
    require_lambda(lambda_)
    require_clips(rho_bar, c_bar)
    ends = _ends(r_t, truncated)
    ratio = tf.exp(log_pi_tm1 - log_mu_tm1)
    rho, c = tf.minimum(ratio, rho_bar), lambda_ * tf.minimum(ratio, c_bar)
    delta_t = rho * (r_t + discount_t * v_t - v_tm1)
    target = v_tm1 + _accumulate(delta_t, discount_t * c, ends)
    following = tf.where(ends, v_t, tf.concat([target[1:], v_t[-1:]], axis=0))
    advantage = rho * (r_t + discount_t * following - v_tm1)
    return tf.stop_gradient(target), tf.stop_gradient(advantage)


def normalize_advantage(advantage: Any, *, epsilon: float = 1e-8) -> Any:
    require_floating(advantage=advantage)
    require_rows(advantage=advantage)
    require_epsilon(epsilon)
    centred = advantage - tf.reduce_mean(advantage)
    return tf.stop_gradient(centred / (tf.math.reduce_std(advantage) + epsilon))


def _ends(r_t: tf.Tensor, truncated: tf.Tensor | None) -> tf.Tensor:
    """[T, 1] or [T, B]: nothing follows this step: it was truncated, or the data end."""
    steps = r_t.shape[0]
    if steps is None:
        raise ShapeError(f"r_t has shape {tuple(r_t.shape)}: T must be known while tracing")
    last = tf.range(steps)[:, tf.newaxis] == steps - 1
    return last if truncated is None else tf.logical_or(last, truncated)


def _accumulate(terms: tf.Tensor, factors: tf.Tensor, ends: tf.Tensor) -> tf.Tensor:
    """``x_t = terms_t + factors_t * x_{t+1}``, cut where ``ends``, in log2(T) passes.

    Each step maps what follows it to its own sum; a pass composes the maps of twice the span.
    """
    zeros = tf.zeros_like(terms)
    factors = tf.where(ends, zeros, factors)
    span = 1
    while span < terms.shape[0]:
        later = tf.concat([terms[span:], zeros[:span]], axis=0)
        terms += factors * later
        factors *= tf.concat([factors[span:], zeros[:span]], axis=0)
        span *= 2
    return terms
