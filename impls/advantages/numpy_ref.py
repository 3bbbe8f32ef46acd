"""Advantages by their definitions: explicit sums over each step's window, float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.advantages.config import require_clips, require_epsilon, require_lambda
from impls.arguments import require_floating, require_rows, require_steps

Array = np.ndarray


def gae(
    r_t: Any, discount_t: Any, v_tm1: Any, v_t: Any, *, lambda_: Any, truncated: Any = None
) -> Any:
    require_steps(truncated, r_t=r_t, discount_t=discount_t, v_tm1=v_tm1, v_t=v_t)
    require_lambda(lambda_)
    weights = _weights(discount_t * float(lambda_), truncated)
    return np.einsum("tkb,kb->tb", weights, r_t + discount_t * v_t - v_tm1)


def lambda_returns(
    r_t: Any, discount_t: Any, v_t: Any, *, lambda_: Any, truncated: Any = None
) -> Any:
    require_steps(truncated, r_t=r_t, discount_t=discount_t, v_t=v_t)
    require_lambda(lambda_)
    weights = _weights(discount_t * float(lambda_), truncated)
    kept = _kept(r_t.shape, truncated, float(lambda_))
    return np.einsum("tkb,kb->tb", weights, r_t + discount_t * kept * v_t)


def lambda_returns_vjp(
    *,
    cotangents: Mapping[str, Array],
    r_t: Array,
    discount_t: Array,
    v_t: Array,
    lambda_: Any,
    truncated: Any = None,
) -> dict[str, Array]:
    weights = _weights(discount_t * float(lambda_), truncated)
    of_terms = np.einsum("tkb,tb->kb", weights, cotangents["value"])
    kept = _kept(r_t.shape, truncated, float(lambda_))
    return {"r_t": of_terms, "v_t": of_terms * discount_t * kept}


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
    ratio = np.exp(log_pi_tm1) / np.exp(log_mu_tm1)
    rho, c = np.minimum(rho_bar, ratio), float(lambda_) * np.minimum(c_bar, ratio)
    delta = rho * (r_t + discount_t * v_t - v_tm1)
    target = v_tm1 + np.einsum("tkb,kb->tb", _weights(discount_t * c, truncated), delta)
    following = v_t.copy()
    for t, b in np.ndindex(*r_t.shape):
        if t + 1 < len(r_t) and not (truncated is not None and truncated[t, b]):
            following[t, b] = target[t + 1, b]
    return target, rho * (r_t + discount_t * following - v_tm1)


def normalize_advantage(advantage: Any, *, epsilon: float = 1e-8) -> Any:
    require_floating(advantage=advantage)
    require_rows(advantage=advantage)
    require_epsilon(epsilon)
    centred = advantage - np.mean(advantage)
    return centred / (np.sqrt(np.mean(centred**2)) + epsilon)


def _weights(factor: Array, truncated: Any) -> Array:
    """[T, T, B]: what step k >= t counts for at t: the product of the factors of t to k - 1.

    Nothing, where a truncated step lies between.
    """
    steps, batch = factor.shape
    weights = np.zeros((steps, steps, batch))
    for t in range(steps):
        for b in range(batch):
            for k in range(t, steps):
                if truncated is not None and truncated[t:k, b].any():
                    break
                weights[t, k, b] = np.prod(factor[t:k, b])
    return weights


def _kept(shape: tuple[int, ...], truncated: Any, lambda_: float) -> Array:
    """[T, B]: the share of the bootstrapped value: all of it where nothing follows."""
    kept = np.full(shape, 1.0 - lambda_)
    kept[-1] = 1.0
    return kept if truncated is None else np.where(truncated, 1.0, kept)
