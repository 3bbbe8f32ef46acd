"""SGD left at each framework's learning rate."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "sgd_learning_rate_default"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "SGD left at each framework's learning rate"
SYMPTOM = "Training is ten times faster, or diverges"
WHY = "torch's default is 0.001, Keras's 0.01"
CAUSE = "learning-rate"
FIX = "keras.optimizers.SGD(1e-3)"
PLACE = "step/1"


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(params)


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD()


def tf_fixed() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(1e-3)
