"""Two independent faults in a network of ten layers."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "ten_layers_two_faults"
KIND = "stacked"
SUBJECT = "module"
TITLE = "Two independent faults in a network of ten layers"
SYMPTOM = "The output is wrong, and repairing the first fault does not repair it"
WHY = (
    "A normalisation with the wrong epsilon in the middle and a leaky slope further down, "
    "each wrong on its own"
)
CAUSE = ("norm-epsilon", "activation-slope")
FIX = (
    "keras.layers.LayerNormalization(epsilon=1e-5), and keras.layers.LeakyReLU(negative_slope=0.01)"
)
PLACE = ("norm1", "act3")


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("fc1", nn.Linear(6, 16))
    net.add_module("norm1", nn.LayerNorm(16))
    net.add_module("act1", nn.Tanh())
    net.add_module("fc2", nn.Linear(16, 15))
    net.add_module("act2", nn.Tanh())
    net.add_module("fc3", nn.Linear(15, 14))
    net.add_module("act3", nn.LeakyReLU())
    net.add_module("fc4", nn.Linear(14, 12))
    net.add_module("act4", nn.Sigmoid())
    net.add_module("fc5", nn.Linear(12, 3))
    return net


def network(epsilon: float, slope: float) -> keras.Model:
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(16, name="fc1"),
            layers.LayerNormalization(epsilon=epsilon, name="norm1"),
            layers.Activation("tanh", name="act1"),
            layers.Dense(15, name="fc2"),
            layers.Activation("tanh", name="act2"),
            layers.Dense(14, name="fc3"),
            layers.LeakyReLU(negative_slope=slope, name="act3"),
            layers.Dense(12, name="fc4"),
            layers.Activation("sigmoid", name="act4"),
            layers.Dense(3, name="fc5"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network(1e-3, 0.3)


def tf_fixed() -> keras.Model:
    return network(1e-5, 0.01)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(scale=0.5, size=(5, 6)).astype(np.float32)}
