"""Nesterov momentum on one side only."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "nesterov_forgotten"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "Nesterov momentum on one side only"
SYMPTOM = "The first step is already too small, by the factor 1 + momentum"
WHY = "nesterov=True was not ported"
CAUSE = "nesterov"
FIX = "keras.optimizers.SGD(0.02, momentum=0.9, nesterov=True)"
PLACE = "step/1"
FLOAT32_CONSTANTS = True


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=0.02, momentum=0.9, nesterov=True)


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(0.02, momentum=0.9)


def tf_fixed() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(0.02, momentum=0.9, nesterov=True)
