"""TensorFlow: a ``tf.Module`` whose state is variables, traceable by ``tf.function`` and XLA."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import tensorflow as tf

from impls.errors import ConfigError, DtypeError, ShapeError
from impls.optimizers.config import AdamConfig, RMSpropConfig, SGDConfig


class Optimizer(tf.Module):  # type: ignore[misc]
    """What the three optimizers have in common."""

    _kinds: tuple[str, ...] = ()

    def __init__(self, config: Any, parameters: Mapping[str, Any]) -> None:
        super().__init__(name=type(self).__name__)
        _require_floating("parameters", parameters)
        self._config = config
        self._names = tuple(parameters)
        self._parameters = tuple(_variable(name, p) for name, p in parameters.items())
        self._dtype = self._parameters[0].dtype
        self._step = tf.Variable(0, dtype=tf.int64, trainable=False, name="step")
        self._learning_rate = tf.Variable(
            config.learning_rate, dtype=tf.float64, trainable=False, name="learning_rate"
        )
        self._state = {
            kind: tuple(
                tf.Variable(tf.zeros_like(p), trainable=False, name=kind) for p in self._parameters
            )
            for kind in self._kinds
        }

    def apply(self, gradients: Mapping[str, Any]) -> None:
        """One step, in place."""
        ordered = self._ordered(gradients)
        self._step.assign_add(1)
        if self._config.weight_decay > 0:
            decay = self._config.weight_decay
            ordered = [g + decay * p for g, p in zip(ordered, self._parameters, strict=True)]
        t = tf.cast(self._step, tf.float64)
        for index, (parameter, g) in enumerate(zip(self._parameters, ordered, strict=True)):
            slots = {kind: variables[index] for kind, variables in self._state.items()}
            parameter.assign_sub(self._change(slots, g, t))

    def _change(self, slots: dict[str, tf.Variable], g: tf.Tensor, t: tf.Tensor) -> tf.Tensor:
        """Update one parameter's slots; return what is to be subtracted from it."""
        raise NotImplementedError

    def slots(self) -> dict[str, Any]:
        """``step`` and every slot by name, live."""
        return {"step": self._step} | {
            f"{kind}/{name}": variable
            for kind, variables in self._state.items()
            for name, variable in zip(self._names, variables, strict=True)
        }

    def load_slots(self, slots: Mapping[str, Any]) -> None:
        """Overwrite every slot."""
        mine = self.slots()
        _require_names("slots", slots, mine)
        for name, variable in mine.items():
            if tuple(slots[name].shape) != tuple(variable.shape):
                raise ShapeError(
                    f"slot {name!r}: shape {tuple(slots[name].shape)}, "
                    f"expected {tuple(variable.shape)}"
                )
        for name, variable in mine.items():
            variable.assign(_as(slots[name], variable.dtype))

    @property
    def learning_rate(self) -> Any:
        """The current learning rate, a float64 scalar."""
        return self._learning_rate

    def set_learning_rate(self, value: Any) -> None:
        """Change the learning rate."""
        if isinstance(value, Real) and not 0 <= float(value) < math.inf:
            raise ConfigError(f"learning_rate={value!r}: must be finite and at least 0")
        self._learning_rate.assign(_as(value, tf.float64))

    def _scalar(self, value: tf.Tensor) -> tf.Tensor:
        """A factor computed in float64, rounded once."""
        return tf.cast(value, self._dtype)

    def _ordered(self, gradients: Mapping[str, Any]) -> list[tf.Tensor]:
        """The gradients in the order of the parameters, checked; all checks are static."""
        _require_names("gradients", gradients, dict.fromkeys(self._names))
        ordered = [tf.convert_to_tensor(gradients[name]) for name in self._names]
        for name, parameter, g in zip(self._names, self._parameters, ordered, strict=True):
            if tuple(g.shape) != tuple(parameter.shape):
                raise ShapeError(
                    f"gradient {name!r}: shape {tuple(g.shape)}, its parameter has "
                    f"{tuple(parameter.shape)}"
                )
            if g.dtype != parameter.dtype:
                raise DtypeError(
                    f"gradient {name!r}: {g.dtype.name}, its parameter {parameter.dtype.name}"
                )
        return ordered


class Adam(Optimizer):
    """Adam with bias correction and epsilon outside the root."""

    _kinds = ("m", "v")

    def __init__(self, config: AdamConfig, parameters: Mapping[str, Any]) -> None:
        super().__init__(config, parameters)

    def _change(self, slots: dict[str, tf.Variable], g: tf.Tensor, t: tf.Tensor) -> tf.Tensor:
        c = self._config
        m = slots["m"].assign(c.beta1 * slots["m"] + (1 - c.beta1) * g)
        v = slots["v"].assign(c.beta2 * slots["v"] + (1 - c.beta2) * g * g)
        step_size = self._scalar(self._learning_rate / (1 - c.beta1**t))
        root_correction = self._scalar(tf.sqrt(1 - c.beta2**t))
        return step_size * m / (tf.sqrt(v) / root_correction + c.epsilon)


