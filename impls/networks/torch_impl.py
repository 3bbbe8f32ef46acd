"""Networks in PyTorch: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import torch
from torch import nn

from impls.networks.config import (
    ActorConfig,
    Config,
    CriticConfig,
    MLPConfig,
    initial_parameters,
    layer_sizes,
    require_device,
    require_dtype,
    require_matrix,
    require_names,
    require_same_batch,
)

N = TypeVar("N", bound=nn.Module)
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


class Trunk(nn.Module):
    """Dense layers ``l1``, ``l2``, ... with an activation after each but the last."""

    def __init__(self, config: MLPConfig, *, dtype: str, device: str) -> None:
        super().__init__()
        self.input_size = config.input_size
        self.dtype = dtype
        self.activation = ACTIVATIONS[config.activation]
        self.layers: list[str] = []
        for i, (fan_in, fan_out) in enumerate(layer_sizes(config), start=1):
            # skip_init: the values come from the contract, not from torch's global generator
            layer = nn.utils.skip_init(
                nn.Linear, fan_in, fan_out, dtype=getattr(torch, dtype), device=device
            )
            self.add_module(f"l{i}", layer)
            self.layers.append(f"l{i}")

    def through(self, x: torch.Tensor) -> torch.Tensor:
        """All layers, without looking at the shape."""
        for name in self.layers[:-1]:
            x = self.activation(getattr(self, name)(x))
        return getattr(self, self.layers[-1])(x)


class MLP(Trunk):
    """The layers and nothing else."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        _require_matrix("inputs", inputs, self.input_size, self.dtype)
        return self.through(inputs)


class Actor(Trunk):
    """``max_action * tanh(mlp(observation))``."""

    max_action: torch.Tensor

    def __init__(self, config: ActorConfig, *, dtype: str, device: str) -> None:
        super().__init__(config.mlp, dtype=dtype, device=device)
        bounds = torch.tensor(config.bounds, dtype=getattr(torch, dtype), device=device)
        self.register_buffer("max_action", bounds, persistent=False)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        _require_matrix("observation", observation, self.input_size, self.dtype)
        return self.max_action * torch.tanh(self.through(observation))


class QNetwork(Trunk):
    """``mlp(concat(observation, action))``, one value per row."""

    def __init__(self, config: CriticConfig, *, dtype: str, device: str) -> None:
        super().__init__(config.mlp, dtype=dtype, device=device)
        self.observation_size = config.observation_size
        self.action_size = config.action_size

    def forward(self, observation: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        _require_matrix("observation", observation, self.observation_size, self.dtype)
        _require_matrix("action", action, self.action_size, self.dtype)
        require_same_batch(observation.shape, action.shape)
        return self.through(torch.cat([observation, action], dim=-1)).squeeze(-1)


class TwinCritic(nn.Module):
    """Two independent action-value networks."""

    def __init__(self, config: CriticConfig, *, dtype: str, device: str) -> None:
        super().__init__()
        self.q1 = QNetwork(config, dtype=dtype, device=device)
        self.q2 = QNetwork(config, dtype=dtype, device=device)

    def forward(
        self, observation: torch.Tensor, action: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.q1(observation, action), self.q2(observation, action)


def make_mlp(config: MLPConfig, *, dtype: str, device: str = "cpu") -> MLP:
    return _initialised(MLP(config, dtype=require_dtype(dtype), device=_device(device)), config)


def make_actor(config: ActorConfig, *, dtype: str, device: str = "cpu") -> Actor:
    return _initialised(Actor(config, dtype=require_dtype(dtype), device=_device(device)), config)


def make_twin_critic(config: CriticConfig, *, dtype: str, device: str = "cpu") -> TwinCritic:
    return _initialised(
        TwinCritic(config, dtype=require_dtype(dtype), device=_device(device)), config
    )


def network_parameters(network: nn.Module) -> dict[str, nn.Parameter]:
    names = {"weight": "kernel", "bias": "bias"}
    parameters = {}
    for path, parameter in network.named_parameters():
        *layer, last = path.split(".")
        parameters["/".join([*layer, names.get(last, last)])] = parameter
    return parameters


def load_parameters(network: nn.Module, values: Mapping[str, np.ndarray]) -> None:
    parameters = network_parameters(network)
    require_names(values, {n: _turned(n, p).shape for n, p in parameters.items()})
    with torch.no_grad():
        for name, parameter in parameters.items():
            # copy: from_numpy would share memory, and warns about arrays that cannot be written
            parameter.copy_(_turned(name, torch.from_numpy(np.array(values[name]))))


def canonical(values: Mapping[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {
        name: np.array(_turned(name, value.detach()).cpu().numpy())
        for name, value in values.items()
    }


def _turned(name: str, value: torch.Tensor) -> torch.Tensor:
    """Between torch's ``[out, in]`` and the canonical ``[in, out]``, either way."""
    return value.T if name.rpartition("/")[2] == "kernel" else value


def _initialised(network: N, config: Config) -> N:
    load_parameters(network, initial_parameters(config, np.random.default_rng(0)))
    return network


def _device(device: str) -> str:
    kind, number = require_device(device, torch.cuda.device_count())
    return f"cuda:{number}" if kind == "cuda" else "cpu"


def _require_matrix(name: str, value: torch.Tensor, size: int, dtype: str) -> None:
    found = str(value.dtype).removeprefix("torch.")
    require_matrix(name, value.shape, found, size=size, network_dtype=dtype)
