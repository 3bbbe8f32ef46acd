"""A target that is the online network itself."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "target_is_the_same_object"
KIND = "target-update"
SUBJECT = "function"
TITLE = "A target that is the online network itself"
SYMPTOM = "Target and online values are always equal; training diverges"
WHY = "target = online copies a reference; the torch side has a deepcopy"
CAUSE = "aliasing|update-order|other-operand"
FIX = "tf.Variable(online), or keras.models.clone_model and set_weights"
PLACE = "output/target"


def torch_side(weights: torch.Tensor, gradient: torch.Tensor) -> dict[str, torch.Tensor]:
    online = weights.detach().clone()
    target = online.clone()
    online.sub_(0.2 * gradient.detach())
    return {"online": online, "target": target}


def step(online: tf.Variable, target: tf.Variable, gradient: tf.Tensor) -> dict[str, tf.Tensor]:
    online.assign_sub(0.2 * gradient)
    return {"online": online.read_value(), "target": target.read_value()}


def tf_buggy(weights: tf.Tensor, gradient: tf.Tensor) -> dict[str, tf.Tensor]:
    online = tf.Variable(weights)
    return step(online, online, gradient)


def tf_fixed(weights: tf.Tensor, gradient: tf.Tensor) -> dict[str, tf.Tensor]:
    return step(tf.Variable(weights), tf.Variable(weights), gradient)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(5, 2)).astype(np.float32) for name in ("weights", "gradient")}
