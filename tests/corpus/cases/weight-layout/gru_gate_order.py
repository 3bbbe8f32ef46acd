"""GRU gates copied in torch's order."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "gru_gate_order"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "GRU gates copied in torch's order"
SYMPTOM = "The hidden state keeps what it should forget"
WHY = "torch stacks reset, update, new; Keras update, reset, new"
CAUSE = "gate-order"
FIX = "Exchange the first two thirds of both kernels and of both biases"
PLACE = "memory"
OPTIONS = {"weights": "keep"}


class Memory(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.memory = nn.GRU(3, 6, batch_first=True)
        self.out = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.memory(x)[0])


def torch_side() -> nn.Module:
    torch.manual_seed(26)
    return Memory()


def copied(order: tuple[int, int, int]) -> keras.Model:
    source = torch_side()
    memory = keras.layers.GRU(6, return_sequences=True, name="memory")
    out = keras.layers.Dense(2, name="out")
    model = keras.Sequential([keras.Input((7, 3)), memory, out])

    def gates(tensor: torch.Tensor) -> np.ndarray:
        blocks = np.split(tensor.detach().numpy(), 3)
        return np.concatenate([blocks[i] for i in order])

    rnn = source.memory
    biases = np.stack([gates(rnn.bias_ih_l0), gates(rnn.bias_hh_l0)])
    memory.set_weights([gates(rnn.weight_ih_l0).T, gates(rnn.weight_hh_l0).T, biases])
    out.set_weights([source.out.weight.detach().numpy().T, source.out.bias.detach().numpy()])
    return model


def tf_buggy() -> keras.Model:
    return copied((0, 1, 2))


def tf_fixed() -> keras.Model:
    return copied((1, 0, 2))


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(4, 7, 3)).astype(np.float32)}
