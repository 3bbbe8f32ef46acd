"""Returns: discounts, one-step targets, n-step returns and rewards to go. Time-major ``[T, B]``.

Row t of every argument belongs to the same transition: the reward ``r_t``, the discount
``discount_t`` of what follows it, and ``v_t``, the value of the observation it led to. At the end
of an episode that observation is the final one, not the first of the next episode.

The two ends of an episode are told apart. Where the task terminated the discount is 0, so nothing
behind it counts. Where a time limit truncated the episode the discount stays, the sum stops, and
what the episode would still have earned is bootstrapped from ``v_t``: a sum never runs into the
next episode. Where both flags are set, the discount of 0 decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from parity.checks.function import FunctionCheck
from parity.component import Check, Component, ErrorCase, Mutant, Side


def discounts(terminated: Any, truncated: Any, gamma: Any, *, dtype: str | None = None) -> Any:
    """The discount of what follows each step: ``gamma * (1 - terminated)``, truncated or not.

    Source: Pardo et al. 2018, "Time limits in reinforcement learning", equation 6.

    Args:
        terminated: bool, any shape: the task ended at this step.
        truncated: bool, the same shape: a time limit cut the episode. Taken so that a caller has
            to tell the two apart; the discount does not depend on it.
        gamma: in [0, 1]: a Python number or a scalar floating tensor, whose range is not checked.
        dtype: of the result. None: that of a tensor ``gamma``; for a Python number ``float32``.
            The reference computes in float64 throughout.

    Returns:
        The shape of ``terminated``, floating.

    Raises:
        ConfigError: gamma is a number outside [0, 1].
        DtypeError: a flag is not bool.
        ShapeError: the flags differ in shape.
    """
    ...


def td_target(r_t: Any, discount_t: Any, v_t: Any) -> Any:
    """One-step target: ``r_t + discount_t * v_t``.

    Source: Sutton & Barto 2018, equation 6.2 (the target of TD(0)).

    Args:
        r_t: any shape, floating: rewards.
        discount_t: the same shape and dtype: :func:`discounts`.
        v_t: the same shape and dtype: values of the observations that the steps led to.

    Returns:
        The same shape and dtype. Differentiable; losses stop the gradient.

    Raises:
        ShapeError: the shapes differ; nothing is broadcast, (B,) with (B, 1) included.
        DtypeError: the dtypes differ or are not floating.
    """
    ...


def n_step_return(r_t: Any, discount_t: Any, v_t: Any, n: int, *, truncated: Any = None) -> Any:
    """Return over at most n steps, bootstrapped from the value where the window ends.

        G_t = sum_{k=0}^{m-1} (prod_{j=0}^{k-1} discount_{t+j}) r_{t+k}
              + (prod_{j=0}^{m-1} discount_{t+j}) v_{t+m-1}

    where m is the smallest of n, T - t (the data end) and the number of steps up to and including
    the next truncated one.

    Source: Sutton & Barto 2018, equation 7.1, with a discount per step (White 2017, "Unifying task
    specification in reinforcement learning") and rows named as at the top of this file.

    Args:
        r_t: [T, B], floating: rewards.
        discount_t: [T, B], same dtype: 0 where terminated, not where truncated.
        v_t: [T, B], same dtype: value of the observation that step t led to.
        n: longest window, at least 1; larger than T is allowed.
        truncated: [T, B], bool: a time limit cut the episode after this step. None: nowhere.

    Returns:
        [T, B], same dtype. Differentiable in ``r_t`` and ``v_t``.

    Raises:
        ShapeError: not [T, B] with T of at least 1, or the shapes differ.
        DtypeError: floating dtypes differ, or ``truncated`` is not bool.
        ConfigError: n is below 1.

    Conventions: windows cut by the end of the data bootstrap from the last value with as many
    discounts as they have steps, so the last row is always ``r_t + discount_t * v_t``.
    """
    ...


def reward_to_go(r_t: Any, discount_t: Any, v_t: Any = None, *, truncated: Any = None) -> Any:
    """Discounted sum of the rewards from each step to the end of its episode.

        G_t = r_t + discount_t * next_t
        next_t = v_t        if step t is truncated or the last of the data
                 G_{t+1}    otherwise

    Source: Sutton & Barto 2018, equation 3.9; Pardo et al. 2018, section 3 (bootstrapping at time
    limits).

    Args:
        r_t: [T, B], floating: rewards.
        discount_t: [T, B], same dtype: 0 where terminated.
        v_t: [T, B], same dtype: value of the observation that step t led to. None: zero, a plain
            Monte Carlo sum over the data at hand.
        truncated: [T, B], bool: a time limit cut the episode after this step. None: nowhere.

    Returns:
        [T, B], same dtype. Differentiable in ``r_t`` and ``v_t``.

    Raises:
        ShapeError, DtypeError: as :func:`n_step_return`.
    """
    ...


Inputs = Callable[[np.random.Generator], dict[str, np.ndarray]]


def _steps(
    steps: int = 7, batch: int = 13, *, truncate: bool = False, terminate: bool = True
) -> Inputs:
    """Rewards of either sign, terminations in mid-sequence, a discount per step."""

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        shape = (steps, batch)
        terminated = rng.random(shape) < (0.2 if terminate else 0.0)
        arrays = {
            "r_t": rng.normal(size=shape),
            "discount_t": rng.uniform(0.8, 1.0, shape) * ~terminated,
            "v_t": rng.normal(size=shape),
        }
        if truncate:  # some steps are both
            arrays["truncated"] = rng.random(shape) < 0.3
        return arrays

    return inputs


def _rewards_only(rng: np.random.Generator) -> dict[str, np.ndarray]:
    arrays = _steps()(rng)
    return {"r_t": arrays["r_t"], "discount_t": arrays["discount_t"]}


def _batch(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {name: array[0] for name, array in _steps(1)(rng).items()}


def _flags(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """All four combinations of the two flags."""
    return {"terminated": rng.random((7, 13)) < 0.3, "truncated": rng.random((7, 13)) < 0.3}


def _all_negative(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Rewards in [-16, 0] and values far below them, as on Pendulum."""
    arrays = _steps(truncate=True)(rng)
    return {
        **arrays,
        "r_t": -16.0 * rng.random((7, 13)),
        "v_t": -100.0 - 300.0 * rng.random((7, 13)),
    }


def _flags_and_gamma(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {**_flags(rng), "gamma": np.asarray(0.99)}


def _n_step(case: str, n: int, inputs: Inputs, **fields: Any) -> Check:
    fields = {"gradients": ("r_t", "v_t"), **fields}
    return FunctionCheck(name="n_step_return", case=case, inputs=inputs, options={"n": n}, **fields)


def _to_go(case: str, inputs: Inputs, **fields: Any) -> Check:
    fields = {"gradients": ("r_t", "v_t"), **fields}
    return FunctionCheck(name="reward_to_go", case=case, inputs=inputs, **fields)


CHECKS = (
    FunctionCheck(
        name="discounts", case="tensor-gamma", inputs=_flags_and_gamma, modes=("eager", "xla")
    ),
    *(
        FunctionCheck(
            name="discounts",
            case=f"number-{dtype}",
            inputs=_flags,
            options={"gamma": 0.99, "dtype": dtype},
            dtypes=(dtype,),
        )
        for dtype in ("float32", "float64")
    ),
    FunctionCheck(
        name="td_target",
        case="batch",
        inputs=_batch,
        gradients=("r_t", "discount_t", "v_t"),
        modes=("eager", "xla"),
    ),
    FunctionCheck(
        name="td_target", case="sequence", inputs=_steps(), gradients=("r_t", "discount_t", "v_t")
    ),
    _n_step("one-step", 1, _steps()),
    _n_step("three-steps", 3, _steps(), modes=("eager", "xla")),
    _n_step("three-steps-truncated", 3, _steps(truncate=True), modes=("eager", "xla")),
    _n_step("whole-sequence", 7, _steps(truncate=True)),
    _n_step("n-beyond-the-data", 20, _steps()),
    _n_step("never-ending", 4, _steps(terminate=False)),
    _n_step("all-negative", 4, _all_negative),
    _n_step("single-step-data", 3, _steps(1, truncate=True)),
    _n_step("single-environment", 3, _steps(7, 1, truncate=True)),
    _n_step("square", 3, _steps(5, 5, truncate=True)),
    _to_go("rewards-only", _rewards_only, gradients=("r_t",), modes=("eager", "xla")),
    _to_go("bootstrapped", _steps()),
    _to_go("all-negative", _all_negative),
    _to_go("truncated", _steps(truncate=True), modes=("eager", "xla")),
    _to_go("single-step-data", _steps(1)),
    _to_go("single-environment", _steps(7, 1, truncate=True)),
    _to_go("square", _steps(5, 5, truncate=True)),
    _to_go("long", _steps(101, 3, truncate=True)),
)

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

COMPONENT = Component(
    name="returns",
    contract=(discounts, td_target, n_step_return, reward_to_go),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
