"""Bugs planted in the advantages, and misuses that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from parity.component import ErrorCase, Mutant, Side

MUTANTS = (
    Mutant(
        id="runs-into-the-next-episode",
        find="    factors = tf.where(ends, zeros, factors)\n",
        replace="",
        caught_by="function.gae",
        because="truncation forgotten in the backward recursion: the next episode is added",
    ),
    Mutant(
        id="terminal-state-bootstrapped",
        find="    delta_t = r_t + discount_t * v_t - v_tm1\n",
        replace="    delta_t = r_t + tf.reduce_max(discount_t) * v_t - v_tm1\n",
        caught_by="function.gae",
        because="masked in the recursion, not in the TD error: the last value counts after the end",
    ),
    Mutant(
        id="truncation-not-bootstrapped",
        find="    delta_t = r_t + discount_t * v_t - v_tm1\n",
        replace="    delta_t = r_t + tf.where(ends, 0.0 * v_t, discount_t * v_t) - v_tm1\n",
        caught_by="function.gae",
        because="one flag for both ends: a time limit looks like failure",
    ),
    Mutant(
        id="first-value-of-the-next-episode",
        find="        delta_t = r_t + discount_t * v_t - v_tm1\n",
        replace="        v_t = torch.cat([v_tm1[1:], v_t[-1:]])\n"
        "        delta_t = r_t + discount_t * v_t - v_tm1\n",
        caught_by="function.gae",
        because="values[t + 1] of the rollout: after a reset it belongs to the next episode",
        sibling="torch",
    ),
    Mutant(
        id="runs-across-environments",
        find="later = tf.concat([terms[span:], zeros[:span]], axis=0)",
        replace="later = tf.reshape(tf.pad(tf.reshape(terms, [-1])[span:], [[0, span]]), "
        "terms.shape)",
        caught_by="function.gae",
        because="[T, B] flattened before the recursion: the next row is the next environment",
    ),
    Mutant(
        id="batch-for-time",
        find="    for t in reversed(range(terms.shape[0])):\n"
        "        if truncated is not None:\n"
        "            x_t = torch.where(truncated[t], 0.0, x_t)\n"
        "        x_t = terms[t] + factors[t] * x_t\n"
        "        rows.append(x_t)\n"
        "    return torch.stack(rows[::-1])",
        replace="    for t in reversed(range(terms.shape[1])):\n"
        "        if truncated is not None:\n"
        "            x_t = torch.where(truncated[:, t], 0.0, x_t)\n"
        "        x_t = terms[:, t] + factors[:, t] * x_t\n"
        "        rows.append(x_t)\n"
        "    return torch.stack(rows[::-1], dim=1)",
        caught_by="function.gae",
        because="code for [B, T] data",
        sibling="torch",
        case="square",
    ),
    Mutant(
        id="advantage-not-detached",
        find="return tf.stop_gradient(_accumulate(delta_t, discount_t * lambda_, ends))",
        replace="return _accumulate(delta_t, discount_t * lambda_, ends)",
        caught_by="function.gae",
        because="the policy's loss trains the critic through the advantage",
    ),
    Mutant(
        id="lambda-forgotten",
        find="return _accumulate(delta_t, discount_t * lambda_, truncated)",
        replace="return _accumulate(delta_t, discount_t, truncated)",
        caught_by="function.gae",
        because="gamma where gamma * lambda belongs: Monte Carlo whatever lambda is",
        sibling="torch",
    ),
    Mutant(
        id="lambda-the-other-way-round",
        find="mixed = (1.0 - lambda_) * v_t[t] + lambda_ * following",
        replace="mixed = lambda_ * v_t[t] + (1.0 - lambda_) * following",
        caught_by="function.lambda_returns",
        because="lambda weighs the value in place of the return",
        sibling="torch",
    ),
    Mutant(
        id="end-keeps-a-share",
        find="bootstrapped = tf.where(ends, v_t, (1.0 - lambda_) * v_t)",
        replace="bootstrapped = (1.0 - lambda_) * v_t",
        caught_by="function.lambda_returns",
        because="where nothing follows, only 1 - lambda of the value is bootstrapped",
    ),
    Mutant(
        id="return-of-frozen-values",
        find="bootstrapped = tf.where(ends, v_t, (1.0 - lambda_) * v_t)",
        replace="bootstrapped = tf.stop_gradient(tf.where(ends, v_t, (1.0 - lambda_) * v_t))",
        caught_by="function.lambda_returns",
        because="the gradient is stopped in the return instead of in the loss",
    ),
    Mutant(
        id="ratio-inverted",
        find="ratio = tf.exp(log_pi_tm1 - log_mu_tm1)",
        replace="ratio = tf.exp(log_mu_tm1 - log_pi_tm1)",
        caught_by="function.vtrace",
        because="the acting policy over the learning one",
    ),
    Mutant(
        id="trace-clipped-at-rho-bar",
        find="lambda_ * tf.minimum(ratio, c_bar)",
        replace="lambda_ * tf.minimum(ratio, rho_bar)",
        caught_by="function.vtrace",
        because="one threshold for both: the same only while they are equal",
        case="clips-differ",
    ),
    Mutant(
        id="weight-not-clipped",
        find="rho, c = ratio.clamp(max=rho_bar), ",
        replace="rho, c = ratio, ",
        caught_by="function.vtrace",
        because="plain importance sampling of the TD errors",
        sibling="torch",
    ),
    Mutant(
        id="trace-without-lambda",
        find="lambda_ * tf.minimum(ratio, c_bar)",
        replace="tf.minimum(ratio, c_bar)",
        caught_by="function.vtrace",
        because="lambda is accepted and not used",
    ),
    Mutant(
        id="advantage-from-the-value",
        find="following = tf.where(ends, v_t, tf.concat([target[1:], v_t[-1:]], axis=0))",
        replace="following = v_t",
        caught_by="function.vtrace",
        because="the critic's value in place of the V-trace target of the next step",
    ),
    Mutant(
        id="advantage-from-the-next-episode",
        find="            following = torch.where(truncated, v_t, following)\n",
        replace="            pass\n",
        caught_by="function.vtrace",
        because="the target of the next row, which a truncation made another episode's",
        sibling="torch",
    ),
    Mutant(
        id="advantage-without-weight",
        find="advantage = rho * (r_t + discount_t * following - v_tm1)",
        replace="advantage = r_t + discount_t * following - v_tm1",
        caught_by="function.vtrace",
        because="the policy gradient is not corrected for the acting policy",
    ),
    Mutant(
        id="deviation-of-a-sample",
        find="std = torch.std(advantage, correction=0)",
        replace="std = torch.std(advantage)",
        caught_by="function.normalize_advantage",
        because="torch.std divides by N - 1 (ddof 1), NumPy and TensorFlow by N",
        sibling="torch",
    ),
    Mutant(
        id="normalised-per-environment",
        find="centred = advantage - tf.reduce_mean(advantage)",
        replace="centred = advantage - tf.reduce_mean(advantage, axis=0)",
        caught_by="function.normalize_advantage",
        because="a mean over time alone",
        case="sequence",
    ),
    Mutant(
        id="epsilon-in-the-root",
        find="(tf.math.reduce_std(advantage) + epsilon)",
        replace="tf.sqrt(tf.math.reduce_variance(advantage) + epsilon)",
        caught_by="function.normalize_advantage",
        because="as in batch normalisation: 5e-9 off at a deviation of 1, more below",
    ),
)


def _call(name: str, *arrays: np.ndarray, **options: Any) -> Callable[[Side], Any]:
    """Call with float arrays in the run's dtype; arrays among the options become tensors too."""

    def call(side: Side) -> Any:
        def tensor(array: np.ndarray) -> Any:
            return side.backend.tensor(array, dtype=side.dtype, device=side.device)

        keywords = {
            key: tensor(value) if isinstance(value, np.ndarray) else value
            for key, value in {"lambda_": 0.9, **options}.items()
        }
        if name == "normalize_advantage":
            del keywords["lambda_"]
        return getattr(side.impl, name)(*map(tensor, arrays), **keywords)

    return call


