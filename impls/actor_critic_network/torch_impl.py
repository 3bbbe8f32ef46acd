"""Actor-critic networks in PyTorch: see ``spec.py`` for the contract."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from impls.actor_critic_network.config import ActorCriticConfig, initial_parameters
from impls.networks.config import require_device, require_dtype, require_matrix
from impls.networks.torch_impl import ACTIVATIONS, load_parameters


class Trunk(nn.Module):
    """Dense layers ``l1``, ``l2``, ... with an activation after each."""

    def __init__(self, config: ActorCriticConfig, *, dtype: torch.dtype, device: str) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.layers: list[str] = []
        fan_in = config.observation_size
        for i, units in enumerate(config.hidden_sizes, start=1):
            self.add_module(f"l{i}", _dense(fan_in, units, dtype, device))
            self.layers.append(f"l{i}")
            fan_in = units

    def forward(self, x: Tensor) -> Tensor:
        for name in self.layers:
            x = self.activation(getattr(self, name)(x))
        return x


class ActorCritic(nn.Module):
    """One trunk or two, a policy head and a value head."""

    def __init__(self, config: ActorCriticConfig, *, dtype: str, device: str) -> None:
        super().__init__()
        self.config, self.dtype = config, dtype
        kind, width = getattr(torch, dtype), config.hidden_sizes[-1]
        if config.continuous:
            self.log_std = nn.Parameter(torch.empty(config.action_size, dtype=kind, device=device))
        for name in config.trunks:
            self.add_module(name, Trunk(config, dtype=kind, device=device))
        for name, units in config.heads.items():
            self.add_module(name, _dense(width, units, kind, device))

    def forward(self, observation: Tensor) -> dict[str, Tensor]:
        config = self.config
        features, made = self._policy(observation)
        if config.value:
            if not config.shared:
                features = getattr(self, config.trunks[-1])(observation)
            made["value"] = self.value(features).squeeze(-1)
        return made

    def policy(self, observation: Tensor) -> dict[str, Tensor]:
        """What ``forward`` returns, without the value, which is not computed: for acting."""
        return self._policy(observation)[1]

    def state_value(self, observation: Tensor) -> Tensor:
        self._require(observation)
        values: Tensor = self.value(getattr(self, self.config.trunks[-1])(observation))
        return values.squeeze(-1)

    def _policy(self, observation: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The features that the policy is made of, and the policy."""
        self._require(observation)
        config = self.config
        features = getattr(self, config.trunks[0])(observation)
        policy = getattr(self, config.policy_head)(features)
        made = (
            {"mean": policy, "log_std": self.log_std} if config.continuous else {"logits": policy}
        )
        return features, made

    def _require(self, observation: Tensor) -> None:
        require_matrix(
            "observation",
            observation.shape,
            str(observation.dtype).removeprefix("torch."),
            size=self.config.observation_size,
            network_dtype=self.dtype,
        )


def make_actor_critic(config: ActorCriticConfig, *, dtype: str, device: str = "cpu") -> ActorCritic:
    kind, number = require_device(device, torch.cuda.device_count())
    place = f"cuda:{number}" if kind == "cuda" else "cpu"
    network = ActorCritic(config, dtype=require_dtype(dtype), device=place)
    load_parameters(network, initial_parameters(config, np.random.default_rng(0)))
    return network


def _dense(fan_in: int, units: int, dtype: torch.dtype, device: str) -> nn.Module:
    # skip_init: the values come from the contract, not from torch's global generator
    return nn.utils.skip_init(nn.Linear, fan_in, units, dtype=dtype, device=device)
