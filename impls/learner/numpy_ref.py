"""The parts of a reference learner: textbook equations on one dict of named float64 arrays.

Forward and backward pass of a perceptron, Adam, clipping and Polyak averaging are written out here
once more, independent of the components of these names, so that a whole update has an oracle that
shares no code with the pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from impls.errors import ConfigError
from impls.learner.config import (
    Layouts,
    require_arguments,
    require_at_least_zero,
    require_finite,
    require_group,
    require_state,
)

Array = np.ndarray
Arrays = dict[str, Array]

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Kingma & Ba 2015, algorithm 1."""


class Learner:
    """The whole state is ``values``; every method below reads and changes nothing else."""

    traces = 0

    def __init__(self, values: Arrays) -> None:
        self.values = values
        self.groups = [name.split("/")[1] for name in values if name.startswith("learning_rate/")]

    def state(self) -> Arrays:
        return {name: value.copy() for name, value in self.values.items()}

    def load_state(self, state: Mapping[str, Array]) -> None:
        require_state(state, self.values)
        for name, value in self.values.items():
            value[...] = state[name]

    def set_learning_rate(self, group: str, value: float) -> None:
        require_group(group, self.groups)
        require_at_least_zero(learning_rate=value)
        self.values[f"learning_rate/{group}"][...] = value

    def to_canonical(self, values: Mapping[str, Any]) -> Arrays:
        return {name: np.array(value) for name, value in values.items()}

    def from_canonical(self, values: Mapping[str, Array]) -> Arrays:
        return {name: np.array(value, np.float64) for name, value in values.items()}

    def require(
        self,
        batch: Mapping[str, Array],
        draws: Mapping[str, Array],
        layouts: Layouts,
        finite: bool,
        fit: Callable[..., None] = require_arguments,
    ) -> None:
        """Refuse a batch and draws that do not fit their layouts."""
        given = {"batch": batch, "draws": draws}
        fit(
            {w: {n: (np.shape(a), str(a.dtype)) for n, a in g.items()} for w, g in given.items()},
            layouts,
        )
        if finite:
            require_finite(given)

    def under(self, prefix: str) -> Arrays:
        """The live values below ``prefix/``, with the prefix cut off."""
        start = f"{prefix}/"
        return {n[len(start) :]: v for n, v in self.values.items() if n.startswith(start)}

    def mlp(self, prefix: str, x: Array) -> list[Array]:
        """``h_i = relu(h_{i-1} W_i + b_i)``, the last without relu; all of ``h_0, h_1, ...``."""
        layers = len([name for name in self.under(prefix) if name.endswith("kernel")])
        h = [x]
        for i in range(1, layers + 1):
            z = h[-1] @ self.values[f"{prefix}/l{i}/kernel"] + self.values[f"{prefix}/l{i}/bias"]
            h.append(z if i == layers else np.maximum(z, 0.0))
        return h

    def mlp_gradients(self, prefix: str, h: list[Array], dy: Array) -> tuple[Arrays, Array]:
        """Backward pass: gradients by name below the prefix, and that of the input.

        ``dW_i = h_{i-1}^T dz_i``, ``db_i = sum of dz_i over rows``,
        ``dz_{i-1} = dz_i W_i^T * (h_{i-1} > 0)``
        """
        gradients: Arrays = {}
        dz = dy
        for i in range(len(h) - 1, 0, -1):
            gradients[f"l{i}/bias"] = dz.sum(axis=0)
            gradients[f"l{i}/kernel"] = h[i - 1].T @ dz
            dh = dz @ self.values[f"{prefix}/l{i}/kernel"].T
            dz = dh * (h[i - 1] > 0.0)
        return dict(reversed(gradients.items())), dh

    def clip(self, gradients: Arrays, max_norm: float) -> tuple[Arrays, Array]:
        """``g * min(1, max_norm / norm)`` with the norm over all gradients; and that norm."""
        norm = math.sqrt(sum(float((g**2).sum()) for g in gradients.values()))
        scale = 1.0 if norm <= max_norm else max_norm / norm
        return {name: g * scale for name, g in gradients.items()}, np.asarray(norm)

    def adam(self, group: str, gradients: Arrays, weight_decay: float = 0.0) -> None:
        """One step of Adam on one network."""
        parameters, slots = self.under(f"param/{group}"), self.under(f"slot/{group}")
        if set(gradients) != set(parameters):
            raise ConfigError(f"gradients of {sorted(gradients)}, expected {sorted(parameters)}")
        slots["step"] += 1
        t, alpha = int(slots["step"]), float(self.values[f"learning_rate/{group}"])
        for name, parameter in parameters.items():
            g = gradients[name] + weight_decay * parameter
            m, v = slots[f"m/{name}"], slots[f"v/{name}"]
            m[...] = BETA1 * m + (1 - BETA1) * g
            v[...] = BETA2 * v + (1 - BETA2) * g**2
            m_hat, v_hat = m / (1 - BETA1**t), v / (1 - BETA2**t)
            parameter -= alpha * m_hat / (np.sqrt(v_hat) + EPSILON)

    def polyak(self, group: str, tau: float) -> None:
        """``target <- tau * online + (1 - tau) * target``."""
        for name, target in self.under(f"target/{group}").items():
            target[...] = tau * self.values[f"param/{group}/{name}"] + (1 - tau) * target
