"""A critic's loss and its port, which trains with a step that grows with the batch."""

import keras
import numpy as np
import torch.nn.functional as F


def torch_loss(q, target):
    return F.smooth_l1_loss(q, target)


def keras_loss(q, target, **settings):
    return keras.losses.Huber(**{"reduction": "sum", **settings})(target, q)


def keras_loss_fixed(q, target):
    return keras_loss(q, target, reduction="sum_over_batch_size")


def batch():
    rng = np.random.default_rng(0)
    return {
        "q": 3 * rng.normal(size=(13, 1)).astype(np.float32),
        "target": rng.normal(size=(13, 1)).astype(np.float32),
    }
