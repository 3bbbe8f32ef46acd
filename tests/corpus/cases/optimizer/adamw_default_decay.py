"""AdamW left at each framework's default decay."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "adamw_default_decay"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "AdamW left at each framework's default decay"
SYMPTOM = "Weights shrink two and a half times slower"
WHY = "torch's default is 0.01, Keras's 0.004"
CAUSE = "weight-decay-value"
FIX = "keras.optimizers.AdamW(0.001, weight_decay=0.01)"
PLACE = "step/1"
FLOAT32_CONSTANTS = True


TINY = 1e-30


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(params, lr=0.001, eps=TINY)


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.AdamW(0.001, epsilon=TINY)


def tf_fixed() -> keras.optimizers.Optimizer:
    return keras.optimizers.AdamW(0.001, weight_decay=0.01, epsilon=TINY)
