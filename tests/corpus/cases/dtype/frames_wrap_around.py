"""A difference of frames taken in unsigned bytes."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "frames_wrap_around"
KIND = "dtype"
SUBJECT = "function"
TITLE = "A difference of frames taken in unsigned bytes"
SYMPTOM = "Things that get darker flash up brightly"
WHY = "3 - 5 is 254 in uint8"
CAUSE = "integer-overflow"
FIX = "tf.cast(new, tf.float32) - tf.cast(old, tf.float32)"
PLACE = "output"
FLOAT64 = False


def torch_side(new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    return new.float() - old.float()


def tf_buggy(new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    return tf.cast(new - old, tf.float32)


def tf_fixed(new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    return tf.cast(new, tf.float32) - tf.cast(old, tf.float32)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.integers(0, 256, size=(2, 5, 4)).astype(np.uint8) for n in ("new", "old")}
