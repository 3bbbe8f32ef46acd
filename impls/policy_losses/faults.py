"""Bugs planted in the policy losses, and misuses that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from parity.component import ErrorCase, Mutant, Side

MUTANTS = (
    Mutant(
        id="advantage-not-detached",
        find="return _reduce(-log_prob * tf.stop_gradient(advantage), reduction)",
        replace="return _reduce(-log_prob * advantage, reduction)",
        caught_by="function.policy_gradient_loss",
        because="the baseline is trained by the policy's loss: values agree, training does not",
    ),
    Mutant(
        id="policy-gradient-sign",
        find="return _reduce(-log_prob * advantage.detach(), reduction)",
        replace="return _reduce(log_prob * advantage.detach(), reduction)",
        caught_by="function.policy_gradient_loss",
        because="ascent written for an optimizer that descends",
        sibling="torch",
    ),
    Mutant(
        id="mean-over-time-alone",
        find="return tf.reduce_mean(losses)",
        replace="return tf.reduce_mean(losses, axis=0)",
        caught_by="function.policy_gradient_loss",
        because="a loss per environment where a scalar is meant",
        case="sequence",
    ),
    Mutant(
        id="sum-over-time",
        find="return torch.mean(losses)",
        replace="return torch.mean(torch.sum(losses, dim=0))",
        caught_by="function.value_loss",
        because="summed over time, then averaged over environments: grows with the rollout",
        sibling="torch",
        case="sequence",
    ),
    Mutant(
        id="entropy-sign",
        find="return -coefficient * _reduce(entropy, reduction)",
        replace="return coefficient * _reduce(entropy, reduction)",
        caught_by="function.entropy_loss",
        because="the bonus became a cost: the policy collapses",
    ),
    Mutant(
        id="entropy-coefficient-fixed",
        find="return -coefficient * _reduce(entropy, reduction)",
        replace="return -0.01 * _reduce(entropy, reduction)",
        caught_by="function.entropy_loss",
        because="A3C's value in place of the argument",
        sibling="torch",
        case="coefficient",
    ),
    Mutant(
        id="value-without-half",
        find="_reduce(0.5 * tf.square(v_tm1 - tf.stop_gradient(target)), reduction)",
        replace="_reduce(tf.square(v_tm1 - tf.stop_gradient(target)), reduction)",
        caught_by="function.value_loss",
        because="mean squared error as the other side's library defines it: twice the gradient",
    ),
    Mutant(
        id="value-target-not-detached",
        find="_reduce(0.5 * torch.square(v_tm1 - target.detach()), reduction)",
        replace="_reduce(0.5 * torch.square(v_tm1 - target), reduction)",
        caught_by="function.value_loss",
        because="the bootstrapped value in the target is trained towards the estimate",
        sibling="torch",
    ),
    Mutant(
        id="value-clipped-with-min",
        find="tf.where(free >= clipped, free, clipped)",
        replace="tf.where(free <= clipped, free, clipped)",
        caught_by="function.clipped_value_loss",
        because="min as in the policy's loss, where the loss needs the larger one",
    ),
    Mutant(
        id="value-always-clipped",
        find="0.5 * torch.where(free >= clipped, free, clipped)",
        replace="0.5 * clipped",
        caught_by="function.clipped_value_loss",
        because="no maximum: a value beyond the clip never learns again",
        sibling="torch",
    ),
    Mutant(
        id="clipped-around-the-target",
        find="old, goal = tf.stop_gradient(old_v_tm1), tf.stop_gradient(target)",
        replace="old, goal = tf.stop_gradient(target), tf.stop_gradient(target)",
        caught_by="function.clipped_value_loss",
        because="the change is measured from the return, not from the old value",
    ),
    Mutant(
        id="gradient-split-at-a-tie",
        find="torch.where(free >= clipped, free, clipped)",
        replace="torch.maximum(free, clipped)",
        caught_by="function.clipped_value_loss",
        because="torch.maximum halves the gradient between equal arguments",
        sibling="torch",
        case="around-clip",
    ),
    Mutant(
        id="surrogate-with-max",
        find="-tf.where(free <= clipped, free, clipped)",
        replace="-tf.where(free >= clipped, free, clipped)",
        caught_by="function.clipped_surrogate_loss",
        because="the larger gain: the clip rewards what it should stop",
    ),
    Mutant(
        id="ratio-from-the-new-policy-twice",
        find="ratio = tf.exp(log_prob - tf.stop_gradient(old_log_prob))",
        replace="ratio = tf.exp(log_prob - tf.stop_gradient(log_prob))",
        caught_by="function.clipped_surrogate_loss",
        because="the old log-probability is recomputed by the policy that learns: always 1",
    ),
    Mutant(
        id="ratio-inverted",
        find="ratio = torch.exp(log_prob - old_log_prob.detach())",
        replace="ratio = torch.exp(old_log_prob.detach() - log_prob)",
        caught_by="function.clipped_surrogate_loss",
        because="old over new",
        sibling="torch",
    ),
    Mutant(
        id="ratio-of-log-probs",
        find="ratio = tf.exp(log_prob - tf.stop_gradient(old_log_prob))",
        replace="ratio = log_prob / tf.stop_gradient(old_log_prob)",
        caught_by="function.clipped_surrogate_loss",
        because="a quotient of the logarithms",
    ),
    Mutant(
        id="old-log-prob-not-detached",
        find="ratio = torch.exp(log_prob - old_log_prob.detach())",
        replace="ratio = torch.exp(log_prob - old_log_prob)",
        caught_by="function.clipped_surrogate_loss",
        because="collected without no_grad: the old policy's graph is trained backwards",
        sibling="torch",
    ),
    Mutant(
        id="surrogate-clipped-only",
        find="-tf.where(free <= clipped, free, clipped)",
        replace="-clipped",
        caught_by="function.clipped_surrogate_loss",
        because="no minimum: a ratio that left the wrong way gets no gradient back",
    ),
    Mutant(
        id="clip-in-log-space",
        find="ratio.clamp(1.0 - clip, 1.0 + clip) * advantage.detach()",
        replace="torch.exp((log_prob - old_log_prob.detach()).clamp(-clip, clip))"
        " * advantage.detach()",
        caught_by="function.clipped_surrogate_loss",
        because="the log-ratio is clipped: limits exp(-clip) and exp(clip)",
        sibling="torch",
    ),
)


def _call(name: str, *arrays: np.ndarray, **options: Any) -> Callable[[Side], Any]:
    """Call with float arrays in the run's dtype; others as they are."""

    def call(side: Side) -> Any:
        tensors = (side.backend.tensor(a, dtype=side.dtype, device=side.device) for a in arrays)
        return getattr(side.impl, name)(*tensors, **options)

    return call


