"""The float64 reference: the equations of ``spec.py``, one parameter at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from impls.optimizers.config import AdamConfig, RMSpropConfig, SGDConfig

Array = np.ndarray[Any, np.dtype[Any]]


class Optimizer:
    """What the three optimizers have in common."""

    _kinds: tuple[str, ...] = ()

    def __init__(self, config: Any, parameters: Mapping[str, Array]) -> None:
        _require_floating("parameters", parameters)
        self._config = config
        self._parameters = dict(parameters)
        self._step = np.zeros((), np.int64)
        self._learning_rate = np.array(config.learning_rate, np.float64)
        self._state = {
            f"{kind}/{name}": np.zeros_like(array)
            for kind in self._kinds
            for name, array in self._parameters.items()
        }

    def apply(self, gradients: Mapping[str, Array]) -> None:
        """One step, in place."""
        _require_names("gradients", gradients, self._parameters)
        for name, parameter in self._parameters.items():
            g = gradients[name]
            if g.shape != parameter.shape:
                raise ShapeError(
                    f"gradient {name!r}: shape {g.shape}, its parameter has {parameter.shape}"
                )
            if g.dtype != parameter.dtype:
                raise DtypeError(f"gradient {name!r}: {g.dtype}, its parameter {parameter.dtype}")
        self._step += 1
        for name, parameter in self._parameters.items():
            g = gradients[name] + self._config.weight_decay * parameter
            parameter -= self.learning_rate * self._direction(name, g, int(self._step))

    def _direction(self, name: str, g: Array, t: int) -> Array:
        """What the learning rate is multiplied by; updates the slots of one parameter."""
        raise NotImplementedError

    def slots(self) -> dict[str, Array]:
        """``step`` and every slot by name, live."""
        return {"step": self._step, **self._state}

    def load_slots(self, slots: Mapping[str, Any]) -> None:
        """Overwrite every slot."""
        mine = self.slots()
        _require_names("slots", slots, mine)
        for name, array in mine.items():
            if np.shape(slots[name]) != array.shape:
                raise ShapeError(
                    f"slot {name!r}: shape {np.shape(slots[name])}, expected {array.shape}"
                )
        for name, array in mine.items():
            array[...] = slots[name]

    @property
    def learning_rate(self) -> Any:
        """The current learning rate, a float64 scalar."""
        return self._learning_rate

    def set_learning_rate(self, value: Any) -> None:
        """Change the learning rate."""
        if isinstance(value, Real) and not 0 <= float(value) < math.inf:
            raise ConfigError(f"learning_rate={value!r}: must be finite and at least 0")
        self._learning_rate[...] = value


class Adam(Optimizer):
    """Adam with bias correction and epsilon outside the root."""

    _kinds = ("m", "v")

    def __init__(self, config: AdamConfig, parameters: Mapping[str, Array]) -> None:
        super().__init__(config, parameters)

    def _direction(self, name: str, g: Array, t: int) -> Array:
        c, m, v = self._config, self._state[f"m/{name}"], self._state[f"v/{name}"]
        m[...] = c.beta1 * m + (1 - c.beta1) * g
        v[...] = c.beta2 * v + (1 - c.beta2) * g**2
        m_hat = m / (1 - c.beta1**t)
        v_hat = v / (1 - c.beta2**t)
        return np.asarray(m_hat / (np.sqrt(v_hat) + c.epsilon))


class RMSprop(Optimizer):
    """RMSprop with epsilon outside the root and an accumulator that starts at 0."""

    def __init__(self, config: RMSpropConfig, parameters: Mapping[str, Array]) -> None:
        self._kinds = ("v",) + ("mean",) * config.centered + ("momentum",) * (config.momentum > 0)
        super().__init__(config, parameters)

    def _direction(self, name: str, g: Array, t: int) -> Array:
        c, v = self._config, self._state[f"v/{name}"]
        v[...] = c.decay * v + (1 - c.decay) * g**2
        variance = v
        if c.centered:
            a = self._state[f"mean/{name}"]
            a[...] = c.decay * a + (1 - c.decay) * g
            variance = v - a**2
        d = g / (np.sqrt(variance) + c.epsilon)
        if c.momentum == 0:
            return np.asarray(d)
        b = self._state[f"momentum/{name}"]
        b[...] = c.momentum * b + d
        return b


class SGD(Optimizer):
    """Gradient descent whose momentum buffer holds gradients, not updates."""

    def __init__(self, config: SGDConfig, parameters: Mapping[str, Array]) -> None:
        self._kinds = ("momentum",) * (config.momentum > 0)
        super().__init__(config, parameters)

    def _direction(self, name: str, g: Array, t: int) -> Array:
        c = self._config
        if c.momentum == 0:
            return g
        b = self._state[f"momentum/{name}"]
        b[...] = g if t == 1 else c.momentum * b + (1 - c.dampening) * g
        return np.asarray(g + c.momentum * b) if c.nesterov else b


def clip_by_global_norm(
    gradients: Mapping[str, Array], max_norm: float
) -> tuple[dict[str, Array], Array]:
    """Scale all gradients together so that their joint norm is at most ``max_norm``."""
    if not (math.isfinite(max_norm) and max_norm > 0):
        raise ConfigError(f"max_norm={max_norm!r}: must be finite and above 0")
    _require_floating("gradients", gradients)
    joined = np.concatenate([np.ravel(g) for g in gradients.values()])
    norm = np.asarray(np.sqrt(np.sum(joined**2)))
    if not np.isfinite(norm):
        return {name: np.full_like(g, np.nan) for name, g in gradients.items()}, norm
    scale = max_norm / max(norm, np.asarray(max_norm, norm.dtype))
    return {name: g * scale for name, g in gradients.items()}, norm


def _require_names(what: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    absent = sorted(set(known) - {name for name, value in given.items() if value is not None})
    unknown = sorted(set(given) - set(known))
    if absent or unknown:
        raise ConfigError(f"{what}: missing or None: {absent}, unknown: {unknown}")


def _require_floating(what: str, arrays: Mapping[str, Array]) -> None:
    if not arrays or any(array is None for array in arrays.values()):
        raise ConfigError(f"{what}: {'empty' if not arrays else 'holds None'}; expected arrays")
    dtypes = {name: array.dtype for name, array in arrays.items()}
    if len(set(dtypes.values())) > 1 or next(iter(dtypes.values())).kind != "f":
        raise DtypeError(f"{what}: expected one floating dtype, got {_shown(dtypes)}")


def _shown(dtypes: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {dtype}" for name, dtype in dtypes.items())
