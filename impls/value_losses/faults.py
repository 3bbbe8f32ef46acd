"""Bugs planted in deep Q-learning, and misuses that it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from parity.component import ErrorCase, Mutant, Side

MUTANTS = (
    Mutant(
        id="gather-without-batch",
        find="return tf.gather(q_tm1, a_tm1, axis=1, batch_dims=1)",
        replace="return tf.gather(q_tm1, a_tm1, axis=1)[:, 0]",
        caught_by="function.chosen_value",
        because="batch_dims left out: every row gets the first row's action",
    ),
    Mutant(
        id="gather-over-rows",
        find="return torch.gather(q_tm1, 1, a_tm1[:, None])[:, 0]",
        replace="return torch.gather(q_tm1, 0, a_tm1[None, :])[0]",
        caught_by="function.chosen_value",
        because="the action is taken as a row: it works while no action exceeds the batch",
        sibling="torch",
        case="square",
    ),
    Mutant(
        id="greedy-for-taken",
        find="return tf.gather(q_tm1, a_tm1, axis=1, batch_dims=1)",
        replace="return tf.reduce_max(q_tm1, axis=1)",
        caught_by="function.chosen_value",
        because="the best value in place of the taken action's",
    ),
    Mutant(
        id="terminal-state-bootstrapped",
        find="return tf.stop_gradient(r_t + discount_t * tf.reduce_max(q_t, axis=1))",
        replace="gamma = tf.reduce_max(discount_t)\n"
        "    return tf.stop_gradient(r_t + gamma * tf.reduce_max(q_t, axis=1))",
        caught_by="function.dqn_target",
        because="gamma in place of the discount: terminations are forgotten",
    ),
    Mutant(
        id="maximum-over-the-batch",
        find="torch.amax(q_t, dim=1)",
        replace="torch.amax(q_t, dim=0)",
        caught_by="function.dqn_target",
        because="the best row of each action",
        sibling="torch",
        case="square",
    ),
    Mutant(
        id="target-not-detached",
        find="return tf.stop_gradient(r_t + discount_t * tf.reduce_max(q_t, axis=1))",
        replace="return r_t + discount_t * tf.reduce_max(q_t, axis=1)",
        caught_by="function.dqn_target",
        because="the target network is trained: values agree, training does not",
    ),
    Mutant(
        id="action-from-the-target-network",
        find="best = tf.argmax(selector_q_t, axis=1, output_type=tf.int64)",
        replace="best = tf.argmax(q_t, axis=1, output_type=tf.int64)",
        caught_by="function.double_dqn_target",
        because="argmax from the wrong net: that is plain DQN",
    ),
    Mutant(
        id="value-from-the-online-network",
        find="return r_t + discount_t * chosen_value(q_t, best)",
        replace="return r_t + discount_t * chosen_value(selector_q_t, best)",
        caught_by="function.double_dqn_target",
        because="the roles are swapped half way: one network chooses and values",
        sibling="torch",
    ),
    Mutant(
        id="double-target-not-detached",
        find="return tf.stop_gradient(r_t + discount_t * chosen_value(q_t, best))",
        replace="return r_t + discount_t * chosen_value(q_t, best)",
        caught_by="function.double_dqn_target",
        because="argmax stops its own gradient, the value does not",
    ),
    Mutant(
        id="last-of-equal-actions",
        find="best = torch.argmax(selector_q_t, dim=1)",
        replace="best = q_t.shape[1] - 1 - torch.argmax(selector_q_t.flip(1), dim=1)",
        caught_by="function.double_dqn_target",
        because="sorted, last one taken: another action where values are equal",
        sibling="torch",
        case="ties",
    ),
    Mutant(
        id="delta-not-passed-on",
        find='each = losses.huber_loss(chosen, target, delta=delta, reduction="none")',
        replace='each = losses.huber_loss(chosen, target, reduction="none")',
        caught_by="function.q_learning_loss",
        because="delta is accepted and not used: 1, whatever it is",
        case="delta-2.5",
    ),
    Mutant(
        id="squared-error",
        find='each = losses.huber_loss(chosen, target, delta=delta, reduction="none")',
        replace='each = losses.mse_loss(chosen, target, reduction="none")',
        caught_by="function.q_learning_loss",
        because="no Huber loss, and twice its gradient near zero",
    ),
    Mutant(
        id="smooth-l1-with-beta",
        find='each = losses.huber_loss(chosen, target, delta=delta, reduction="none")',
        replace="each = torch.nn.functional.smooth_l1_loss("
        'chosen, target.detach(), beta=delta, reduction="none")',
        caught_by="function.q_learning_loss",
        because="torch's smooth L1 is the Huber loss divided by beta: the same only at 1",
        sibling="torch",
        case="delta-2.5",
    ),
    Mutant(
        id="weights-forgotten",
        find="        each = tf.stop_gradient(weight) * each\n",
        replace="        pass\n",
        caught_by="function.q_learning_loss",
        because="prioritized sampling is not corrected",
        case="weighted",
    ),
    Mutant(
        id="weights-normalised",
        find="each = tf.stop_gradient(weight) * each",
        replace="each = tf.stop_gradient(weight / tf.reduce_mean(weight)) * each",
        caught_by="function.q_learning_loss",
        because="a weighted mean: it undoes the smaller step that the weights ask for",
        case="weighted",
    ),
    Mutant(
        id="weights-not-detached",
        find="each = weight.detach() * each",
        replace="each = weight * each",
        caught_by="function.q_learning_loss",
        because="weights made of priorities, which are errors of the network, get a gradient",
        sibling="torch",
        case="weighted",
    ),
    Mutant(
        id="sum-for-mean",
        find="return tf.reduce_mean(rows)",
        replace="return tf.reduce_sum(rows)",
        caught_by="function.q_learning_loss",
        because="the step size grows with the batch",
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


_Q, _ROWS, _COLUMN = np.ones((13, 5)), np.ones(13), np.ones((13, 1))
_INDEX = np.ones(13, np.int64)
ERRORS = tuple(
    ErrorCase(case, call, error, match)
    for case, call, error, match in (
        (
            "action-as-a-column",
            _call("chosen_value", _Q, _INDEX[:, None]),
            ShapeError,
            r"a_tm1 has shape \(13, 1\), must be \(13,\)",
        ),
        (
            "no-actions",
            _call("chosen_value", _Q[:, :0], _INDEX),
            ShapeError,
            r"q_tm1 has shape \(13, 0\), must be \[B, A\]",
        ),
        (
            "values-of-one-action",
            _call("dqn_target", _ROWS, _ROWS, _ROWS),
            ShapeError,
            r"q_t has shape \(13,\), must be \[B, A\]",
        ),
        (
            "rewards-as-a-column",
            _call("dqn_target", _COLUMN, _ROWS, _Q),
            ShapeError,
            r"r_t has shape \(13, 1\)",
        ),
        (
            "networks-with-other-actions",
            _call("double_dqn_target", _ROWS, _ROWS, _Q, np.ones((13, 4))),
            ShapeError,
            r"selector_q_t has shape \(13, 4\), q_t \(13, 5\)",
        ),
        (
            "target-as-a-column",
            _call("q_learning_loss", _Q, _INDEX, _COLUMN),
            ShapeError,
            r"target has shape \(13, 1\)",
        ),
        (
            "weight-too-short",
            _call("q_learning_loss", _Q, _INDEX, _ROWS, weight=_ROWS[:-1]),
            ShapeError,
            r"weight has shape \(12,\)",
        ),
        ("floating-action", _call("chosen_value", _Q, _ROWS), DtypeError, "a_tm1 is float"),
        (
            "integer-values",
            _call("dqn_target", _ROWS, _ROWS, _Q.astype(np.int64)),
            DtypeError,
            "q_t is int64",
        ),
        (
            "delta-zero",
            _call("q_learning_loss", _Q, _INDEX, _ROWS, delta=0.0),
            ConfigError,
            "delta=0.0",
        ),
        (
            "unknown-reduction",
            _call("q_learning_loss", _Q, _INDEX, _ROWS, reduction="average"),
            ConfigError,
            "reduction='average'",
        ),
    )
)
