"""Networks in NumPy, float64, with the backward pass written out: see ``spec.py``.

For a dense layer ``y = x @ kernel + bias`` and the gradient ``g = dL/dy``:
``dL/dkernel = x^T g``, ``dL/dbias = sum over rows of g``, ``dL/dx = g @ kernel^T``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from impls.networks.config import (
    ActorConfig,
    CriticConfig,
    MLPConfig,
    initial_parameters,
    require_dtype,
    require_matrix,
    require_names,
    require_same_batch,
)
from parity.backends.base import LayerCall, ModuleRecord

Cotangents = Callable[[str, tuple[int, ...]], np.ndarray]


class Trunk:
    """Dense layers ``l1``, ``l2``, ... with an activation after each but the last.

    ``parameters`` holds ``<prefix>l1/kernel``, ...: the two networks of a twin critic look into
    one dict, each under its own prefix.
    """

    def __init__(
        self, config: MLPConfig, parameters: dict[str, np.ndarray], prefix: str = ""
    ) -> None:
        self.config = config
        self.parameters = parameters
        self.paths = [f"{prefix}l{i + 1}" for i in range(len(config.hidden_sizes) + 1)]

    def layers(self, x: np.ndarray) -> list[LayerCall]:
        """Forward pass, layer by layer."""
        calls: list[LayerCall] = []
        for path in self.paths:
            if calls:
                x = self._activation(x)
            y = self.call_layer(path, [x])
            calls.append(LayerCall(path, "dense", [x], y))
            x = y
        return calls

    def backward(self, calls: list[LayerCall], gradient: np.ndarray) -> dict[str, np.ndarray]:
        """Backward pass from ``dL/d(last output)``; notes each layer's output gradient.

        Returns:
            The gradients of the parameters, in execution order, and of ``input``.
        """
        gradients: dict[str, np.ndarray] = {}
        for call in reversed(calls):
            if call is not calls[-1]:
                gradient = gradient * self._slope(call.output)
            call.output_gradient = gradient
            (x,) = call.inputs
            gradients[f"{call.path}/bias"] = gradient.sum(axis=0)
            gradients[f"{call.path}/kernel"] = x.T @ gradient
            gradient = gradient @ self.parameters[f"{call.path}/kernel"].T
        return {**dict(reversed(gradients.items())), "input": gradient}

    def call_layer(self, path: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """One dense layer on its own."""
        (x,) = inputs
        return x @ self.parameters[f"{path}/kernel"] + self.parameters[f"{path}/bias"]

    def layer_vjp(
        self, path: str, inputs: Sequence[np.ndarray], gradient: np.ndarray
    ) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
        """Backward pass of one dense layer: gradients of its input, and of its parameters."""
        (x,) = inputs
        parameters = {"kernel": x.T @ gradient, "bias": gradient.sum(axis=0)}
        return [gradient @ self.parameters[f"{path}/kernel"].T], parameters

    def _activation(self, x: np.ndarray) -> np.ndarray:
        return np.maximum(x, 0.0) if self.config.activation == "relu" else np.tanh(x)

    def _slope(self, x: np.ndarray) -> np.ndarray:
        """Derivative of the activation at its input; that of relu at 0 is 0."""
        if self.config.activation == "relu":
            return np.where(x > 0.0, 1.0, 0.0)
        return 1.0 - np.tanh(x) ** 2


class MLP(Trunk):
    """The layers and nothing else."""

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        _require_matrix("inputs", inputs, self.config.input_size)
        return self.layers(inputs)[-1].output

    def record(self, inputs: Sequence[np.ndarray], cotangents: Cotangents) -> ModuleRecord:
        """Forward and backward pass with every layer recorded."""
        (x,) = inputs
        calls = self.layers(x)
        output = calls[-1].output
        gradients = self.backward(calls, cotangents("value", output.shape))
        return ModuleRecord(output, calls, {"0": gradients.pop("input")}, dict(gradients))


class Actor(Trunk):
    """``max_action * tanh(mlp(observation))``."""

    def __init__(self, config: ActorConfig, parameters: dict[str, np.ndarray]) -> None:
        super().__init__(config.mlp, parameters)
        self.max_action = np.array(config.bounds, dtype=np.float64)

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        _require_matrix("observation", observation, self.config.input_size)
        return self.max_action * np.tanh(self.layers(observation)[-1].output)

    def record(self, inputs: Sequence[np.ndarray], cotangents: Cotangents) -> ModuleRecord:
        """Forward and backward pass with every layer recorded."""
        (observation,) = inputs
        calls = self.layers(observation)
        squashed = np.tanh(calls[-1].output)
        action = self.max_action * squashed
        d_action = cotangents("value", action.shape)
        d_output = d_action * self.max_action * (1.0 - squashed**2)
        gradients = self.backward(calls, d_output)
        return ModuleRecord(action, calls, {"0": gradients.pop("input")}, dict(gradients))


class QNetwork(Trunk):
    """``mlp(concat(observation, action))``, one value per row."""

    def __init__(
        self, config: CriticConfig, parameters: dict[str, np.ndarray], prefix: str
    ) -> None:
        super().__init__(config.mlp, parameters, prefix)
        self.sizes = (config.observation_size, config.action_size)

    def __call__(self, observation: np.ndarray, action: np.ndarray) -> np.ndarray:
        _require_matrix("observation", observation, self.sizes[0])
        _require_matrix("action", action, self.sizes[1])
        require_same_batch(observation.shape, action.shape)
        return self.layers(np.concatenate([observation, action], axis=1))[-1].output[:, 0]

    def record(self, inputs: Sequence[np.ndarray], cotangents: Cotangents) -> ModuleRecord:
        """Forward and backward pass with every layer recorded."""
        calls = self.layers(np.concatenate(list(inputs), axis=1))
        q = calls[-1].output[:, 0]
        gradients = self.backward(calls, cotangents("value", q.shape)[:, None])
        d_input = gradients.pop("input")
        d_inputs = {"0": d_input[:, : self.sizes[0]], "1": d_input[:, self.sizes[0] :]}
        return ModuleRecord(q, calls, d_inputs, dict(gradients))


class TwinCritic:
    """Two independent action-value networks."""

    def __init__(self, config: CriticConfig, parameters: dict[str, np.ndarray]) -> None:
        self.parameters = parameters
        self.q1 = QNetwork(config, parameters, "q1/")
        self.q2 = QNetwork(config, parameters, "q2/")

    def __call__(
        self, observation: np.ndarray, action: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return self.q1(observation, action), self.q2(observation, action)

    def record(self, inputs: Sequence[np.ndarray], cotangents: Cotangents) -> ModuleRecord:
        """Forward and backward pass with every layer recorded; outputs are ``0`` and ``1``."""
        one = self.q1.record(inputs, lambda _, shape: cotangents("0", shape))
        two = self.q2.record(inputs, lambda _, shape: cotangents("1", shape))
        # both networks read the same input: their gradients add up
        d_inputs = {key: one.input_gradients[key] + two.input_gradients[key] for key in ("0", "1")}
        gradients = {**one.parameter_gradients, **two.parameter_gradients}
        return ModuleRecord((one.output, two.output), one.calls + two.calls, d_inputs, gradients)

    def call_layer(self, path: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """One dense layer on its own, by its path from the top (``q1/l2``)."""
        return self.q1.call_layer(path, inputs)

    def layer_vjp(
        self, path: str, inputs: Sequence[np.ndarray], gradient: np.ndarray
    ) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
        """Backward pass of one dense layer on its own, by its path from the top."""
        return self.q1.layer_vjp(path, inputs, gradient)


def make_mlp(config: MLPConfig, *, dtype: str, device: str = "cpu") -> MLP:
    require_dtype(dtype)
    return MLP(config, initial_parameters(config, np.random.default_rng(0)))


def make_actor(config: ActorConfig, *, dtype: str, device: str = "cpu") -> Actor:
    require_dtype(dtype)
    return Actor(config, initial_parameters(config, np.random.default_rng(0)))


def make_twin_critic(config: CriticConfig, *, dtype: str, device: str = "cpu") -> TwinCritic:
    require_dtype(dtype)
    return TwinCritic(config, initial_parameters(config, np.random.default_rng(0)))


def network_parameters(network: Any) -> dict[str, np.ndarray]:
    prefixes = tuple(f"{path}/" for path in getattr(network, "paths", ()))
    return {
        name: array
        for name, array in network.parameters.items()
        if not prefixes or name.startswith(prefixes)
    }


def load_parameters(network: Any, values: Mapping[str, np.ndarray]) -> None:
    parameters = network_parameters(network)
    require_names(values, {name: p.shape for name, p in parameters.items()})
    for name, parameter in parameters.items():
        parameter[...] = values[name]


def canonical(values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.array(value) for name, value in values.items()}


def _require_matrix(name: str, value: np.ndarray, size: int) -> None:
    require_matrix(name, value.shape, str(value.dtype), size=size, network_dtype="float64")
