"""The convolutional trunk as a ``keras.Model`` of Keras's own layers; see ``spec.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from impls.nature_cnn.config import KERNELS, STRIDES, NatureCNNConfig, initial_parameters


class NatureCNN(keras.Model):
    """Pixels ``[B, height, width, channels]`` of 0 to 255, uint8 or floating, to ``[B, units]``.

    Args:
        config: the sizes.
        dtype: of parameters and features.
        seed: of the parameters, ``initial_parameters(config, default_rng(seed))``.
    """

    def __init__(
        self, config: NatureCNNConfig | None = None, *, dtype: str = "float32", seed: int = 0
    ) -> None:
        super().__init__(name="nature_cnn", dtype=dtype, autocast=False)
        self.config, self.seed = config or NatureCNNConfig(), seed
        config = self.config
        channels, shape = config.channels, (None, config.height, config.width)
        for i, (side, stride) in enumerate(zip(KERNELS, STRIDES, strict=True), start=1):
            layer = keras.layers.Conv2D(
                config.filters[i - 1], side, stride, dtype=dtype, name=f"conv{i}"
            )
            layer.build((*shape, channels))
            setattr(self, f"conv{i}", layer)
            channels = config.filters[i - 1]
        rows, columns = config.grid
        self.dense = keras.layers.Dense(config.units, dtype=dtype, name="dense")
        self.dense.build((None, rows * columns * channels))
        self.built = True
        for name, value in initial_parameters(config, np.random.default_rng(seed)).items():
            layer, _, kind = name.rpartition("_")
            getattr(getattr(self, layer), kind).assign(value.astype(dtype))

    def get_config(self) -> dict[str, Any]:
        return {"config": asdict(self.config), "dtype": self.dtype, "seed": self.seed}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        return cls(NatureCNNConfig(**config["config"]), dtype=config["dtype"], seed=config["seed"])

    def call(self, pixels: tf.Tensor) -> tf.Tensor:
        x = tf.cast(pixels, self.dense.kernel.dtype) / 255.0
        for i in range(1, len(KERNELS) + 1):
            x = tf.nn.relu(getattr(self, f"conv{i}")(x))
        return tf.nn.relu(self.dense(tf.reshape(x, [tf.shape(x)[0], -1])))
