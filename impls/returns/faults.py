"""Bugs planted in the returns, and misuses that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from parity.component import ErrorCase, Mutant, Side

MUTANTS = (
    Mutant(
        id="truncation-zeroes-the-discount",
        find="tf.logical_not(terminated)",
        replace="tf.logical_not(tf.logical_or(terminated, truncated))",
        caught_by="function.discounts",
        because="one flag for both ends: the value behind a time limit is thrown away",
    ),
    Mutant(
        id="mask-inverted",
        find="tf.logical_not(terminated)",
        replace="terminated",
        caught_by="function.discounts",
        because="the flag is taken for a mask of running episodes",
    ),
    Mutant(
        id="gamma-through-float32",
        find='scale = tf.constant(gamma, dtype or "float32")',
        replace='scale = tf.cast(gamma, dtype or "float32")',
        caught_by="function.discounts",
        because="tf.cast turns a Python number into a float32 tensor before it casts",
        case="number-float64",
    ),
    Mutant(
        id="value-gets-no-gradient",
        find="return r_t + discount_t * v_t",
        replace="return r_t + discount_t * tf.stop_gradient(v_t)",
        caught_by="function.td_target",
        because="the gradient is stopped in the target instead of in the loss",
    ),
    Mutant(
        id="discount-on-the-reward",
        find="return r_t + discount_t * v_t",
        replace="return discount_t * (r_t + v_t)",
        caught_by="function.td_target",
        because="mask in the wrong place: it takes the last reward of an episode away",
    ),
    Mutant(
        id="one-step-too-many",
        find="range(min(n, r_t.shape[0] or n) - 1)",
        replace="range(min(n, r_t.shape[0] or n))",
        caught_by="function.n_step_return",
        because="off by one: n counted from 0",
    ),
    Mutant(
        id="end-wraps-around",
        find="following = tf.concat([g_t[1:], v_t[-1:]], axis=0)",
        replace="following = tf.roll(g_t, shift=-1, axis=0)",
        caught_by="function.n_step_return",
        because="roll brings the first row to the end of the data",
    ),
    Mutant(
        id="batch-for-time",
        find="following = tf.concat([g_t[1:], v_t[-1:]], axis=0)",
        replace="following = tf.concat([g_t[:, 1:], v_t[:, -1:]], axis=1)",
        caught_by="function.n_step_return",
        because="code for [B, T] data",
        case="square",
    ),
    Mutant(
        id="runs-into-the-next-episode",
        find="            following = tf.where(truncated, v_t, following)\n",
        replace="            pass\n",
        caught_by="function.n_step_return",
        because="truncation forgotten: rewards of the next episode are counted",
    ),
    Mutant(
        id="truncation-is-terminal",
        find="following = tf.where(truncated, v_t, following)",
        replace="following = tf.where(truncated, tf.zeros_like(v_t), following)",
        caught_by="function.n_step_return",
        because="nothing is bootstrapped behind a time limit",
    ),
    Mutant(
        id="first-discount-for-all",
        find="        g_t = r_t + discount_t * following",
        replace="        g_t = r_t + discount_t[:1] * following",
        caught_by="function.n_step_return",
        because="one gamma assumed where the discount differs from step to step",
    ),
    Mutant(
        id="padding-without-power",
        find="torch.cat([discount_t, torch.ones_like(r_t[:extra])])",
        replace="torch.cat([discount_t, 0.99 * torch.ones_like(r_t[:extra])])",
        caught_by="function.n_step_return",
        because="gamma**n for gamma**m: windows cut by the end are discounted as if they were full",
        sibling="torch",
    ),
    Mutant(
        id="no-bootstrap-at-the-end",
        find="ends = last if truncated is None else tf.logical_or(last, truncated)",
        replace="ends = tf.zeros_like(last) if truncated is None else truncated",
        caught_by="function.reward_to_go",
        because="the end of the data is taken for the end of the episode",
    ),
    Mutant(
        id="truncated-keeps-running",
        find="scales = tf.where(ends, zeros, discount_t)",
        replace="scales = discount_t",
        caught_by="function.reward_to_go",
        because="the value is bootstrapped and the next episode is added on top",
    ),
    Mutant(
        id="one-doubling-too-few",
        find="while span < steps:",
        replace="while span < steps - 1:",
        caught_by="function.reward_to_go",
        because="at T = 2, 3, 5, 9, ... the first step does not see the last one",
        case="five-steps",
    ),
    Mutant(
        id="default-in-float64",
        find='scale = tf.constant(gamma, dtype or "float32")',
        replace='scale = tf.constant(gamma, dtype or "float64")',
        caught_by="function.discounts",
        because="a Python number taken as float64, which NumPy would do",
        case="number-default-dtype",
        dtype="float32",
    ),
    Mutant(
        id="tensor-gamma-keeps-its-dtype",
        find="scale = scale if dtype is None else tf.cast(scale, dtype)",
        replace="pass",
        caught_by="function.discounts",
        because="the dtype that was asked for is ignored where gamma is a tensor",
        case="tensor-gamma-cast",
    ),
    Mutant(
        id="rows-left-reversed",
        find="torch.stack(rows[::-1])",
        replace="torch.stack(rows)",
        caught_by="function.reward_to_go",
        because="collected from the back and never turned round",
        sibling="torch",
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


_FLAT, _COLUMN, _ROWS = np.ones(13), np.ones((13, 1)), np.ones((7, 13))
_COUNTS, _NO = np.ones((7, 13), np.int64), np.zeros((7, 13), np.bool_)
_THREE, _EMPTY = (_ROWS, _ROWS, _ROWS), (_ROWS[:0], _ROWS[:0], _ROWS[:0])
ERRORS = tuple(
    ErrorCase(case, call, error, match)
    for case, call, error, match in (
        ("broadcast", _call("td_target", _FLAT, _FLAT, _COLUMN), ShapeError, r"v_t.*\(13, 1\)"),
        ("integers", _call("td_target", _COUNTS, *_THREE[:2]), DtypeError, "r_t is .*int64"),
        ("no-time", _call("n_step_return", _FLAT, _FLAT, _FLAT, n=3), ShapeError, r"\[T, B\]"),
        ("no-steps", _call("n_step_return", *_EMPTY, n=3), ShapeError, "at least one step"),
        ("n-is-zero", _call("n_step_return", *_THREE, n=0), ConfigError, "n=0"),
        (
            "truncated-as-numbers",
            _call("n_step_return", *_THREE, n=3, truncated=_COUNTS),
            DtypeError,
            "truncated is .*int64",
        ),
        (
            "truncated-transposed",
            _call("reward_to_go", *_THREE, truncated=_NO.T),
            ShapeError,
            r"truncated has shape \(13, 7\)",
        ),
        ("gamma-above-one", _call("discounts", _NO, _NO, gamma=1.01), ConfigError, "gamma=1.01"),
        ("flag-as-number", _call("discounts", _ROWS, _NO, gamma=0.9), DtypeError, "terminated is"),
        ("flags-differ", _call("discounts", _NO, _NO.T, gamma=0.9), ShapeError, r"\(13, 7\)"),
    )
)
