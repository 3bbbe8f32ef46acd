"""Adagrad whose accumulator does not start at zero."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "adagrad_accumulator"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "Adagrad whose accumulator does not start at zero"
SYMPTOM = "The first steps are too small where gradients are small"
WHY = "Keras starts at 0.1, torch at 0"
CAUSE = "accumulator-start"
FIX = "keras.optimizers.Adagrad(0.1, initial_accumulator_value=0.0)"
PLACE = "step/1"


TINY = 1e-30


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.Adagrad(params, lr=0.1, eps=TINY)


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.Adagrad(0.1, epsilon=TINY)


def tf_fixed() -> keras.optimizers.Optimizer:
    return keras.optimizers.Adagrad(0.1, initial_accumulator_value=0.0, epsilon=TINY)
