"""SGD with Nesterov momentum and its port, which is slower in valleys."""

import keras
import torch


def torch_sgd(params):
    return torch.optim.SGD(params, lr=1e-2, momentum=0.9, nesterov=True)


def keras_sgd():
    return keras.optimizers.SGD(learning_rate=1e-2, momentum=0.9)


def keras_sgd_fixed():
    return keras.optimizers.SGD(learning_rate=1e-2, momentum=0.9, nesterov=True)
