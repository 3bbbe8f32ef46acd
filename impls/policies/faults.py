"""Bugs planted in the policies, and misuses that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from parity.component import ErrorCase, Mutant, Side

MUTANTS = (
    Mutant(
        id="sample-in-float32",
        find="sums = tf.cumsum(weights, axis=-1)",
        replace="sums = tf.cast(tf.cumsum(tf.cast(weights, tf.float32), axis=-1), tf.float64)",
        caught_by="function.categorical_sample",
        because="sums in float32: draws near an edge of the CDF fall on the other side",
        case="edges",
    ),
    Mutant(
        id="zero-draw-hits-a-masked-action",
        find="sums <= threshold",
        replace="sums < threshold",
        caught_by="function.categorical_sample",
        because="searchsorted on the wrong side: a draw of 0 takes action 0, masked or not",
        case="edges",
    ),
    Mutant(
        id="sample-one-too-far",
        find="sums = tf.cumsum(weights, axis=-1)",
        replace="sums = tf.cumsum(weights, axis=-1, exclusive=True)",
        caught_by="function.categorical_sample",
        because="cumulative sums without their own action: every index is one too large",
    ),
    Mutant(
        id="log-of-softmax-plus-epsilon",
        find="log_p = tf.nn.log_softmax(logits, axis=-1)\n    return tf.gather",
        replace="log_p = tf.math.log(tf.nn.softmax(logits, axis=-1) + 1e-8)\n    return tf.gather",
        caught_by="function.categorical_log_prob",
        because="log(p + 1e-8): improbable actions stop at -18.4 and get no gradient",
    ),
    Mutant(
        id="softmax-over-the-batch",
        find="    log_p = torch.log_softmax(logits, dim=-1)\n    return torch.gather",
        replace="    log_p = torch.log_softmax(logits, dim=0)\n    return torch.gather",
        caught_by="function.categorical_log_prob",
        because="normalised over the rows in place of the actions",
        sibling="torch",
        case="square",
    ),
    Mutant(
        id="logit-for-log-prob",
        find="return tf.gather(log_p, action, axis=-1, batch_dims=action.shape.rank)",
        replace="return tf.gather(logits, action, axis=-1, batch_dims=action.shape.rank)",
        caught_by="function.categorical_log_prob",
        because="the logit itself is taken for a log-probability: nothing pushes the others down",
    ),
    Mutant(
        id="entropy-sign",
        find="return -tf.reduce_sum(tf.nn.softmax(logits, axis=-1) * log_p, axis=-1)",
        replace="return tf.reduce_sum(tf.nn.softmax(logits, axis=-1) * log_p, axis=-1)",
        caught_by="function.categorical_entropy",
        because="sum of p log p without the minus: the bonus makes the policy certain",
    ),
    Mutant(
        id="entropy-mean-of-actions",
        find="return -torch.sum(torch.exp(log_p) * log_p, dim=-1)",
        replace="return -torch.mean(torch.exp(log_p) * log_p, dim=-1)",
        caught_by="function.categorical_entropy",
        because="a mean over the actions: smaller by their number",
        sibling="torch",
    ),
    Mutant(
        id="entropy-of-frozen-probabilities",
        find="tf.nn.softmax(logits, axis=-1) * log_p, axis=-1)",
        replace="tf.stop_gradient(tf.nn.softmax(logits, axis=-1)) * log_p, axis=-1)",
        caught_by="function.categorical_entropy",
        because="the weights of the expectation get no gradient: right value, slope of zero",
    ),
    Mutant(
        id="mode-as-int32",
        find="output_type=tf.int64",
        replace="output_type=tf.int32",
        caught_by="function.categorical_mode",
        because="an index type that the gather of the other side refuses",
    ),
    Mutant(
        id="variance-for-deviation",
        find="    return mean + tf.exp(log_std) * noise\n\n\ndef gaussian_log_prob",
        replace="    return mean + tf.exp(0.5 * log_std) * noise\n\n\ndef gaussian_log_prob",
        caught_by="function.gaussian_sample",
        because="log_std taken for a log-variance",
    ),
    Mutant(
        id="sample-is-not-reparameterised",
        find="return mean + torch.exp(log_std) * noise\n\n\ndef gaussian_log",
        replace="return (mean + torch.exp(log_std) * noise).detach()\n\n\ndef gaussian_log",
        caught_by="function.gaussian_sample",
        because="sample() in place of rsample(): the actor's gradient stops here",
        sibling="torch",
    ),
    Mutant(
        id="density-mean-of-dimensions",
        find="tf.reduce_sum(_density((action - mean) * tf.exp(-log_std), log_std), axis=-1)",
        replace="tf.reduce_mean(_density((action - mean) * tf.exp(-log_std), log_std), axis=-1)",
        caught_by="function.gaussian_log_prob",
        because="a mean over the dimensions: PPO's ratio becomes its root",
    ),
    Mutant(
        id="density-without-its-constant",
        find="- log_std - HALF_LOG_2PI\n",
        replace="- log_std\n",
        caught_by="function.gaussian_log_prob",
        because="log(2 pi) left out: no gradient shows it, SAC's temperature does",
    ),
    Mutant(
        id="gaussian-entropy-constant",
        find="return tf.reduce_sum(log_std + (0.5 + HALF_LOG_2PI), axis=-1)",
        replace="return tf.reduce_sum(log_std + HALF_LOG_2PI, axis=-1)",
        caught_by="function.gaussian_entropy",
        because="log(2 pi) for log(2 pi e): half a nat short in each dimension",
    ),
    Mutant(
        id="gaussian-entropy-of-all-rows",
        find="return torch.sum(log_std + (0.5 + HALF_LOG_2PI), dim=-1)",
        replace="return torch.sum(log_std + (0.5 + HALF_LOG_2PI))",
        caught_by="function.gaussian_entropy",
        because="summed over the rows too: the bonus grows with the batch",
        sibling="torch",
        case="batch",
    ),
    Mutant(
        id="mode-is-squashed",
        find="    require_axis(mean=mean)\n    return mean\n",
        replace="    require_axis(mean=mean)\n    return tf.tanh(mean)\n",
        caught_by="function.gaussian_mode",
        because="the squashing of another policy class",
    ),
    Mutant(
        id="correction-with-epsilon",
        find="    terms = _density(noise, log_std) - _log_slope(u) - tf.math.log(half)\n",
        replace="    terms = _density(noise, log_std) - tf.math.log(1.0 - tf.tanh(u) ** 2 + 1e-6)"
        " - tf.math.log(half)\n",
        caught_by="function.tanh_gaussian_sample",
        because="log(1 - a^2 + 1e-6): within 1e-6 of right near zero, wrong at the bounds",
    ),
    Mutant(
        id="correction-sign",
        find="density - _log_slope(u) - torch.log(half)",
        replace="density + _log_slope(u) - torch.log(half)",
        caught_by="function.tanh_gaussian_sample",
        because="the density is multiplied by the slope where it must be divided",
        sibling="torch",
    ),
    Mutant(
        id="quadratic-from-the-sample",
        find="    terms = _density(noise, log_std) - _log_slope(u)",
        replace="    terms = _density((u - mean) * tf.exp(-log_std), log_std) - _log_slope(u)",
        caught_by="function.tanh_gaussian_sample",
        because="(u - mean) / std: a deviation of exp(-20) is lost in the sum with the mean",
        case="least-deviation",
    ),
    Mutant(
        id="density-before-scaling",
        find="    terms = _density(noise, log_std) - _log_slope(u) - tf.math.log(half)\n",
        replace="    terms = _density(noise, log_std) - _log_slope(u)\n",
        caught_by="function.tanh_gaussian_sample",
        because="the density of tanh(u), not of the action: the entropy is off by log(half)",
        case="bounds",
    ),
    Mutant(
        id="softplus-threshold",
        find="math.log(2.0) - size - torch.log1p(torch.exp(-2.0 * size))",
        replace="math.log(2.0) - u - torch.nn.functional.softplus(-2.0 * u)",
        caught_by="function.tanh_gaussian_log_prob",
        because="torch's softplus is linear above 20: 2e-9 off where TensorFlow's is exact",
        sibling="torch",
        case="tails",
    ),
    Mutant(
        id="scale-counted-once",
        find="tf.reduce_sum(_log_slope(pre_action) + tf.math.log(half), axis=-1)",
        replace="tf.reduce_sum(_log_slope(pre_action), axis=-1) + tf.math.log(half)[..., 0]",
        caught_by="function.tanh_gaussian_log_prob",
        because="one log(half) for all dimensions: the first one's",
        case="tails",
    ),
    Mutant(
        id="clipped-for-squashed",
        find="return middle + half * tf.tanh(mean)",
        replace="return middle + half * tf.clip_by_value(mean, -1.0, 1.0)",
        caught_by="function.tanh_gaussian_mode",
        because="evaluation clips where training squashes",
    ),
    Mutant(
        id="bounds-taken-as-symmetric",
        find="return middle + half * torch.tanh(mean)",
        replace="return torch.as_tensor(high, dtype=mean.dtype) * torch.tanh(mean)",
        caught_by="function.tanh_gaussian_mode",
        because="max_action * tanh(mean), though low is not -high",
        sibling="torch",
        case="bounds",
    ),
)


def _call(name: str, *arrays: np.ndarray, **options: Any) -> Callable[[Side], Any]:
    """Call with float arrays in the run's dtype; others as they are."""

    def call(side: Side) -> Any:
        tensors = (side.backend.tensor(a, dtype=side.dtype, device=side.device) for a in arrays)
        return getattr(side.impl, name)(*tensors, **options)

    return call


