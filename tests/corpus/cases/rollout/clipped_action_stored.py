"""The clipped action stored beside the probability of the unclipped one."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "clipped_action_stored"
KIND = "rollout"
SUBJECT = "function"
TITLE = "The clipped action stored beside the probability of the unclipped one"
SYMPTOM = "PPO's first ratio is not 1"
WHY = "The environment's clipped action went into the buffer, its log-probability was taken before"
CAUSE = "clipped-value|clip-extra"
FIX = "Store the action as it was sampled, and clip only what the environment gets"
PLACE = "output/ratio"


def torch_side(mean: torch.Tensor, noise: torch.Tensor) -> dict[str, torch.Tensor]:
    action = mean + 0.6 * noise
    log_prob = -0.5 * ((action - mean) / 0.6).square()
    again = -0.5 * ((action - mean) / 0.6).square()
    return {"log_prob": log_prob, "ratio": torch.exp(again - log_prob)}


def recomputed(mean: tf.Tensor, action: tf.Tensor, stored: tf.Tensor) -> dict[str, tf.Tensor]:
    log_prob = -0.5 * tf.square((action - mean) / 0.6)
    again = -0.5 * tf.square((stored - mean) / 0.6)
    return {"log_prob": log_prob, "ratio": tf.exp(again - log_prob)}


def tf_buggy(mean: tf.Tensor, noise: tf.Tensor) -> dict[str, tf.Tensor]:
    action = mean + 0.6 * noise
    return recomputed(mean, action, tf.clip_by_value(action, -1.0, 1.0))


def tf_fixed(mean: tf.Tensor, noise: tf.Tensor) -> dict[str, tf.Tensor]:
    action = mean + 0.6 * noise
    return recomputed(mean, action, action)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(9, 2)).astype(np.float32) for name in ("mean", "noise")}
