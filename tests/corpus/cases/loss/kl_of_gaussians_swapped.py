"""The divergence of two Gaussians in the wrong direction."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "kl_of_gaussians_swapped"
KIND = "loss"
SUBJECT = "function"
TITLE = "The divergence of two Gaussians in the wrong direction"
SYMPTOM = "A trust region that is too tight where the old policy is wide"
WHY = "KL(old || new) divides by the new variance"
CAUSE = "argument-order|operand-order|other-operand"
FIX = "kl(old_mean, old_log_std, new_mean, new_log_std)"
PLACE = "output"


def torch_side(
    old_mean: torch.Tensor,
    old_log_std: torch.Tensor,
    new_mean: torch.Tensor,
    new_log_std: torch.Tensor,
) -> torch.Tensor:
    old = torch.distributions.Normal(old_mean, old_log_std.exp())
    new = torch.distributions.Normal(new_mean, new_log_std.exp())
    return torch.distributions.kl_divergence(old, new).sum(-1).mean()


def kl(
    mean_p: tf.Tensor, log_std_p: tf.Tensor, mean_q: tf.Tensor, log_std_q: tf.Tensor
) -> tf.Tensor:
    spread = tf.exp(2 * log_std_p) + tf.square(mean_p - mean_q)
    each = log_std_q - log_std_p + spread / (2 * tf.exp(2 * log_std_q)) - 0.5
    return tf.reduce_mean(tf.reduce_sum(each, axis=-1))


def tf_buggy(
    old_mean: tf.Tensor, old_log_std: tf.Tensor, new_mean: tf.Tensor, new_log_std: tf.Tensor
) -> tf.Tensor:
    return kl(new_mean, new_log_std, old_mean, old_log_std)


def tf_fixed(
    old_mean: tf.Tensor, old_log_std: tf.Tensor, new_mean: tf.Tensor, new_log_std: tf.Tensor
) -> tf.Tensor:
    return kl(old_mean, old_log_std, new_mean, new_log_std)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    names = ("old_mean", "old_log_std", "new_mean", "new_log_std")
    return {n: rng.normal(scale=0.5, size=(5, 2)).astype(np.float32) for n in names}
