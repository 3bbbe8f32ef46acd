"""Steps of Keras optimizers while they are taken: gradients, parameters before and after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np


@dataclass
class KerasStep:
    """One step of a Keras optimizer.

    Attributes:
        settings: of the optimizer, once for each variable (weight decay may leave some out).
    """

    optimizer: Any
    names: list[str]
    gradients: list[np.ndarray | None]
    before: list[np.ndarray]
    settings: list[dict[str, Any]]
    after: list[np.ndarray] = field(default_factory=list)


@contextmanager
def steps() -> Iterator[list[KerasStep]]:
    """A list that fills with the steps taken inside."""
    owner = next(c for c in keras.optimizers.Optimizer.__mro__ if "apply" in vars(c))
    original = vars(owner)["apply"]
    found: list[KerasStep] = []

    def apply(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        variables = list(trainable_variables or getattr(self, "_trainable_variables", []))
        step = _before(self, list(grads), variables)
        rate = _rate(self)
        result = original(self, grads, trainable_variables)
        if step is not None:
            step.settings = [{**_settings(self, v), "learning_rate": rate} for v in variables]
            step.after = [np.array(_value(v)) for v in variables]
            found.append(step)
        return result

    setattr(owner, "apply", apply)  # noqa: B010
    try:
        yield found
    finally:
        setattr(owner, "apply", original)  # noqa: B010


def _before(optimizer: Any, gradients: list[Any], variables: list[Any]) -> KerasStep | None:
    try:
        arrays = [None if g is None else np.array(keras.ops.convert_to_numpy(g)) for g in gradients]
        before = [np.array(_value(v)) for v in variables]
    except Exception:  # symbolic values: the step is being traced, and is seen when it runs
        return None
    names = [str(getattr(v, "path", v.name)) for v in variables]
    return KerasStep(optimizer, names, arrays, before, [])


def _rate(optimizer: Any) -> float:
    """The rate of the step that is to come: a schedule has another one afterwards."""
    try:
        rate = np.asarray(_value(optimizer.learning_rate))
    except Exception:  # while a step is traced
        return 0.0
    # a float32 variable holds 0.1 as 0.10000000149: the number that was meant is the shorter one
    return float(str(rate[()])) if rate.dtype == np.float32 else float(rate)


def _value(variable: Any) -> Any:
    return keras.ops.convert_to_numpy(variable)


def _settings(optimizer: Any, variable: Any) -> dict[str, Any]:
    config = {
        k: getattr(optimizer, k, v)
        for k, v in optimizer.get_config().items()
        if k not in ("name", "learning_rate")
    }
    try:
        if config.get("weight_decay") and not optimizer._use_weight_decay(variable):
            config["weight_decay"] = None
    except Exception:  # variables of a kind that this Keras cannot look up
        pass
    return config