_ROWS, _COLUMN, _FLAT = np.ones((7, 13)), np.ones((7, 1)), np.ones(13)
_COUNTS, _FLAGS = np.ones((7, 13), np.int64), np.zeros((7, 13), np.bool_)
_FOUR, _SIX = (_ROWS,) * 4, (_ROWS,) * 6
ERRORS = tuple(
    ErrorCase(case, call, error, match)
    for case, call, error, match in (
        ("no-time", _call("gae", *[_FLAT] * 4), ShapeError, r"r_t has shape \(13,\).*\[T, B\]"),
        ("no-steps", _call("gae", *[_ROWS[:0]] * 4), ShapeError, "at least one step"),
        (
            "values-with-one-row-more",
            _call("gae", _ROWS, _ROWS, _ROWS, np.ones((8, 13))),
            ShapeError,
            r"v_t has shape \(8, 13\), r_t \(7, 13\)",
        ),
        (
            "one-discount-per-step",
            _call("lambda_returns", _ROWS, _COLUMN, _ROWS),
            ShapeError,
            r"discount_t has shape \(7, 1\)",
        ),
        ("integer-rewards", _call("gae", _COUNTS, *_FOUR[1:]), DtypeError, "r_t is int64"),
        (
            "truncated-as-numbers",
            _call("lambda_returns", *_FOUR[:3], truncated=_COUNTS),
            DtypeError,
            "truncated is int64",
        ),
        (
            "truncated-transposed",
            _call("vtrace", *_SIX, truncated=_FLAGS.T),
            ShapeError,
            r"truncated has shape \(13, 7\)",
        ),
        ("lambda-above-one", _call("gae", *_FOUR, lambda_=1.5), ConfigError, "lambda_=1.5"),
        ("lambda-negative", _call("vtrace", *_SIX, lambda_=-0.1), ConfigError, "lambda_=-0.1"),
        ("rho-bar-zero", _call("vtrace", *_SIX, rho_bar=0.0), ConfigError, "rho_bar=0.0"),
        (
            "trace-clipped-above-the-error",
            _call("vtrace", *_SIX, c_bar=2.0),
            ConfigError,
            "c_bar=2.0: must be at most rho_bar=1.0",
        ),
        (
            "nothing-to-normalize",
            _call("normalize_advantage", _FLAT[:0]),
            ShapeError,
            r"advantage has shape \(0,\)",
        ),
        (
            "epsilon-negative",
            _call("normalize_advantage", _FLAT, epsilon=-1e-8),
            ConfigError,
            "epsilon=-1e-08",
        ),
    )
)
