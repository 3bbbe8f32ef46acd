"""Bugs planted in the losses of soft actor-critic, and misuses that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from parity.component import ErrorCase, Mutant, Side

MUTANTS = (
    Mutant(
        id="target-entropy-term-sign",
        find="soft_value = tf.minimum(q1_t, q2_t) - alpha * log_prob_t",
        replace="soft_value = tf.minimum(q1_t, q2_t) + alpha * log_prob_t",
        caught_by="function.soft_target",
        because="plus log-probability: the critic values certainty",
    ),
    Mutant(
        id="entropy-after-the-end",
        find="return r_t + discount_t * soft_value",
        replace="return r_t + discount_t * torch.minimum(q1_t, q2_t) - alpha * log_prob_t",
        caught_by="function.soft_target",
        because="the entropy term is not discounted, and counts after a termination",
        sibling="torch",
    ),
    Mutant(
        id="target-mean-of-critics",
        find="soft_value = tf.minimum(q1_t, q2_t) - alpha * log_prob_t",
        replace="soft_value = 0.5 * (q1_t + q2_t) - alpha * log_prob_t",
        caught_by="function.soft_target",
        because="the mean of the critics overestimates where the minimum should not",
    ),
    Mutant(
        id="terminal-state-bootstrapped",
        find="return tf.stop_gradient(r_t + discount_t * soft_value)",
        replace="return tf.stop_gradient(r_t + tf.reduce_max(discount_t) * soft_value)",
        caught_by="function.soft_target",
        because="gamma in place of the discount: terminations are forgotten",
    ),
    Mutant(
        id="target-not-detached",
        find="return tf.stop_gradient(r_t + discount_t * soft_value)",
        replace="return r_t + discount_t * soft_value",
        caught_by="function.soft_target",
        because="the target critics are trained",
    ),
    Mutant(
        id="critic-without-half",
        find="losses = 0.5 * tf.square(q1_tm1 - y) + 0.5 * tf.square(q2_tm1 - y)",
        replace="losses = tf.square(q1_tm1 - y) + tf.square(q2_tm1 - y)",
        caught_by="function.soft_critic_loss",
        because="the mean squared error of the framework: twice the paper's gradient",
    ),
    Mutant(
        id="critic-target-gradient",
        find="y = target.detach()",
        replace="y = target",
        caught_by="function.soft_critic_loss",
        because="the target gets a gradient: values agree, training does not",
        sibling="torch",
    ),
    Mutant(
        id="actor-sign",
        find="weight * log_prob - tf.where(q1 <= q2, q1, q2)",
        replace="tf.where(q1 <= q2, q1, q2) - weight * log_prob",
        caught_by="function.soft_actor_loss",
        because="the objective itself, which an optimizer then minimises",
    ),
    Mutant(
        id="actor-larger-critic",
        find="tf.where(q1 <= q2, q1, q2)",
        replace="tf.where(q1 >= q2, q1, q2)",
        caught_by="function.soft_actor_loss",
        because="the optimistic critic",
    ),
    Mutant(
        id="actor-first-critic",
        find="torch.where(q1 <= q2, q1, q2)",
        replace="q1 + 0.0 * q2",
        caught_by="function.soft_actor_loss",
        because="TD3's habit: the first critic alone",
        sibling="torch",
    ),
    Mutant(
        id="alpha-trained-by-the-actor",
        find="weight = tf.stop_gradient(alpha) if tf.is_tensor(alpha) else alpha",
        replace="weight = alpha",
        caught_by="function.soft_actor_loss",
        because="the actor's loss pulls the temperature to zero",
        case="alpha-as-tensor",
    ),
    Mutant(
        id="gradient-split-between-equal-critics",
        find="torch.where(q1 <= q2, q1, q2)",
        replace="torch.minimum(q1, q2)",
        caught_by="function.soft_actor_loss",
        because="torch.minimum halves the gradient between equal arguments",
        sibling="torch",
        case="equal-critics",
    ),
    Mutant(
        id="temperature-by-log-alpha",
        find="return _reduce(-tf.exp(log_alpha) * excess, reduction)",
        replace="return _reduce(-log_alpha * excess, reduction)",
        caught_by="function.temperature_loss",
        because="log_alpha in place of alpha: the same sign of the slope, another size",
    ),
    Mutant(
        id="target-entropy-sign",
        find="excess = tf.stop_gradient(log_prob + target_entropy)",
        replace="excess = tf.stop_gradient(log_prob - target_entropy)",
        caught_by="function.temperature_loss",
        because="the target is negated twice: the entropy is driven to plus its dimensions",
    ),
    Mutant(
        id="temperature-sign",
        find="-torch.exp(log_alpha) * (log_prob.detach() + target_entropy)",
        replace="torch.exp(log_alpha) * (log_prob.detach() + target_entropy)",
        caught_by="function.temperature_loss",
        because="the temperature falls where it should rise",
        sibling="torch",
    ),
    Mutant(
        id="policy-trained-by-the-temperature",
        find="-torch.exp(log_alpha) * (log_prob.detach() + target_entropy)",
        replace="-torch.exp(log_alpha) * (log_prob + target_entropy)",
        caught_by="function.temperature_loss",
        because="log_prob keeps its graph: the actor is pushed a second time",
        sibling="torch",
    ),
    Mutant(
        id="temperature-frozen",
        find="return _reduce(-tf.exp(log_alpha) * excess, reduction)",
        replace="return _reduce(-tf.stop_gradient(tf.exp(log_alpha)) * excess, reduction)",
        caught_by="function.temperature_loss",
        because="alpha as the other losses take it: right value, no gradient",
    ),
)


def _call(name: str, *arrays: np.ndarray, **options: Any) -> Callable[[Side], Any]:
    """Call with float arrays in the run's dtype; arrays among the options become tensors too."""

    def call(side: Side) -> Any:
        def tensor(array: np.ndarray) -> Any:
            return side.backend.tensor(array, dtype=side.dtype, device=side.device)

        keywords = {
            key: tensor(value) if isinstance(value, np.ndarray) else value
            for key, value in options.items()
        }
        return getattr(side.impl, name)(*map(tensor, arrays), **keywords)

    return call


