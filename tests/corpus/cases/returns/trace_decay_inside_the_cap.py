"""The decay of a trace stands inside of the cap on the ratio."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "trace_decay_inside_the_cap"
KIND = "returns"
SUBJECT = "function"
TITLE = "The decay of a trace stands inside of the cap on the ratio"
SYMPTOM = "Traces of actions that the new policy prefers decay too little"
WHY = "Retrace's coefficient is lambda * min(1, rho); min(1, lambda * rho) is larger"
CAUSE = "operation-order"
FIX = "trace = decay * tf.minimum(rho, 1.0)"
PLACE = "output"


GAMMA, DECAY = 0.97, 0.8


def torch_side(
    reward: torch.Tensor, value: torch.Tensor, q: torch.Tensor, rho: torch.Tensor
) -> torch.Tensor:
    trace = DECAY * rho.clamp(max=1.0)
    delta = reward[:-1] + GAMMA * value[1:] - q[:-1]
    found, later = [], torch.zeros_like(q[0])
    for t in reversed(range(len(delta))):
        later = delta[t] + GAMMA * trace[t + 1] * later
        found.append(q[t] + later)
    return torch.stack(found[::-1])


def retrace(reward: tf.Tensor, value: tf.Tensor, q: tf.Tensor, trace: tf.Tensor) -> tf.Tensor:
    delta = reward[:-1] + GAMMA * value[1:] - q[:-1]
    found, later = [], tf.zeros_like(q[0])
    for t in reversed(range(delta.shape[0])):
        later = delta[t] + GAMMA * trace[t + 1] * later
        found.append(q[t] + later)
    return tf.stack(found[::-1])


def tf_buggy(reward: tf.Tensor, value: tf.Tensor, q: tf.Tensor, rho: tf.Tensor) -> tf.Tensor:
    return retrace(reward, value, q, tf.minimum(DECAY * rho, 1.0))


def tf_fixed(reward: tf.Tensor, value: tf.Tensor, q: tf.Tensor, rho: tf.Tensor) -> tf.Tensor:
    return retrace(reward, value, q, DECAY * tf.minimum(rho, 1.0))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    names = ("reward", "value", "q", "rho")
    drawn = {n: rng.normal(size=(7, 3)).astype(np.float32) for n in names}
    return {**drawn, "rho": np.exp(drawn["rho"])}
