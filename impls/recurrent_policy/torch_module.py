"""The recurrent policy as a ``torch.nn.Module`` of torch's own layers; see ``spec.py``."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from impls.recurrent_policy.config import RecurrentPolicyConfig, initial_parameters


class RecurrentPolicy(nn.Module):
    """Observations of one episode each, ``[B, T, obs]``, to logits and values.

    The state is zero at the start, and is not reset within: ``recurrent_policy`` in
    ``torch_impl.py`` takes sequences across episodes, time first.

    Args:
        config: the sizes.
        dtype: of everything.
        seed: of the parameters, ``initial_parameters(config, default_rng(seed))``.

    Returns:
        ``logits`` [B, T, actions] and ``value`` [B, T].
    """

    def __init__(
        self, config: RecurrentPolicyConfig | None = None, *, dtype: str = "float32", seed: int = 0
    ) -> None:
        super().__init__()
        config = config or RecurrentPolicyConfig(4, 2)
        kind = getattr(torch, dtype)
        self.lstm = nn.LSTM(config.observation_size, config.units, batch_first=True, dtype=kind)
        self.policy = nn.Linear(config.units, config.action_size, dtype=kind)
        self.value = nn.Linear(config.units, 1, dtype=kind)
        values = initial_parameters(config, np.random.default_rng(seed))
        own = {
            "lstm.weight_ih_l0": values["kernel"].T,
            "lstm.weight_hh_l0": values["recurrent_kernel"].T,
            "lstm.bias_ih_l0": values["bias"],
            "lstm.bias_hh_l0": np.zeros_like(values["bias"]),  # torch has two, added up
            "policy.weight": values["policy_kernel"].T,
            "policy.bias": values["policy_bias"],
            "value.weight": values["value_kernel"].T,
            "value.bias": values["value_bias"],
        }
        self.load_state_dict(
            {n: torch.tensor(np.ascontiguousarray(v), dtype=kind) for n, v in own.items()}
        )

    def forward(self, observation: Tensor) -> dict[str, Tensor]:
        made, _ = self.lstm(observation)
        return {"logits": self.policy(made), "value": self.value(made).squeeze(-1)}
