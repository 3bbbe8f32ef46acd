"""The convolutional trunk as a ``torch.nn.Module`` of torch's own layers; see ``spec.py``."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from impls.nature_cnn.config import KERNELS, STRIDES, NatureCNNConfig, initial_parameters


class NatureCNN(nn.Module):
    """Pixels ``[B, height, width, channels]`` of 0 to 255, uint8 or floating, to ``[B, units]``.

    Args:
        config: the sizes.
        dtype: of parameters and features.
        seed: of the parameters, ``initial_parameters(config, default_rng(seed))``.
    """

    def __init__(
        self, config: NatureCNNConfig | None = None, *, dtype: str = "float32", seed: int = 0
    ) -> None:
        super().__init__()
        config, kind = config or NatureCNNConfig(), getattr(torch, dtype)
        channels = (config.channels, *config.filters)
        for i, (side, stride) in enumerate(zip(KERNELS, STRIDES, strict=True), start=1):
            layer = nn.Conv2d(channels[i - 1], channels[i], side, stride, dtype=kind)
            self.add_module(f"conv{i}", layer)
        rows, columns = config.grid
        self.dense = nn.Linear(rows * columns * channels[-1], config.units, dtype=kind)
        values = initial_parameters(config, np.random.default_rng(seed))
        self.load_state_dict({name: _own(name, v, kind) for name, v in _dotted(values).items()})

    def forward(self, pixels: Tensor) -> Tensor:
        x = pixels.permute(0, 3, 1, 2).to(self.dense.weight.dtype) / 255.0
        for i in range(1, len(KERNELS) + 1):
            x = torch.relu(getattr(self, f"conv{i}")(x))
        # channels last before the dense layer, so that its kernel is the same on both sides
        return torch.relu(self.dense(x.permute(0, 2, 3, 1).flatten(1)))


def _dotted(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """``conv1_kernel`` -> ``conv1.weight``."""
    return {n.replace("_kernel", ".weight").replace("_bias", ".bias"): v for n, v in values.items()}


def _own(name: str, value: np.ndarray, kind: torch.dtype) -> Tensor:
    """A kernel from ``[height, width, in, out]`` to ``[out, in, height, width]``."""
    turned = {4: (3, 2, 0, 1), 2: (1, 0)}.get(value.ndim, (0,))
    return torch.tensor(np.ascontiguousarray(value.transpose(turned)), dtype=kind)
