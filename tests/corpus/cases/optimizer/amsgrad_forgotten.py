"""AMSGrad on one side only."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import torch

ID = "amsgrad_forgotten"
KIND = "optimizer"
SUBJECT = "optimizer"
TITLE = "AMSGrad on one side only"
SYMPTOM = "Agreement while gradients grow, larger steps as soon as they shrink"
WHY = "amsgrad=True keeps the largest second moment so far"
CAUSE = "amsgrad"
FIX = "keras.optimizers.Adam(1e-3, amsgrad=True)"
PLACE = "step/2"
FLOAT32_CONSTANTS = True


TINY = 1e-30


def torch_side(params: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.Adam(params, lr=1e-3, betas=(0.9, 0.5), eps=TINY, amsgrad=True)


def tf_buggy() -> keras.optimizers.Optimizer:
    return keras.optimizers.Adam(1e-3, beta_2=0.5, epsilon=TINY)


def tf_fixed() -> keras.optimizers.Optimizer:
    return keras.optimizers.Adam(1e-3, beta_2=0.5, epsilon=TINY, amsgrad=True)
