"""Nesterov momentum in two notations."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "nesterov_in_two_forms"
KIND = "control"
SUBJECT = "optimizer"
TITLE = "Nesterov momentum in two notations"
WHY = (
    "Keras moves by momentum * v - rate * gradient, torch by rate * (gradient + momentum * "
    "v): the same step"
)
FLOAT32_CONSTANTS = True


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=0.04, momentum=0.7, nesterov=True)


def tf_fixed() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(0.04, momentum=0.7, nesterov=True)
