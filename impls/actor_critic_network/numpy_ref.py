"""Actor-critic networks in NumPy, float64, with the backward pass written out: see ``spec.py``.

For a dense layer ``y = x @ kernel + bias`` and the gradient ``g = dL/dy``:
``dL/dkernel = x^T g``, ``dL/dbias = sum over rows of g``, ``dL/dx = g @ kernel^T``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from impls.actor_critic_network.config import ActorCriticConfig, initial_parameters
from impls.networks.config import require_dtype, require_matrix
from parity.backends.base import LayerCall, ModuleRecord

Array = np.ndarray
Arrays = dict[str, Array]
Cotangents = Callable[[str, tuple[int, ...]], Array]


class ActorCritic:
    def __init__(self, config: ActorCriticConfig, parameters: Arrays) -> None:
        self.config, self.parameters = config, parameters

    def __call__(self, observation: Array) -> Arrays:
        return self._forward(observation)[0]

    def state_value(self, observation: Array) -> Array:
        return self._forward(observation)[0]["value"]

    def record(self, inputs: Sequence[Array], cotangents: Cotangents) -> ModuleRecord:
        """Forward and backward pass with every layer recorded."""
        (observation,) = inputs
        made, calls = self._forward(observation)
        found: Arrays = {}
        if self.config.continuous:
            found["log_std"] = cotangents("log_std", made["log_std"].shape)
        policy = "mean" if self.config.continuous else "logits"
        of_policy = cotangents(policy, made[policy].shape)
        of_features = self._backward_head(calls, self.config.policy_head, of_policy, found)
        of_input = np.zeros_like(observation)
        if self.config.value:
            of_value = cotangents("value", made["value"].shape)[:, None]
            other = self._backward_head(calls, "value", of_value, found)
            if self.config.shared:
                of_features = of_features + other  # both heads read the same features
            else:
                of_input += self._backward_trunk(calls, self.config.trunks[1], other, found)
        of_input += self._backward_trunk(calls, self.config.trunks[0], of_features, found)
        ordered = {name: found[name] for name in self.parameters}
        return ModuleRecord(made, list(calls.values()), {"0": of_input}, dict(ordered))

    def call_layer(self, path: str, inputs: Sequence[Array]) -> Array:
        """One dense layer on its own."""
        (x,) = inputs
        return np.asarray(x @ self.parameters[f"{path}/kernel"] + self.parameters[f"{path}/bias"])

    def layer_vjp(
        self, path: str, inputs: Sequence[Array], gradient: Array
    ) -> tuple[list[Array], Arrays]:
        """Backward pass of one dense layer: gradients of its input, and of its parameters."""
        (x,) = inputs
        parameters = {"kernel": x.T @ gradient, "bias": gradient.sum(axis=0)}
        return [gradient @ self.parameters[f"{path}/kernel"].T], parameters

    def _forward(self, observation: Array) -> tuple[Arrays, dict[str, LayerCall]]:
        c = self.config
        require_matrix(
            "observation",
            observation.shape,
            str(observation.dtype),
            size=c.observation_size,
            network_dtype="float64",
        )
        calls: dict[str, LayerCall] = {}
        features = self._through(c.trunks[0], observation, calls)
        policy = self._called(c.policy_head, features, calls)
        made = {"mean": policy} if c.continuous else {"logits": policy}
        if c.continuous:
            made["log_std"] = self.parameters["log_std"].copy()
        if c.value:
            if not c.shared:
                features = self._through("value_trunk", observation, calls)
            made["value"] = self._called("value", features, calls)[:, 0]
        return made, calls

    def _through(self, trunk: str, x: Array, calls: dict[str, LayerCall]) -> Array:
        for i in range(1, len(self.config.hidden_sizes) + 1):
            z = self._called(f"{trunk}/l{i}", x, calls)
            x = np.tanh(z) if self.config.activation == "tanh" else np.maximum(z, 0.0)
        return x

    def _called(self, path: str, x: Array, calls: dict[str, LayerCall]) -> Array:
        y = self.call_layer(path, [x])
        calls[path] = LayerCall(path, "dense", [x], y)
        return y

    def _backward_head(
        self, calls: dict[str, LayerCall], path: str, gradient: Array, found: Arrays
    ) -> Array:
        """Notes a dense layer's gradients; returns that of its input."""
        call = calls[path]
        call.output_gradient = gradient
        (of_input,), parameters = self.layer_vjp(path, call.inputs, gradient)
        found |= {f"{path}/{name}": value for name, value in parameters.items()}
        return of_input

    def _backward_trunk(
        self, calls: dict[str, LayerCall], trunk: str, gradient: Array, found: Arrays
    ) -> Array:
        for i in range(len(self.config.hidden_sizes), 0, -1):
            z = calls[f"{trunk}/l{i}"].output
            if self.config.activation == "tanh":
                gradient = gradient * (1.0 - np.tanh(z) ** 2)
            else:
                gradient = gradient * (z > 0.0)
            gradient = self._backward_head(calls, f"{trunk}/l{i}", gradient, found)
        return gradient


def make_actor_critic(config: ActorCriticConfig, *, dtype: str, device: str = "cpu") -> ActorCritic:
    require_dtype(dtype)
    return ActorCritic(config, initial_parameters(config, np.random.default_rng(0)))
