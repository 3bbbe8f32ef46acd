"""A soft update that ignores the tau it is given."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "tau_argument_ignored"
KIND = "target-update"
SUBJECT = "function"
TITLE = "A soft update that ignores the tau it is given"
SYMPTOM = "The targets start away from the online network and take thousands of steps to arrive"
WHY = "The initial hard copy calls update(tau=1.0), but the default is used inside"
CAUSE = "tau-ignored"
FIX = "Use the argument: tau * online + (1 - tau) * target"
PLACE = "output/0"


TAU = 0.02


class TorchTarget:
    def __init__(self, target: torch.Tensor) -> None:
        self.target = target

    def update(self, online: torch.Tensor, tau: float = TAU) -> torch.Tensor:
        self.target = self.target + tau * (online - self.target)
        return self.target


class KerasTarget:
    def __init__(self, target: tf.Tensor) -> None:
        self.target = target

    def update(self, online: tf.Tensor, tau: float = TAU) -> tf.Tensor:
        self.target = self.target + tau * (online - self.target)
        return self.target


class IgnoringTarget(KerasTarget):
    def update(self, online: tf.Tensor, tau: float = TAU) -> tf.Tensor:
        return super().update(online, TAU)


def torch_side(online: torch.Tensor, target: torch.Tensor) -> list[torch.Tensor]:
    net = TorchTarget(target)
    return [net.update(online, tau=1.0), net.update(online + 0.5), net.update(online - 0.5)]


def three_updates(net: KerasTarget, online: tf.Tensor) -> list[tf.Tensor]:
    return [net.update(online, tau=1.0), net.update(online + 0.5), net.update(online - 0.5)]


def tf_buggy(online: tf.Tensor, target: tf.Tensor) -> list[tf.Tensor]:
    return three_updates(IgnoringTarget(target), online)


def tf_fixed(online: tf.Tensor, target: tf.Tensor) -> list[tf.Tensor]:
    return three_updates(KerasTarget(target), online)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(3, 5)).astype(np.float32) for name in ("online", "target")}
