"""What every sibling of every learner refuses alike. No framework is imported here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from impls.errors import ConfigError, DtypeError, NonFiniteError, ShapeError

VARIANTS: Mapping[str, tuple[str, ...]] = {
    "torch": ("eager", "compile"),
    "tf": ("eager", "function", "xla"),
    "reference": ("eager",),
}

Layout = Mapping[str, tuple[tuple[int, ...], str]]
"""Field name -> shape of one row, dtype name."""


Layouts = Mapping[str, Layout]
"""Argument of ``update`` (``batch``, ``draws``) -> its layout."""


def transition_layout(observation_size: int, action_size: int, dtype: str) -> Layout:
    """The fields of a batch of transitions with continuous actions."""
    return {
        "observation": ((observation_size,), dtype),
        "action": ((action_size,), dtype),
        "reward": ((), dtype),
        "next_observation": ((observation_size,), dtype),
        "terminated": ((), "bool"),
        "truncated": ((), "bool"),
    }


def fresh_state(
    parameters: dict[str, dict[str, np.ndarray]],
    learning_rates: dict[str, float],
    *,
    targets: Sequence[str] | None = None,
    slots: Sequence[str] = ("m", "v"),
) -> dict[str, np.ndarray]:
    """Optimizer slots at zero and target networks equal to the given parameters.

    Args:
        targets: the groups that have a target network; None: all of them.
        slots: of the optimizer, per parameter; Adam's, or ``("v",)`` for RMSprop.
    """
    state: dict[str, np.ndarray] = {}
    for group, values in parameters.items():
        state[f"slot/{group}/step"] = np.array(0, np.int64)
        for slot in slots:
            state |= {f"slot/{group}/{slot}/{n}": np.zeros_like(v) for n, v in values.items()}
        state |= {f"param/{group}/{n}": v.copy() for n, v in values.items()}
    for group in parameters if targets is None else targets:
        state |= {f"target/{group}/{n}": v.copy() for n, v in parameters[group].items()}
    state |= {f"learning_rate/{g}": np.array(rate) for g, rate in learning_rates.items()}
    state["step"] = np.array(0, np.int64)
    return state


def require_variant(side: str, variant: str) -> str:
    """The variant itself, if the side can run so."""
    if variant not in VARIANTS[side]:
        known = ", ".join(VARIANTS[side])
        raise ConfigError(f"variant={variant!r} is unknown to {side}; known: {known}")
    return variant


def require_arguments(
    given: Mapping[str, Mapping[str, tuple[Sequence[int | None], str]]], layouts: Layouts
) -> None:
    """Refuse arrays whose names, shapes ``[B, *row]`` or dtypes are not those of the layouts.

    Args:
        given: argument (``batch``, ``draws``) -> field name -> (shape, dtype name); a size is None
            where tracing does not know it.

    Raises:
        ShapeError: a field is missing or unknown, a shape is wrong, B differs or is 0.
        DtypeError: a dtype is wrong; nothing is cast.
    """
    rows: dict[str, int] = {}
    for what, layout in layouts.items():
        missing, unknown = set(layout) - set(given[what]), set(given[what]) - set(layout)
        if missing or unknown:
            raise ShapeError(
                f"{what}: missing {sorted(missing) or 'none'}, unknown {sorted(unknown) or 'none'}"
            )
        for name, (row, dtype) in layout.items():
            shape, given_dtype = given[what][name]
            if len(shape) != len(row) + 1 or tuple(shape[1:]) != row:
                wanted = ", ".join(["B", *map(str, row)])
                raise ShapeError(f"{what}[{name!r}] has shape {list(shape)}, expected [{wanted}]")
            if given_dtype != dtype:
                raise DtypeError(f"{what}[{name!r}] is {given_dtype}, expected {dtype}")
            if shape[0] is not None:
                rows[name] = shape[0]
    if len(set(rows.values())) > 1:
        shown = ", ".join(f"{name} {count}" for name, count in rows.items())
        raise ShapeError(f"expected one number of rows B, got {shown}")
    if 0 in rows.values():
        raise ShapeError("the batch has 0 rows, expected at least 1")


def require_finite(given: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Refuse NaN and infinity; the message names the field, the row and the value.

    Raises:
        NonFiniteError: for the first one found.
    """
    for what, arrays in given.items():
        for name, array in arrays.items():
            if array.dtype.kind != "f" or np.isfinite(array).all():
                continue
            index = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
            raise NonFiniteError(
                f"{what}[{name!r}]{index} is {array[tuple(index)]}: every value must be finite"
            )


def require_state(given: Mapping[str, np.ndarray], known: Mapping[str, np.ndarray]) -> None:
    """Refuse a state whose names or shapes are not those of the learner.

    Raises:
        ConfigError: a name is missing or unknown.
        ShapeError: a shape differs; nothing is reshaped to fit.
    """
    missing, unknown = sorted(known.keys() - given.keys()), sorted(given.keys() - known.keys())
    if missing or unknown:
        raise ConfigError(f"state: missing {missing or 'none'}, unknown {unknown or 'none'}")
    for name, array in known.items():
        if np.shape(given[name]) != array.shape:
            raise ShapeError(
                f"state[{name!r}] has shape {list(np.shape(given[name]))}, "
                f"expected {list(array.shape)}"
            )


def require_group(group: str, known: Sequence[str]) -> None:
    """Refuse the name of an optimizer that the learner does not have."""
    if group not in known:
        raise ConfigError(f"group={group!r} is unknown; known: {', '.join(known)}")


def require_share(**values: float) -> None:
    """Refuse a number outside [0, 1]."""
    for name, value in values.items():
        if not 0.0 <= value <= 1.0:
            raise ConfigError(f"{name}={value!r}: must be in [0, 1]")


def require_at_least_zero(**values: float) -> None:
    """Refuse a number that is negative or not finite."""
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 0.0):
            raise ConfigError(f"{name}={value!r}: must be finite and at least 0")


def require_max_norm(max_gradient_norm: float | None) -> None:
    """Refuse a bound of the gradient norm that is not None, not positive, or not finite."""
    if max_gradient_norm is not None and not (
        math.isfinite(max_gradient_norm) and max_gradient_norm > 0.0
    ):
        raise ConfigError(
            f"max_gradient_norm={max_gradient_norm!r}: must be None, or finite and above 0"
        )
