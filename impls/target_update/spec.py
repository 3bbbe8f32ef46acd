"""Target networks: soft (Polyak) and hard updates over named variables, in place.

State that training does not touch by gradient belongs to a network too. Integer entries (counters)
are copied by both functions: an average of counters counts nothing. Running statistics of a
normalisation layer follow the network that gathers them: name them in ``copied``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from parity.backends.steps import make_variable
from parity.checks.update import UpdateCheck
from parity.component import Component, ErrorCase, Mutant, Side


def polyak_update(
    target: Mapping[str, Any], source: Mapping[str, Any], tau: Any, *, copied: Iterable[str] = ()
) -> None:
    """Move every target variable the share ``tau`` of the way to its source, in place.

        target[name] <- (1 - tau) * target[name] + tau * source[name]
        target[name] <- source[name]            for integer entries and for names in ``copied``

    Source: Lillicrap et al. 2016, "Continuous control with deep reinforcement learning",
    algorithm 1 (theta' <- tau theta + (1 - tau) theta').

    Args:
        target: name -> variable; written.
        source: the same names -> variables of the same shapes and dtypes; never written.
        tau: share of the source, in [0, 1]; Lillicrap et al. use 0.001. A Python number, or a
            scalar tensor where it changes between calls of a compiled step, which would freeze a
            Python number. The range of a tensor is not checked.
        copied: names whose values are copied, whatever ``tau`` is: running statistics.

    Raises:
        ConfigError: tau out of range; the names of target and source differ, there are none, or
            ``copied`` names an entry that does not exist; an entry of both is the same variable.
        ShapeError, DtypeError: an entry differs in shape or dtype. Nothing has been written then.

    Conventions: tau = 1 gives exactly the source, tau = 0 leaves floating entries as they are.
    """
    ...


def hard_update(target: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    """Copy every source variable into its target, in place: ``target[name] <- source[name]``.

    Source: Mnih et al. 2015, "Human-level control through deep reinforcement learning",
    algorithm 1 (every C steps reset Q^ = Q).

    Args:
        target: name -> variable; written.
        source: the same names -> variables of the same shapes and dtypes; never written.

    Raises:
        ConfigError, ShapeError, DtypeError: as :func:`polyak_update`.
    """
    ...


Arrays = dict[str, np.ndarray]
STATISTIC = "actor/norm/mean"


def _networks(count: int, offset: float = 0.0) -> Callable[[Any], tuple[Arrays, list[Arrays]]]:
    """First target values and the sources of ``count`` updates, counters included."""
    shapes = {
        "actor/l1/kernel": (3, 11),
        "actor/l1/bias": (11,),
        STATISTIC: (11,),
        "actor/l2/kernel": (11, 2),
        "critic/square/kernel": (5, 5),
        "critic/scale": (),
    }

    def inputs(rng: np.random.Generator) -> tuple[Arrays, list[Arrays]]:
        def network(step: int) -> Arrays:
            arrays = {name: offset + rng.normal(size=shape) for name, shape in shapes.items()}
            return {**arrays, "actor/norm/count": np.asarray(7 + 3 * step)}

        return network(0), [network(step) for step in range(1, count + 1)]

    return inputs


CHECKS = (
    UpdateCheck(
        name="polyak_update",
        case="tau-follows-a-tensor",
        inputs=_networks(4),
        scalars={"tau": (0.005, 0.5, 0.25, 1.0)},
        options={"copied": (STATISTIC,)},
        modes=("eager", "xla"),
    ),
    UpdateCheck(
        name="polyak_update",
        case="compiled",
        inputs=_networks(3),
        scalars={"tau": (0.005, 0.5, 1.0)},
        options={"copied": (STATISTIC,)},
        modes=("compiled",),
        dtypes=("float64",),  # compiling takes seconds; the other modes run in both dtypes
    ),
    UpdateCheck(
        name="polyak_update",
        case="tau-is-a-number",
        inputs=_networks(3),
        options={"tau": 0.005, "copied": (STATISTIC,)},
        modes=("eager", "xla"),
    ),
    UpdateCheck(
        name="polyak_update", case="twenty-updates", inputs=_networks(20), options={"tau": 0.05}
    ),
    UpdateCheck(
        name="polyak_update",
        case="large-values",
        inputs=_networks(3, offset=1e4),
        options={"tau": 0.001},
    ),
    UpdateCheck(
        name="polyak_update",
        case="tau-zero",
        inputs=_networks(2),
        options={"tau": 0},
        expect_zero=("change/*",),
    ),
    UpdateCheck(name="polyak_update", case="tau-one", inputs=_networks(2), options={"tau": 1}),
    UpdateCheck(
        name="hard_update",
        case="everything",
        inputs=_networks(3),
        modes=("eager", "xla"),
    ),
)

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
        find="variable.mul_(1.0 - share).add_(share * source[name])",
        replace="variable = variable.mul(1.0 - share).add(share * source[name])",
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

COMPONENT = Component(
    name="target_update",
    contract=(polyak_update, hard_update),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