def _mixed(side: Side) -> Any:
    mean = side.backend.tensor(_MEAN.astype("float32"))
    log_std = side.backend.tensor(_MEAN.astype("float64"))
    return side.impl.gaussian_sample(mean, log_std, mean)


_LOGITS, _MEAN, _DRAW = np.ones((13, 5)), np.ones((13, 2)), np.ones(13) / 2
_INDEX = np.ones(13, np.int64)
ERRORS = tuple(
    ErrorCase(case, call, error, match)
    for case, call, error, match in (
        (
            "draws-as-a-column",
            _call("categorical_sample", _LOGITS, _DRAW[:, None]),
            ShapeError,
            r"uniform has shape \(13, 1\), logits \(13, 5\)",
        ),
        (
            "integer-draws",
            _call("categorical_sample", _LOGITS, _INDEX),
            DtypeError,
            "uniform is int64",
        ),
        (
            "integer-logits",
            _call("categorical_entropy", _INDEX[:, None]),
            DtypeError,
            "logits is int64",
        ),
        ("no-actions", _call("categorical_mode", _LOGITS[:, :0]), ShapeError, r"\(13, 0\)"),
        ("scalar-logits", _call("categorical_mode", np.array(1.0)), ShapeError, r"shape \(\)"),
        (
            "action-per-logit",
            _call("categorical_log_prob", _LOGITS, _LOGITS.astype(np.int64)),
            ShapeError,
            r"action has shape \(13, 5\)",
        ),
        (
            "one-action-for-all",
            _call("categorical_log_prob", _LOGITS, _INDEX[:1]),
            ShapeError,
            r"action has shape \(1,\)",
        ),
        (
            "floating-action",
            _call("categorical_log_prob", _LOGITS, _DRAW),
            DtypeError,
            "action is float",
        ),
        (
            "noise-of-one-row",
            _call("gaussian_sample", _MEAN, _MEAN, _MEAN[:1]),
            ShapeError,
            r"noise has shape \(1, 2\), mean \(13, 2\)",
        ),
        (
            "deviation-per-row",
            _call("gaussian_log_prob", _MEAN, _DRAW[:, None], _MEAN),
            ShapeError,
            r"log_std has shape \(13, 1\)",
        ),
        ("dtypes-differ", _mixed, DtypeError, "mean float32, log_std float64"),
        (
            "bounds-swapped",
            _call("tanh_gaussian_sample", _MEAN, _MEAN, _MEAN, low=1.0, high=-1.0),
            ConfigError,
            "low=1.0, high=-1.0",
        ),
        (
            "bounds-equal",
            _call("tanh_gaussian_mode", _MEAN, low=0, high=0),
            ConfigError,
            "low must be below high",
        ),
    )
)