class RMSprop(Optimizer):
    """RMSprop with epsilon outside the root and an accumulator that starts at 0."""

    def __init__(self, config: RMSpropConfig, parameters: Mapping[str, Any]) -> None:
        self._kinds = ("v",) + ("mean",) * config.centered + ("momentum",) * (config.momentum > 0)
        super().__init__(config, parameters)

    def _change(self, slots: dict[str, tf.Variable], g: tf.Tensor, t: tf.Tensor) -> tf.Tensor:
        c = self._config
        variance = slots["v"].assign(c.decay * slots["v"] + (1 - c.decay) * g * g)
        if c.centered:
            mean = slots["mean"].assign(c.decay * slots["mean"] + (1 - c.decay) * g)
            variance = variance - mean * mean
        direction = g / (tf.sqrt(variance) + c.epsilon)
        if c.momentum > 0:
            direction = slots["momentum"].assign(c.momentum * slots["momentum"] + direction)
        return self._scalar(self._learning_rate) * direction


class SGD(Optimizer):
    """Gradient descent whose momentum buffer holds gradients, not updates."""

    def __init__(self, config: SGDConfig, parameters: Mapping[str, Any]) -> None:
        self._kinds = ("momentum",) * (config.momentum > 0)
        super().__init__(config, parameters)

    def _change(self, slots: dict[str, tf.Variable], g: tf.Tensor, t: tf.Tensor) -> tf.Tensor:
        c, direction = self._config, g
        if c.momentum > 0:
            share = self._scalar(1 - c.dampening * tf.cast(t > 1, tf.float64))
            direction = slots["momentum"].assign(c.momentum * slots["momentum"] + share * g)
            if c.nesterov:
                direction = g + c.momentum * direction
        return self._scalar(self._learning_rate) * direction


def clip_by_global_norm(
    gradients: Mapping[str, Any], max_norm: float
) -> tuple[dict[str, Any], Any]:
    """Scale all gradients together so that their joint norm is at most ``max_norm``."""
    if not (math.isfinite(max_norm) and max_norm > 0):
        raise ConfigError(f"max_norm={max_norm!r}: must be finite and above 0")
    _require_floating("gradients", gradients)
    tensors = {name: tf.convert_to_tensor(g) for name, g in gradients.items()}
    norm = tf.sqrt(tf.add_n([tf.reduce_sum(tf.square(g)) for g in tensors.values()]))
    scale = max_norm / tf.maximum(norm, tf.constant(max_norm, norm.dtype))
    scale = tf.where(tf.math.is_finite(norm), scale, tf.constant(math.nan, norm.dtype))
    return {name: g * scale for name, g in tensors.items()}, norm


def _variable(name: str, parameter: Any) -> tf.Variable:
    """The ``tf.Variable`` itself, or the one inside a Keras variable."""
    variable = parameter if isinstance(parameter, tf.Variable) else parameter.value
    if not isinstance(variable, tf.Variable):
        raise ConfigError(f"parameter {name!r}: {type(parameter).__name__} is not a variable")
    return variable


def _as(value: Any, dtype: tf.DType) -> tf.Tensor:
    """Numbers, arrays and tensors in ``dtype``; ``tf.cast`` takes a number through float32."""
    if not isinstance(value, (tf.Tensor, tf.Variable)):
        value = np.asarray(value)
    return tf.cast(value, dtype)


def _require_names(what: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    absent = [name for name in known if given.get(name) is None]
    unknown = [name for name in given if name not in known]
    if absent or unknown:
        raise ConfigError(f"{what}: missing or None: {absent}, unknown: {unknown}")


def _require_floating(what: str, tensors: Mapping[str, Any]) -> None:
    if not tensors or any(tensor is None for tensor in tensors.values()):
        raise ConfigError(f"{what}: {'empty' if not tensors else 'holds None'}; expected tensors")
    dtypes = {name: tf.as_dtype(tensor.dtype) for name, tensor in tensors.items()}
    if len(set(dtypes.values())) > 1 or not next(iter(dtypes.values())).is_floating:
        shown = ", ".join(f"{name}: {dtype.name}" for name, dtype in dtypes.items())
        raise DtypeError(f"{what}: expected one floating dtype, got {shown}")
