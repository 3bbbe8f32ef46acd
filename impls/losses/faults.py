"""Bugs planted in the losses, and misuses that they refuse."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from parity.component import ErrorCase, Mutant, Side

PAIR = ("q_tm1", "target")

MUTANTS = (
    Mutant(
        id="td-error-sign",
        find="return tf.stop_gradient(target) - q_tm1",
        replace="return q_tm1 - tf.stop_gradient(target)",
        caught_by="function.td_error",
        because="estimate minus target, as in the loss, where the error is target minus estimate",
    ),
    Mutant(
        id="td-error-target-gradient",
        find="return target.detach() - q_tm1",
        replace="return target - q_tm1",
        caught_by="function.td_error",
        because="the target network is trained through the target: detach is missing",
        sibling="torch",
    ),
    Mutant(
        id="mse-half",
        find="return _reduce(torch.square(q_tm1 - target.detach()), reduction)",
        replace="return _reduce(0.5 * torch.square(q_tm1 - target.detach()), reduction)",
        caught_by="function.mse_loss",
        because="a factor of one half, so that the gradient is the error itself",
        sibling="torch",
    ),
    Mutant(
        id="mse-column-target",
        find="return _reduce(tf.square(q_tm1 - tf.stop_gradient(target)), reduction)",
        replace="return _reduce(tf.square(q_tm1 - tf.stop_gradient(target)[:, None]), reduction)",
        caught_by="function.mse_loss",
        because="the target keeps the column of the network's output: (B,) - (B, 1) is (B, B)",
    ),
    Mutant(
        id="huber-smooth-l1",
        find="0.5 * tf.square(error), delta * (size - 0.5 * delta)",
        replace="0.5 * tf.square(error) / delta, size - 0.5 * delta",
        caught_by="function.huber_loss",
        because="smooth L1 divides by beta; the two are the same only at delta = 1",
        case="delta-2.5",
    ),
    Mutant(
        id="huber-frozen-error",
        find="error = q_tm1 - tf.stop_gradient(target)",
        replace="error = tf.stop_gradient(q_tm1 - target)",
        caught_by="function.huber_loss",
        because="stop_gradient around the whole error: right value, no gradient at all",
    ),
    Mutant(
        id="huber-jump-at-delta",
        find="delta * (size - 0.5 * delta)",
        replace="delta * (size - delta)",
        caught_by="function.huber_loss",
        because="the linear part starts at 0 and not at the quadratic part's last value",
        sibling="torch",
        case="around-delta-0.1",
    ),
    Mutant(
        id="huber-reference-slope",
        find="weight * np.clip(q_tm1 - target, -delta, delta)",
        replace="weight * np.clip(q_tm1 - target, -1.0, 1.0)",
        caught_by="function.huber_loss",
        because="the gradient is clipped at 1, DQN's delta, whatever delta is",
        sibling="reference",
        case="delta-2.5",
    ),
    Mutant(
        id="twin-missing-stop-gradient",
        find="y = tf.stop_gradient(target)",
        replace="y = target",
        caught_by="function.twin_critic_loss",
        because="the target gets a gradient: values agree, training does not",
    ),
    Mutant(
        id="twin-smaller-loss",
        find="_reduce(tf.square(q1_tm1 - y) + tf.square(q2_tm1 - y), reduction)",
        replace="_reduce(tf.minimum(tf.square(q1_tm1 - y), tf.square(q2_tm1 - y)), reduction)",
        caught_by="function.twin_critic_loss",
        because="the minimum belongs to the target, here only one critic would learn from a row",
    ),
    Mutant(
        id="twin-first-critic-twice",
        find="tf.square(q1_tm1 - y) + tf.square(q2_tm1 - y)",
        replace="tf.square(q1_tm1 - y) + tf.square(q1_tm1 - y)",
        caught_by="function.twin_critic_loss",
        because="a line copied and not edited: the second critic never learns",
    ),
    Mutant(
        id="twin-mean-of-critics",
        find="_reduce(torch.square(q1_tm1 - y) + torch.square(q2_tm1 - y), reduction)",
        replace="_reduce((torch.square(q1_tm1 - y) + torch.square(q2_tm1 - y)) / 2, reduction)",
        caught_by="function.twin_critic_loss",
        because="the mean over the critics halves both gradients",
        sibling="torch",
    ),
    Mutant(
        id="actor-sign",
        find="return _reduce(-q_tm1, reduction)",
        replace="return _reduce(q_tm1, reduction)",
        caught_by="function.dpg_actor_loss",
        because="the actor descends on its value",
    ),
    Mutant(
        id="sum-for-mean",
        find="return tf.reduce_mean(losses)",
        replace="return tf.reduce_sum(losses)",
        caught_by="function.dpg_actor_loss",
        because="a sum over the batch: the step size grows with the batch",
    ),
    Mutant(
        id="mean-keeps-dimension",
        find="return torch.mean(losses)",
        replace="return torch.mean(losses, dim=0, keepdim=True)",
        caught_by="function.twin_critic_loss",
        because="a loss of shape (1,) in place of a scalar",
        sibling="torch",
    ),
)


def _column(side: Side, name: str, arguments: tuple[str, ...]) -> Any:
    """Call a loss with vectors [3], but the last argument as a column [3, 1]."""
    vector = np.array([1.0, -2.0, 3.0])
    *first, last = arguments
    tensors = {n: side.backend.tensor(vector, dtype=side.dtype) for n in first}
    tensors[last] = side.backend.tensor(vector[:, None], dtype=side.dtype)
    return getattr(side.impl, name)(**tensors)


def _mse(side: Side, q_size: int, target_size: int, **options: Any) -> Any:
    dtype = options.pop("target_dtype", side.dtype)
    q_tm1 = side.backend.tensor(np.arange(q_size, dtype=np.float64), dtype=side.dtype)
    target = side.backend.tensor(np.arange(target_size).astype(dtype))
    return getattr(side.impl, options.pop("name", "mse_loss"))(q_tm1, target, **options)


def _other(dtype: str) -> str:
    return "float64" if dtype == "float32" else "float32"


ERRORS = (
    *(
        ErrorCase(
            id=f"{name.replace('_', '-')}-column",
            call=partial(_column, name=name, arguments=names),
            error=ShapeError,
            match=rf"{names[-1]} has shape \(3, 1\), expected a vector \[B\]",
        )
        for name, names in {
            "td_error": PAIR,
            "mse_loss": PAIR,
            "huber_loss": PAIR,
            "twin_critic_loss": ("q1_tm1", "q2_tm1", "target"),
            "dpg_actor_loss": ("q_tm1",),
        }.items()
    ),
    ErrorCase(
        id="lengths-differ",
        call=lambda side: _mse(side, 3, 4),
        error=ShapeError,
        match=r"q_tm1 \[3\], target \[4\]",
    ),
    ErrorCase(
        id="one-row-against-many",
        call=lambda side: _mse(side, 3, 1),
        error=ShapeError,
        match=r"q_tm1 \[3\], target \[1\]",
    ),
    ErrorCase(
        id="empty-batch",
        call=lambda side: _mse(side, 0, 0),
        error=ShapeError,
        match=r"q_tm1 has shape \(0,\)",
    ),
    ErrorCase(
        id="integer-target",
        call=lambda side: _mse(side, 3, 3, target_dtype="int64"),
        error=DtypeError,
        match="target is int64",
    ),
    ErrorCase(
        id="dtypes-differ",
        call=lambda side: _mse(side, 3, 3, target_dtype=_other(side.dtype)),
        error=DtypeError,
        match="dtypes differ, expected one: q_tm1 float",
    ),
    ErrorCase(
        id="unknown-reduction",
        call=lambda side: _mse(side, 3, 3, reduction="average"),
        error=ConfigError,
        match="reduction='average'",
    ),
    ErrorCase(
        id="delta-zero",
        call=lambda side: _mse(side, 3, 3, name="huber_loss", delta=0.0),
        error=ConfigError,
        match="delta=0.0",
    ),
)
