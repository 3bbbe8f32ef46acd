"""Copies weights from torch to Keras for the corpus's own test: plain, by class, in order.

It shares no code with ``parity.weights``, so that the cases stay honest whatever that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import torch
from torch import nn

Arrays = list[np.ndarray]


def copy(module: nn.Module, model: Any) -> None:
    """Give a Keras model the weights of a torch module.

    Layers with weights are paired in the order of their definition, and must be of one kind.
    """
    left, right = list(torch_layers(module)), list(keras_layers(model))
    names = [type(a).__name__ for a in left], [type(b).__name__ for b in right]
    assert len(left) == len(right), f"layers with weights: {names[0]} against {names[1]}"
    for source, target in zip(left, right, strict=True):
        pair = type(source).__name__, _class(target)
        assert pair in RULES, f"no rule to copy {pair[0]} to {pair[1]}"
        target.set_weights(RULES[pair](source))


def torch_layers(module: nn.Module) -> Iterator[nn.Module]:
    if isinstance(module, nn.MultiheadAttention) or any(True for _ in _own(module)):
        yield module
    else:
        for child in module.children():
            yield from torch_layers(child)


def keras_layers(layer: Any) -> Iterator[Any]:
    if _class(layer) is not None:
        if layer.weights:
            yield layer
    else:
        for child in layer._flatten_layers(include_self=False, recursive=False):
            yield from keras_layers(child)


def _own(module: nn.Module) -> Iterator[torch.Tensor]:
    yield from module.parameters(recurse=False)
    yield from module.buffers(recurse=False)


def _class(layer: Any) -> str | None:
    known = {name for _, name in RULES}
    return next((c.__name__ for c in type(layer).__mro__ if c.__name__ in known), None)


def array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().numpy()


def _kernel(axes: tuple[int, ...]) -> Callable[[Any], Arrays]:
    def rule(layer: Any) -> Arrays:
        bias = [] if layer.bias is None else [array(layer.bias)]
        return [array(layer.weight).transpose(axes), *bias]

    return rule


def _depthwise(layer: nn.Conv2d) -> Arrays:
    weight = array(layer.weight)
    height, width = weight.shape[2:]
    grouped = weight.reshape(layer.in_channels, -1, height, width).transpose(2, 3, 0, 1)
    return [grouped, *([] if layer.bias is None else [array(layer.bias)])]


def _norm(layer: Any) -> Arrays:
    names = ("weight", "bias", "running_mean", "running_var")
    return [array(t) for t in (getattr(layer, n, None) for n in names) if t is not None]


def _recurrent(layer: nn.RNNBase) -> Arrays:
    found: Arrays = []
    for suffix in ("", "_reverse") if layer.bidirectional else ("",):
        kernel, recurrent, bias, recurrent_bias = (
            array(getattr(layer, f"{name}_l0{suffix}"))
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        if isinstance(layer, nn.GRU):  # reset, update, new -> update, reset, new
            parts = [np.split(a, 3) for a in (kernel, recurrent, bias, recurrent_bias)]
            kernel, recurrent, bias, recurrent_bias = (
                np.concatenate([p[1], p[0], p[2]]) for p in parts
            )
            found += [kernel.T, recurrent.T, np.stack([bias, recurrent_bias])]
        else:
            found += [kernel.T, recurrent.T, bias + recurrent_bias]
    return found


def _attention(layer: nn.MultiheadAttention) -> Arrays:
    width, heads = layer.embed_dim, layer.num_heads
    found: Arrays = []
    weights, biases = (
        np.split(array(layer.in_proj_weight), 3),
        np.split(array(layer.in_proj_bias), 3),
    )
    for weight, bias in zip(weights, biases, strict=True):
        found += [weight.T.reshape(width, heads, -1), bias.reshape(heads, -1)]
    out = layer.out_proj
    return [*found, array(out.weight).T.reshape(heads, -1, width), array(out.bias)]


RULES: dict[tuple[str, str | None], Callable[[Any], Arrays]] = {
    ("Linear", "Dense"): _kernel((1, 0)),
    ("Conv1d", "Conv1D"): _kernel((2, 1, 0)),
    ("Conv2d", "Conv2D"): _kernel((2, 3, 1, 0)),
    ("Conv2d", "DepthwiseConv2D"): _depthwise,
    ("ConvTranspose1d", "Conv1DTranspose"): _kernel((2, 1, 0)),
    ("ConvTranspose2d", "Conv2DTranspose"): _kernel((2, 3, 1, 0)),
    ("BatchNorm1d", "BatchNormalization"): _norm,
    ("BatchNorm2d", "BatchNormalization"): _norm,
    ("LayerNorm", "LayerNormalization"): _norm,
    ("GroupNorm", "GroupNormalization"): _norm,
    ("RMSNorm", "RMSNormalization"): _norm,
    ("Embedding", "Embedding"): lambda layer: [array(layer.weight)],
    ("PReLU", "PReLU"): lambda layer: [array(layer.weight)],
    ("RNN", "SimpleRNN"): _recurrent,
    ("LSTM", "LSTM"): _recurrent,
    ("GRU", "GRU"): _recurrent,
    ("LSTM", "Bidirectional"): _recurrent,
    ("GRU", "Bidirectional"): _recurrent,
    ("MultiheadAttention", "MultiHeadAttention"): _attention,
}

assert all(hasattr(keras.layers, str(name)) and hasattr(nn, ours) for ours, name in RULES)
