"""The recurrent policy in PyTorch, on torch's own LSTM cell: see ``spec.py``."""

from __future__ import annotations

from typing import Any

import torch

from impls.recurrent_policy.config import gate_places, require_gates, require_sequence


def recurrent_policy(
    observation: Any,
    start: Any,
    hidden: Any,
    cell: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    policy_kernel: Any,
    policy_bias: Any,
    value_kernel: Any,
    value_bias: Any,
) -> dict[str, Any]:
    values = {
        "hidden": hidden,
        "cell": cell,
        "kernel": kernel,
        "recurrent_kernel": recurrent_kernel,
        "bias": bias,
        "policy_kernel": policy_kernel,
        "policy_bias": policy_bias,
        "value_kernel": value_kernel,
        "value_bias": value_bias,
    }
    require_sequence(observation, start, values)
    weights = (kernel.T, recurrent_kernel.T, bias, torch.zeros_like(bias))
    features = []
    for t in range(observation.shape[0]):
        begins = start[t].unsqueeze(-1)
        hidden = torch.where(begins, torch.zeros_like(hidden), hidden)
        cell = torch.where(begins, torch.zeros_like(cell), cell)
        hidden, cell = torch.lstm_cell(observation[t], (hidden, cell), *weights)
        features.append(hidden)
    made = torch.stack(features)
    logits = made @ policy_kernel + policy_bias
    value = (made @ value_kernel + value_bias).squeeze(-1)
    return {"logits": logits, "value": value, "hidden": hidden, "cell": cell}


def canonical_gates(values: Any, *, order: str) -> Any:
    require_gates(values)
    places = gate_places(order)
    gates = torch.chunk(values, 4, dim=-1)
    return torch.cat([gates[place] for place in places], dim=-1)
