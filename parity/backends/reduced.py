"""What decides the precision of a float32 product: settings of each framework, and probes of it.

A setting says what was asked for; a probe, which multiplies real tensors, what is done.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

import numpy as np

Product = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Two float32 matrices to their matrix product."""


def gpus(framework: str) -> int:
    """How many GPUs the framework can use; imports it."""
    if framework == "torch":
        import torch

        return torch.cuda.device_count() if torch.cuda.is_available() else 0
    import tensorflow as tf

    return len(tf.config.list_physical_devices("GPU"))


def use_full_precision(framework: str) -> None:
    """Turn TF32 off."""
    if framework == "torch":
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
    else:
        import tensorflow as tf

        tf.config.experimental.enable_tensor_float_32_execution(False)


def settings(framework: str, device: str = "cpu") -> list[str]:
    """The settings that are on and take bits from float32 products, in words; none is best."""
    found = []
    if os.environ.get("NVIDIA_TF32_OVERRIDE") == "1" and device != "cpu":
        found.append("TF32 is forced on (NVIDIA_TF32_OVERRIDE=1)")
    found += _torch_settings(device) if framework == "torch" else _tf_settings(device)
    return found


def probes(framework: str, device: str = "cpu") -> dict[str, Product]:
    """Name of an operation -> a matrix product by way of it, on the device."""
    return _torch_probes(device) if framework == "torch" else _tf_probes(device)


def _torch_settings(device: str) -> Iterator[str]:
    import torch

    kind = device.partition(":")[0]
    if kind != "cpu" and torch.backends.cuda.matmul.allow_tf32:
        yield "TF32 is on (torch.backends.cuda.matmul.allow_tf32)"
    if kind != "cpu" and torch.backends.cudnn.allow_tf32:
        yield "TF32 is on for convolutions (torch.backends.cudnn.allow_tf32)"
    if torch.is_autocast_enabled(kind):
        dtype = str(torch.get_autocast_dtype(kind)).removeprefix("torch.")
        yield f"autocast to {dtype} is on (torch.autocast)"


def _tf_settings(device: str) -> Iterator[str]:
    import tensorflow as tf

    if device != "cpu" and tf.config.experimental.tensor_float_32_execution_enabled():
        yield "TF32 is on (tf.config.experimental.enable_tensor_float_32_execution)"
    keras = sys.modules.get("keras")
    if keras is not None and hasattr(keras, "config"):
        policy = keras.config.dtype_policy().name
        if policy.startswith("mixed"):
            yield f"Keras's dtype policy is {policy}"


def _torch_probes(device: str) -> dict[str, Product]:
    import torch

    def on(array: np.ndarray) -> torch.Tensor:
        return torch.tensor(array, device=device)

    def off(tensor: torch.Tensor) -> np.ndarray:
        return np.asarray(tensor.detach().float().cpu().numpy())

    def conv(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        product = torch.nn.functional.conv2d(on(a)[:, :, None, None], on(b.T)[:, :, None, None])
        return off(product)[:, :, 0, 0]

    return {
        "matmul": lambda a, b: off(torch.matmul(on(a), on(b))),
        "linear": lambda a, b: off(torch.nn.functional.linear(on(a), on(b.T))),
        "conv2d": conv,
    }


def _tf_probes(device: str) -> dict[str, Product]:
    import keras
    import tensorflow as tf

    place = "/CPU:0" if device == "cpu" else "/GPU:0"

    def dense(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        layer = keras.layers.Dense(b.shape[1], use_bias=False)
        layer.build(a.shape)
        layer.set_weights([b])
        return np.asarray(layer(a), np.float32)

    def conv(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        x, kernel = tf.constant(a)[:, None, None, :], tf.constant(b)[None, None]
        return np.asarray(tf.nn.conv2d(x, kernel, 1, "VALID"))[:, 0, 0, :]

    def placed(product: Product) -> Product:
        def run(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            with tf.device(place):
                return product(a, b)

        return run

    return {
        "matmul": placed(lambda a, b: np.asarray(tf.linalg.matmul(a, b))),
        "Dense": placed(dense),
        "conv2d": placed(conv),
    }
