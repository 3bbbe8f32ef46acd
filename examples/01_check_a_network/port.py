"""An actor and its port. The port learns, but not as well. `parity check` says why."""

import keras
import torch
from torch import nn


def torch_actor():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(3, 64),
        nn.LayerNorm(64),
        nn.ReLU(),
        nn.Linear(64, 2),
        nn.Tanh(),
    )


def keras_actor(**norm):
    return keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(64),
            keras.layers.LayerNormalization(**norm),
            keras.layers.ReLU(),
            keras.layers.Dense(2, activation="tanh"),
        ]
    )


def keras_actor_fixed():
    return keras_actor(epsilon=1e-5)
