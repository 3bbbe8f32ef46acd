"""Bugs planted in the target updates, and misuses that they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from parity.backends.steps import make_variable
from parity.component import ErrorCase, Mutant, Side

Arrays = dict[str, np.ndarray]


_AVERAGE = "(1.0 - share) * old + share * new"
MUTANTS = (
    Mutant(
        id="tau-swapped",
        find=_AVERAGE,
        replace="share * old + (1.0 - share) * new",
        caught_by="update.polyak_update",
        because="tau taken for the share of the old target, as libraries with decay=0.995 do",
    ),
    Mutant(
        id="old-target-kept-whole",
        find=_AVERAGE,
        replace="old + share * new",
        caught_by="update.polyak_update",
        because="the source is added without shrinking the target",
    ),
    Mutant(
        id="sign-of-the-step",
        find=_AVERAGE,
        replace="old + share * (old - new)",
        caught_by="update.polyak_update",
        because="difference taken the wrong way round in the increment form",
    ),
    Mutant(
        id="tau-applied-twice",
        find=_AVERAGE,
        replace="(1.0 - share) * old + share * ((1.0 - share) * old + share * new)",
        caught_by="update.polyak_update",
        because="the average is averaged with the old target once more",
    ),
    Mutant(
        id="tau-through-float32",
        find="return tf.constant(tau, dtype) if isinstance(tau, Real) else tf.cast(tau, dtype)",
        replace="return tf.cast(tau, dtype)",
        caught_by="update.polyak_update",
        because="tf.cast turns a Python number into a float32 tensor before it casts",
        case="tau-is-a-number",
    ),
    Mutant(
        id="source-updated",
        find="variable.assign((1.0",
        replace="source[name].assign((1.0",
        caught_by="update.polyak_update",
        because="the average is written into the trained network",
    ),
    Mutant(
        id="bias-skipped",
        find="""        new = tf.convert_to_tensor(source[name])
        if name in hard""",
        replace="""        new = tf.convert_to_tensor(source[name])
        if name.endswith("bias"):
            continue
        if name in hard""",
        caught_by="update.polyak_update",
        because="only kernels are walked over",
    ),
    Mutant(
        id="counters-skipped",
        find="            variable.assign(new)\n",
        replace="            continue\n",
        caught_by="update.polyak_update",
        because="only what training touches is updated: statistics and counters stay behind",
        case="tau-follows-a-tensor",
    ),
    Mutant(
        id="statistics-averaged",
        find="if name in hard or not new.dtype.is_floating:",
        replace="if not new.dtype.is_floating:",
        caught_by="update.polyak_update",
        because="the names in copied are forgotten",
        case="tau-follows-a-tensor",
    ),
    Mutant(
        id="not-in-place",
        find="torch._foreach_lerp_(olds, news, float(tau))",
        replace="olds = torch._foreach_lerp(olds, news, float(tau))",
        caught_by="update.polyak_update",
        because="the local name is rebound, the network is not written",
        sibling="torch",
    ),
    Mutant(
        id="target-shares-memory",
        find="""        for name, variable in target.items():
            variable.copy_(source[name])""",
        replace="""        for name, variable in target.items():
            variable.data = source[name].data""",
        caught_by="update.hard_update",
        because="the storage is shared, so the target follows every later training step",
        sibling="torch",
    ),
    Mutant(
        id="hard-update-is-soft",
        find="variable.assign(tf.convert_to_tensor(source[name]))",
        replace="variable.assign_add(tf.convert_to_tensor(source[name]))",
        caught_by="update.hard_update",
        because="assign_add for assign",
    ),
    Mutant(
        id="reference-tau-swapped",
        find="(1.0 - tau) * old + tau * new",
        replace="tau * old + (1.0 - tau) * new",
        caught_by="update.polyak_update",
        because="an oracle can carry the bug too: it must show as two sides against one",
        sibling="reference",
    ),
)


def _variable(side: Side, array: Any) -> Any:
    """A mutable tensor of the side's framework, made without importing it."""
    tensor = side.backend.tensor(np.asarray(array), dtype=side.dtype, device=side.device)
    return make_variable(side, np.asarray(array)) if side.name == "tf" else tensor


def _update(target: Arrays, source: Arrays, tau: float = 0.5, **options: Any) -> Any:
    def call(side: Side) -> Any:
        old = {name: _variable(side, array) for name, array in target.items()}
        new = {name: _variable(side, array) for name, array in source.items()}
        return side.impl.polyak_update(old, new, tau, **options)

    return call


def _with_itself(side: Side) -> Any:
    same = {"l1/kernel": _variable(side, np.ones((3, 2)))}
    return side.impl.hard_update(same, dict(same))


_KERNEL, _BIAS = {"l1/kernel": np.ones((3, 2))}, {"l1/bias": np.ones(2)}
ERRORS = (
    ErrorCase("tau-above-one", _update(_KERNEL, _KERNEL, 1.5), ConfigError, "tau=1.5"),
    ErrorCase("tau-negative", _update(_KERNEL, _KERNEL, -0.1), ConfigError, "tau=-0.1"),
    ErrorCase("tau-nan", _update(_KERNEL, _KERNEL, float("nan")), ConfigError, "tau=nan"),
    ErrorCase(
        "name-only-in-source", _update(_KERNEL, {**_KERNEL, **_BIAS}), ConfigError, "l1/bias"
    ),
    ErrorCase("nothing-to-update", _update({}, {}), ConfigError, "no entries"),
    ErrorCase(
        "copied-name-unknown",
        _update(_KERNEL, _KERNEL, copied=("norm/mean",)),
        ConfigError,
        "norm/mean",
    ),
    ErrorCase("same-variable", _with_itself, ConfigError, "same variable"),
    ErrorCase(
        "shape",
        _update(_KERNEL, {"l1/kernel": np.ones((2, 3))}),
        ShapeError,
        r"l1/kernel.*\(3, 2\).*\(2, 3\)",
    ),
    ErrorCase(
        "dtype",
        _update(_KERNEL, {"l1/kernel": np.ones((3, 2), np.int64)}),
        DtypeError,
        "l1/kernel.*int64",
    ),
)