_ROWS, _COUNTS = np.ones(13), np.ones(13, np.int64)
_PAIR, _TRIPLE = (_ROWS, _ROWS), (_ROWS, _ROWS, _ROWS)
ERRORS = tuple(
    ErrorCase(case, call, error, match)
    for case, call, error, match in (
        (
            "advantage-as-a-column",
            _call("policy_gradient_loss", _ROWS, _ROWS[:, None]),
            ShapeError,
            r"advantage has shape \(13, 1\), log_prob \(13,\)",
        ),
        (
            "one-target-for-all",
            _call("value_loss", _ROWS, _ROWS[:1]),
            ShapeError,
            r"target has shape \(1,\)",
        ),
        (
            "old-values-with-one-row-more",
            _call("clipped_value_loss", _ROWS, np.ones(14), _ROWS),
            ShapeError,
            r"old_v_tm1 has shape \(14,\)",
        ),
        (
            "old-log-prob-as-a-column",
            _call("clipped_surrogate_loss", _ROWS, _ROWS[:, None], _ROWS),
            ShapeError,
            r"old_log_prob has shape \(13, 1\)",
        ),
        ("no-rows", _call("entropy_loss", _ROWS[:0]), ShapeError, r"shape \(0,\)"),
        ("scalar", _call("entropy_loss", np.array(1.0)), ShapeError, r"shape \(\)"),
        (
            "integer-advantage",
            _call("policy_gradient_loss", _ROWS, _COUNTS),
            DtypeError,
            "advantage is int64",
        ),
        (
            "unknown-reduction",
            _call("value_loss", *_PAIR, reduction="average"),
            ConfigError,
            "reduction='average'",
        ),
        (
            "negative-coefficient",
            _call("entropy_loss", _ROWS, coefficient=-0.01),
            ConfigError,
            "coefficient=-0.01",
        ),
        (
            "value-clip-zero",
            _call("clipped_value_loss", *_TRIPLE, clip=0.0),
            ConfigError,
            "clip=0.0",
        ),
        (
            "ratio-clip-one",
            _call("clipped_surrogate_loss", *_TRIPLE, clip=1.0),
            ConfigError,
            r"clip=1.0: must be in \(0, 1\)",
        ),
    )
)
