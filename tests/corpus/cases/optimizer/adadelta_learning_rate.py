"""Adadelta left at each framework's learning rate."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "adadelta_learning_rate"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "Adadelta left at each framework's learning rate"
SYMPTOM = "Nothing seems to be learnt: steps are a thousand times smaller"
WHY = "torch follows the paper with 1.0, Keras's default is 0.001"
CAUSE = "learning-rate"
FIX = "keras.optimizers.Adadelta(1.0)"
PLACE = "step/1"


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.Adadelta(params)


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.Adadelta(rho=0.9, epsilon=1e-6)


def tf_fixed() -> keras.optimizers.Optimizer:
    return keras.optimizers.Adadelta(1.0, rho=0.9, epsilon=1e-6)
