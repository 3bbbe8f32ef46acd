"""Every layer kind: weights move both ways bit for bit, and both sides then compute the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import pytest
import tf_keras
import torch

from parity import weights
from parity.backends import get_backend, to_numpy
from parity.layouts import kind_of
from parity.layouts.recurrent import regrouped

nn = torch.nn
B, T, H, W, D, C, OUT = 3, 7, 6, 5, 4, 2, 11  # pairwise distinct where it matters


@dataclass(frozen=True)
class Kind:
    """One pair of layers, and how their inputs and outputs are brought into one order."""

    torch: Callable[[], Any]
    tf: Callable[[Any], Any]
    shape: tuple[int, ...]
    channels_last: bool = False
    calls: int = 1
    integers: bool = False
    keras2: bool = True

    def tf_input(self, x: np.ndarray) -> np.ndarray:
        return np.moveaxis(x, 1, -1) if self.channels_last else x

    def tf_output(self, y: np.ndarray) -> np.ndarray:
        return np.moveaxis(y, -1, 1) if self.channels_last and y.ndim > 2 else y


def image(torch_: Callable[[], Any], tf_: Callable[[Any], Any], *sizes: int, **more: Any) -> Kind:
    return Kind(torch_, tf_, (B, C, *sizes), channels_last=True, **more)


def time(torch_: Callable[[], Any], tf_: Callable[[Any], Any], **more: Any) -> Kind:
    return Kind(torch_, tf_, (B, T, D), **more)


def sequence(layers: Any, cell: str, **options: Any) -> Any:
    return getattr(layers, cell)(OUT, return_sequences=True, **options)


KINDS = {
    "dense": Kind(lambda: nn.Linear(D, OUT), lambda L: L.Dense(OUT), (B, D)),
    "dense square": Kind(lambda: nn.Linear(D, D), lambda L: L.Dense(D), (B, D)),
    "dense no bias": Kind(
        lambda: nn.Linear(D, OUT, bias=False), lambda L: L.Dense(OUT, use_bias=False), (B, D)
    ),
    "einsum": Kind(
        lambda: nn.Linear(D, OUT),
        lambda L: L.EinsumDense("ab,bc->ac", output_shape=OUT, bias_axes="c"),
        (B, D),
    ),
    "einsum reversed": Kind(
        lambda: nn.Linear(D, OUT),
        lambda L: L.EinsumDense("ab,cb->ac", output_shape=OUT, bias_axes="c"),
        (B, D),
    ),
    "time distributed": time(lambda: nn.Linear(D, OUT), lambda L: L.TimeDistributed(L.Dense(OUT))),
    "conv1d": image(lambda: nn.Conv1d(C, OUT, 3), lambda L: L.Conv1D(OUT, 3), W),
    "conv2d": image(lambda: nn.Conv2d(C, OUT, (3, 2)), lambda L: L.Conv2D(OUT, (3, 2)), H, W),
    "conv2d square": image(lambda: nn.Conv2d(C, C, C), lambda L: L.Conv2D(C, C), H, W),
    "conv3d": image(
        lambda: nn.Conv3d(C, OUT, (3, 2, 1)), lambda L: L.Conv3D(OUT, (3, 2, 1)), H, W, 4
    ),
    "conv2d grouped": image(
        lambda: nn.Conv2d(C, 6, (3, 2), groups=2), lambda L: L.Conv2D(6, (3, 2), groups=2), H, W
    ),
    "conv1d transpose": image(
        lambda: nn.ConvTranspose1d(C, OUT, 3), lambda L: L.Conv1DTranspose(OUT, 3), W
    ),
    "conv2d transpose": image(
        lambda: nn.ConvTranspose2d(C, OUT, (3, 2), stride=(2, 1)),
        lambda L: L.Conv2DTranspose(OUT, (3, 2), strides=(2, 1)),
        H,
        W,
    ),
    "conv3d transpose": image(
        lambda: nn.ConvTranspose3d(C, OUT, (3, 2, 1)),
        lambda L: L.Conv3DTranspose(OUT, (3, 2, 1)),
        4,
        W,
        3,
    ),
    "depthwise 1d": image(
        lambda: nn.Conv1d(C, C * 3, 3, groups=C),
        lambda L: L.DepthwiseConv1D(3, depth_multiplier=3),
        W,
    ),
    "depthwise 2d": image(
        lambda: nn.Conv2d(C, C * 3, (3, 2), groups=C),
        lambda L: L.DepthwiseConv2D((3, 2), depth_multiplier=3),
        H,
        W,
    ),
    "batch norm": Kind(
        lambda: nn.BatchNorm1d(D), lambda L: L.BatchNormalization(epsilon=1e-5), (B, D)
    ),
    "batch norm 2d": image(
        lambda: nn.BatchNorm2d(C), lambda L: L.BatchNormalization(epsilon=1e-5), H, W
    ),
    "layer norm": time(lambda: nn.LayerNorm(D), lambda L: L.LayerNormalization(epsilon=1e-5)),
    "layer norm two axes": time(
        lambda: nn.LayerNorm((T, D)), lambda L: L.LayerNormalization(axis=(1, 2), epsilon=1e-5)
    ),
    "group norm": Kind(
        lambda: nn.GroupNorm(2, 6),
        lambda L: L.GroupNormalization(2, epsilon=1e-5),
        (B, 6, H, W),
        channels_last=True,
    ),
    "instance norm": image(
        lambda: nn.InstanceNorm2d(C, affine=True),
        lambda L: L.GroupNormalization(C, epsilon=1e-5),
        H,
        W,
    ),
    "rms norm": time(
        lambda: nn.RMSNorm(D, eps=1e-6), lambda L: L.RMSNormalization(epsilon=1e-6), keras2=False
    ),
    "embedding": Kind(
        lambda: nn.Embedding(9, D), lambda L: L.Embedding(9, D), (B, T), integers=True
    ),
    "prelu": Kind(lambda: nn.PReLU(D), lambda L: L.PReLU(), (B, D)),
    "prelu 2d": image(lambda: nn.PReLU(C), lambda L: L.PReLU(shared_axes=[1, 2]), H, W),
    "rnn": time(lambda: nn.RNN(D, OUT, batch_first=True), lambda L: sequence(L, "SimpleRNN")),
    "lstm": time(lambda: nn.LSTM(D, OUT, batch_first=True), lambda L: sequence(L, "LSTM")),
    "lstm no bias": time(
        lambda: nn.LSTM(D, OUT, batch_first=True, bias=False),
        lambda L: sequence(L, "LSTM", use_bias=False),
    ),
    "gru": time(lambda: nn.GRU(D, OUT, batch_first=True), lambda L: sequence(L, "GRU")),
    "lstm from a cell": time(
        lambda: nn.LSTM(D, OUT, batch_first=True),
        lambda L: L.RNN(L.LSTMCell(OUT), return_sequences=True),
    ),
    "stacked cells": time(
        lambda: nn.LSTM(D, OUT, num_layers=2, batch_first=True),
        lambda L: L.RNN(
            L.StackedRNNCells([L.LSTMCell(OUT), L.LSTMCell(OUT)]), return_sequences=True
        ),
    ),
    "bidirectional lstm": time(
        lambda: nn.LSTM(D, OUT, batch_first=True, bidirectional=True),
        lambda L: L.Bidirectional(sequence(L, "LSTM")),
    ),
    "bidirectional gru": time(
        lambda: nn.GRU(D, OUT, batch_first=True, bidirectional=True),
        lambda L: L.Bidirectional(sequence(L, "GRU")),
    ),
    "attention": Kind(
        lambda: nn.MultiheadAttention(8, 2, batch_first=True),
        lambda L: L.MultiHeadAttention(2, 4),
        (B, T, 8),
        calls=3,
    ),
}
CASES = [
    pytest.param(kind, library, id=f"{name}-{library.__name__}")
    for name, kind in KINDS.items()
    for library in (keras, tf_keras)
    if kind.keras2 or library is keras
]


def made(kind: Kind, library: Any, dtype: str) -> tuple[Any, Any, np.ndarray]:
    """Both layers, built, with other weights on each side, and an input."""
    rng = np.random.default_rng(7)
    x = rng.integers(0, 9, kind.shape) if kind.integers else rng.normal(size=kind.shape)
    layer = kind.torch().to(getattr(torch, dtype)).eval()
    other = kind.tf(with_dtype(library.layers, dtype))
    call(other, kind, x.astype(x.dtype if kind.integers else dtype))
    for slot in weights.slots(layer):
        slot.set(rng.uniform(0.2, 1.0, slot.shape).astype(np.float32).astype(dtype))
    return layer, other, x


class with_dtype:
    """The layers of a library, all made with one dtype."""

    def __init__(self, layers: Any, dtype: str) -> None:
        self._layers, self._dtype = layers, dtype

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: getattr(self._layers, name)(
            *args, dtype=self._dtype, **options
        )


def call(layer: Any, kind: Kind, x: np.ndarray) -> np.ndarray:
    given = get_backend("tf").tensor(np.ascontiguousarray(kind.tf_input(x)))
    return np.asarray(to_numpy(layer(*[given] * kind.calls)))


def call_torch(layer: Any, kind: Kind, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        made = layer(*[torch.tensor(x)] * kind.calls)
    return np.asarray(to_numpy(made[0] if isinstance(made, tuple) else made))


@pytest.mark.parametrize(("kind", "library"), CASES)
def test_both_sides_compute_the_same_after_the_move(kind: Kind, library: Any) -> None:
    layer, other, x = made(kind, library, "float64")
    before = kind.tf_output(call(other, kind, x))
    weights.copy(layer, other)
    left, right = call_torch(layer, kind, x), kind.tf_output(call(other, kind, x))
    assert left.shape == right.shape
    assert np.abs(left - right).max() <= 1e-12
    assert np.abs(left - before).max() > 1e-3, "the move changed nothing: the test proves nothing"


@pytest.mark.parametrize(("kind", "library"), CASES)
def test_round_trips_are_bit_exact(kind: Kind, library: Any) -> None:
    layer, other, _ = made(kind, library, "float32")
    native = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
    weights.copy(layer, other)
    canonical = weights.to_numpy(other)
    weights.copy(other, layer)
    for name, tensor in layer.state_dict().items():
        assert torch.equal(tensor, native[name]), name
    fresh = kind.torch().eval()
    weights.copy(other, fresh)
    back = weights.to_numpy(fresh)
    assert list(back) == list(canonical)
    assert all(np.array_equal(back[name], canonical[name]) for name in back)


@pytest.mark.parametrize(("kind", "library"), CASES)
def test_both_sides_are_of_one_kind(kind: Kind, library: Any) -> None:
    layer, other, _ = made(kind, library, "float32")
    assert kind_of("torch", layer) == kind_of("tf", other)


def test_several_torch_layers_have_one_prefix_each() -> None:
    names = [s.path for s in weights.slots(nn.GRU(3, 5, num_layers=2, bidirectional=True))]
    assert names[:5] == [
        "l0/forward/kernel",
        "l0/forward/recurrent_kernel",
        "l0/forward/bias",
        "l0/forward/recurrent_bias",
        "l0/backward/kernel",
    ]
    assert len(names) == 16


def test_separate_projections_of_attention() -> None:
    layer = nn.MultiheadAttention(8, 2, kdim=6, vdim=5, batch_first=True).double().eval()
    other = keras.layers.MultiHeadAttention(2, 4, dtype="float64")
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(3, n, size)) for n, size in ((7, 8), (4, 6), (4, 5)))
    tf_ = [get_backend("tf").tensor(a) for a in (q, v, k)]
    other(tf_[0], tf_[1], key=tf_[2])
    weights.copy(layer, other)
    with torch.no_grad():
        left = layer(*(torch.tensor(a) for a in (q, k, v)))[0].numpy()
    assert np.abs(left - other(tf_[0], tf_[1], key=tf_[2]).numpy()).max() <= 1e-12


def test_a_separable_convolution_holds_the_kernels_of_two() -> None:
    other = keras.layers.SeparableConv2D(OUT, 3, depth_multiplier=2, dtype="float64")
    other.build((None, H, W, C))
    depthwise = nn.Conv2d(C, 2 * C, 3, groups=C, bias=False).double()
    pointwise = nn.Conv2d(2 * C, OUT, 1).double()
    slots = {s.path: s for s in weights.slots(other)}
    for prefix, layer in (("depthwise", depthwise), ("pointwise", pointwise)):
        for slot in weights.slots(layer):
            assert slots[f"{prefix}/{slot.path}"].kind == slot.kind
            slots[f"{prefix}/{slot.path}"].set(slot.get())
    x = np.random.default_rng(0).normal(size=(B, C, H, W))
    with torch.no_grad():
        left = pointwise(depthwise(torch.tensor(x))).numpy()
    assert np.abs(left - np.moveaxis(other(np.moveaxis(x, 1, -1)).numpy(), -1, 1)).max() <= 1e-12


def test_gradients_of_two_added_biases_are_that_of_their_sum() -> None:
    layer = nn.LSTM(3, 5)
    slot = next(s for s in weights.slots(layer) if s.path == "bias")
    given = [np.full(20, 2.0), np.full(20, 2.0)]
    found = slot.gradient(given)
    assert found is not None and np.array_equal(found, given[0])


def test_gate_blocks_move_as_a_whole() -> None:
    assert regrouped(np.arange(6), (1, 0, 2)).tolist() == [2, 3, 0, 1, 4, 5]


def test_a_gru_without_reset_after_has_one_bias() -> None:
    layer = keras.layers.GRU(5, reset_after=False)
    layer.build((None, 7, 3))
    assert [s.path for s in weights.slots(layer)] == ["kernel", "recurrent_kernel", "bias"]
