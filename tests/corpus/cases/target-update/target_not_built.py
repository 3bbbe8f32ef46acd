"""A target network without variables when it is updated."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "target_not_built"
KIND = "target-update"
SUBJECT = "function"
TITLE = "A target network without variables when it is updated"
SYMPTOM = "The target never moves: its first update ran over an empty list"
WHY = "A Keras layer has no variables before its first call, and zip stops at the shorter list"
CAUSE = "state-not-updated"
FIX = "Call both networks once, then make them equal, then check that the target moved"
PLACE = "output/target"


def torch_side(x: torch.Tensor) -> dict[str, torch.Tensor]:
    online, target = (nn.Linear(x.shape[1], 3, dtype=x.dtype) for _ in range(2))
    nn.init.constant_(online.weight, 0.25)
    nn.init.constant_(online.bias, -1.0)
    with torch.no_grad():
        for ours, theirs in zip(target.parameters(), online.parameters(), strict=True):
            ours.copy_(theirs)
    return {"online": online(x), "target": target(x)}


def equalised(x: tf.Tensor, build_first: bool) -> dict[str, tf.Tensor]:
    online, target = (
        keras.layers.Dense(3, kernel_initializer=kernel, bias_initializer=bias, dtype=x.dtype.name)
        for kernel, bias in (
            (keras.initializers.Constant(0.25), keras.initializers.Constant(-1.0)),
            ("zeros", "zeros"),
        )
    )
    online.build(x.shape)
    if build_first:
        target.build(x.shape)
    for ours, theirs in zip(target.variables, online.variables, strict=False):
        ours.assign(theirs)
    return {"online": online(x), "target": target(x)}


def tf_buggy(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return equalised(x, build_first=False)


def tf_fixed(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return equalised(x, build_first=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 4)).astype(np.float32)}