_ROWS, _COLUMN, _COUNTS = np.ones(13), np.ones((13, 1)), np.ones(13, np.int64)
_FIVE, _THREE = (_ROWS,) * 5, (_ROWS,) * 3
ERRORS = tuple(
    ErrorCase(case, call, error, match)
    for case, call, error, match in (
        (
            "log-prob-as-a-column",
            _call("soft_target", *_FIVE[:4], _COLUMN, alpha=0.2),
            ShapeError,
            r"log_prob_t has shape \(13, 1\), r_t \(13,\)",
        ),
        (
            "all-columns",
            _call("soft_critic_loss", _COLUMN, _COLUMN, _COLUMN),
            ShapeError,
            r"q1_tm1 has shape \(13, 1\), must be a vector",
        ),
        (
            "lengths-differ",
            _call("soft_actor_loss", _ROWS, _ROWS, np.ones(14), alpha=0.2),
            ShapeError,
            r"q2 has shape \(14,\)",
        ),
        (
            "empty-batch",
            _call("soft_critic_loss", *[_ROWS[:0]] * 3),
            ShapeError,
            r"q1_tm1 has shape \(0,\)",
        ),
        (
            "alpha-of-one-element",
            _call("soft_actor_loss", *_THREE, alpha=np.ones(1)),
            ShapeError,
            r"alpha has shape \(1,\), must be a scalar",
        ),
        (
            "log-alpha-per-row",
            _call("temperature_loss", _ROWS, _ROWS, target_entropy=-2.0),
            ShapeError,
            r"log_alpha has shape \(13,\)",
        ),
        (
            "integer-target",
            _call("soft_critic_loss", _ROWS, _ROWS, _COUNTS),
            DtypeError,
            "target is int64",
        ),
        (
            "alpha-negative",
            _call("soft_target", *_FIVE, alpha=-0.2),
            ConfigError,
            "alpha=-0.2",
        ),
        (
            "unknown-reduction",
            _call("soft_actor_loss", *_THREE, alpha=0.2, reduction="average"),
            ConfigError,
            "reduction='average'",
        ),
    )
)
