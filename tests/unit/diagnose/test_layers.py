"""Causes between layers: each planted in a small pair of its own, found and placed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
import torch.nn.functional as F
from torch import nn

from parity.debug.check import check
from parity.verdict import Verdict

L = keras.layers
RNG = np.random.default_rng(11)


def x(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def images(*shape: int) -> dict[str, list[np.ndarray]]:
    array = x(*shape)
    return {"torch": [array], "tf": [np.ascontiguousarray(np.moveaxis(array, 1, -1))]}


def graph(shape: tuple[int, ...], *layers: Any) -> Any:
    """A sequential model; layers are given as functions, so that each precision makes its own."""
    return lambda: keras.Sequential([keras.Input(shape), *(make() for make in layers)])


@dataclass(frozen=True)
class Planted:
    """One fault: the pair, the cause, the place."""

    torch: Callable[[], nn.Module]
    tf: Any
    inputs: Any
    cause: str
    place: str
    options: dict[str, Any] = field(default_factory=dict)


class Code(nn.Module):
    """Two dense layers with code between them."""

    def __init__(self, function: Callable[[Any], Any], size: int = 6, given: int = 6) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(4, size), nn.Linear(given, 2)
        self.function = function

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return self.two(self.function(self.one(a)))


class KerasCode(keras.Model):
    def __init__(self, function: Callable[[Any], Any], size: int = 6) -> None:
        super().__init__()
        self.one, self.two = L.Dense(size), L.Dense(2)
        self.function = function

    def call(self, a: Any) -> Any:
        return self.two(self.function(self.one(a)))


def code(ours: Any, theirs: Any, cause: str, size: int = 6, given: int = 6) -> Planted:
    return Planted(
        lambda: Code(ours, size, given),
        lambda: KerasCode(theirs, size),
        x(7, 4),
        cause,
        "two/input",
    )


def layer(ours: Any, theirs: Any, shape: tuple[int, ...], cause: str, **options: Any) -> Planted:
    """One layer against another, channels last where it has channels."""
    spatial = len(shape) > 2 and not options.pop("sequence", False)
    tf_shape = (*shape[2:], shape[1]) if spatial else shape[1:]
    given = images(*shape) if spatial else x(*shape)
    return Planted(
        lambda: nn.Sequential(ours()), graph(tf_shape, theirs), given, cause, "0", options
    )


PLANTED = {
    "batch norm epsilon": layer(
        lambda: nn.BatchNorm2d(3), lambda: L.BatchNormalization(), (2, 3, 5, 4), "norm-epsilon"
    ),
    "group norm epsilon": layer(
        lambda: nn.GroupNorm(2, 4), lambda: L.GroupNormalization(2), (2, 4, 5, 3), "norm-epsilon"
    ),
    "groups of a norm": layer(
        lambda: nn.GroupNorm(2, 4),
        lambda: L.GroupNormalization(4, epsilon=1e-5),
        (2, 4, 5, 3),
        "norm-groups",
    ),
    "strided same padding": layer(
        lambda: nn.Conv2d(3, 4, 5, stride=2, padding=2),
        lambda: L.Conv2D(4, 5, strides=2, padding="same"),
        (2, 3, 12, 10),
        "padding-asymmetry",
    ),
    "same padding 1d": layer(
        lambda: nn.Conv1d(3, 4, 4, stride=2, padding=2),
        lambda: L.Conv1D(4, 4, strides=2, padding="same"),
        (2, 3, 11),
        "padding-asymmetry",
    ),
    "dilation": layer(
        lambda: nn.Conv2d(3, 4, 3, dilation=2, padding=2),
        lambda: L.Conv2D(4, 3, padding="same"),
        (2, 3, 9, 8),
        "dilation",
    ),
    "stride": layer(
        lambda: nn.Conv2d(3, 4, 3, stride=2), lambda: L.Conv2D(4, 3), (2, 3, 9, 8), "stride"
    ),
    "output padding": layer(
        lambda: nn.ConvTranspose1d(3, 4, 3, stride=2, padding=1, output_padding=1),
        lambda: L.Conv1DTranspose(4, 3, strides=2, padding="same"),
        (2, 3, 7),
        "output-padding",
    ),
    "padding counted in an average": layer(
        lambda: nn.AvgPool1d(3, 1, padding=1),
        lambda: L.AveragePooling1D(3, 1, padding="same"),
        (2, 3, 7),
        "pooling-count",
    ),
    "kind of pooling": layer(
        lambda: nn.MaxPool2d(2), lambda: L.AveragePooling2D(2), (2, 3, 8, 6), "pooling-kind"
    ),
    "resize": layer(
        lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
        lambda: L.UpSampling2D(2, interpolation="bilinear"),
        (2, 3, 4, 5),
        "resize-convention",
    ),
    "gates of an lstm": layer(
        lambda: _First(nn.LSTM(3, 4, batch_first=True)),
        lambda: L.LSTM(4, return_sequences=True, recurrent_activation="hard_sigmoid"),
        (2, 5, 3),
        "activation-variant",
        sequence=True,
    ),
    "leaky slope": layer(
        lambda: nn.LeakyReLU(0.1), lambda: L.LeakyReLU(), (5, 4), "activation-slope"
    ),
    "gelu": layer(
        lambda: nn.GELU(approximate="tanh"),
        lambda: L.Activation("gelu"),
        (5, 4),
        "activation-variant",
    ),
    "silu for mish": layer(
        lambda: nn.Mish(), lambda: L.Activation("silu"), (5, 4), "activation-variant"
    ),
    "softmax axis": layer(
        lambda: nn.Softmax(dim=1),
        lambda: L.Softmax(axis=-1),
        (2, 5, 4),
        "softmax-axis",
        sequence=True,
    ),
    "missing activation": code(torch.tanh, lambda h: h, "activation-missing"),
    "extra activation": code(lambda h: h, tf.nn.relu, "activation-extra"),
    "activation twice": code(torch.tanh, lambda h: tf.tanh(tf.tanh(h)), "activation-doubled"),
    "other activation": code(torch.tanh, tf.sigmoid, "activation-variant"),
    "slope in code": code(lambda h: F.elu(h, 0.5), lambda h: tf.nn.elu(h), "activation-slope"),
    "factor": code(lambda h: 3.0 * h, lambda h: h, "factor"),
    "residual": code(lambda h: h + torch.tanh(h), lambda h: tf.tanh(h), "residual-missing"),
    "parts in another order": code(
        lambda h: torch.cat([h, torch.tanh(h)], -1),
        lambda h: tf.concat([tf.tanh(h), h], -1),
        "concat-order",
        given=12,
    ),
    "halves of a gate": code(
        lambda h: F.glu(h, -1),
        lambda h: tf.sigmoid(h[:, :3]) * h[:, 3:],
        "split-order",
        given=3,
    ),
    "scale inside": code(
        lambda h: 2.0 * torch.tanh(h), lambda h: tf.tanh(2.0 * h), "scale-misplaced"
    ),
    "momentum": layer(
        lambda: nn.BatchNorm1d(3, momentum=0.25),
        lambda: L.BatchNormalization(epsilon=1e-5, momentum=0.25),
        (9, 3),
        "norm-momentum",
        training=True,
    ),
}


class _First(nn.Module):
    """A recurrent layer's sequence without its states."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return self.inner(a)[0]


def report_of(planted: Planted) -> Any:
    torch.manual_seed(3)
    keras.utils.set_random_seed(4)
    return check(planted.torch(), planted.tf, planted.inputs, **planted.options)


@pytest.mark.parametrize("name", PLANTED)
def test_planted_causes_are_found(name: str) -> None:
    planted = PLANTED[name]
    report = report_of(planted)
    assert report.verdict is Verdict.DIVERGE
    causes = [cause["cause"] for cause in report.causes]
    assert planted.cause in causes, str(report)
    cause = report.causes[causes.index(planted.cause)]
    assert cause["after"] < cause["before"] / 4
    assert cause["text"] and cause["docs"] == f"docs/porting.md#{planted.cause}"
    if not planted.options:
        place = "0/inner" if "lstm" in name else planted.place
        assert report.subject["place"] == place


def copied(*changes: tuple[str, Callable[[np.ndarray], np.ndarray]], kind: str) -> Any:
    """A pair whose tf side holds torch's weights, one of them through a function."""
    from parity import weights

    torch.manual_seed(6)
    shape, ours, theirs, given = {
        "dense": ((5,), nn.Linear(5, 5), L.Dense(5), x(7, 5)),
        "conv": (
            (7, 6, 3), nn.Conv2d(3, 3, 3), L.Conv2D(3, 3), images(2, 3, 7, 6),
        ),
        "depthwise": (
            (7, 6, 3), nn.Conv2d(3, 6, 3, groups=3), L.DepthwiseConv2D(3, depth_multiplier=2),
            images(2, 3, 7, 6),
        ),
        "gru": (
            (5, 3), nn.GRU(3, 4, batch_first=True), L.GRU(4, return_sequences=True), x(2, 5, 3),
        ),
        "lstm": (
            (5, 3), nn.LSTM(3, 4, batch_first=True), L.LSTM(4, return_sequences=True), x(2, 5, 3),
        ),
    }[kind]  # fmt: skip
    module = ours if kind in ("dense", "conv", "depthwise") else _First(ours)
    model = keras.Sequential([keras.Input(shape), theirs])
    weights.copy(ours, theirs)
    slots = {slot.path: slot for slot in weights.slots(theirs)}
    for name, function in changes:
        slots[name].set(np.ascontiguousarray(function(slots[name].get())))
    return check(module, model, given, transfer="keep")


def gates(order: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda a: np.concatenate([np.split(a, len(order), -1)[i] for i in order], -1)


LAYOUTS = {
    "transposed": ("dense", [("kernel", np.transpose)], "kernel-transposed"),
    "rolled": ("dense", [("kernel", lambda a: np.roll(a, 1, 0))], "rows-rolled"),
    "not copied": ("dense", [("bias", np.zeros_like)], "weights-not-copied"),
    "other numbers": ("dense", [("kernel", lambda a: a + a**2)], "weights-differ"),
    "height and width": (
        "conv", [("kernel", lambda a: a.transpose(1, 0, 2, 3))], "kernel-axes",
    ),
    "in and out": ("conv", [("kernel", lambda a: a.transpose(0, 1, 3, 2))], "kernel-axes"),
    "flipped": ("conv", [("kernel", lambda a: a[::-1, ::-1])], "kernel-flipped"),
    "multiplier first": (
        "depthwise",
        [("kernel", lambda a: a.reshape(3, 3, 1, 3, 2).swapaxes(3, 4).reshape(a.shape))],
        "kernel-axes",
    ),
    "gates of a gru": (
        "gru",
        [(n, gates((1, 0, 2))) for n in ("kernel", "recurrent_kernel", "bias", "recurrent_bias")],
        "gate-order",
    ),
    "biases of a gru": ("gru", [("recurrent_bias", np.zeros_like)], "weights-not-copied"),
    "gates of an lstm": (
        "lstm",
        [(n, gates((0, 2, 1, 3))) for n in ("kernel", "recurrent_kernel", "bias")],
        "gate-order",
    ),
    "forget bias": (
        "lstm", [("bias", lambda a: a + np.repeat([0, 1, 0, 0], len(a) // 4))], "forget-bias",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_weights_in_another_layout_are_named(name: str) -> None:
    kind, changes, cause = LAYOUTS[name]
    report = copied(*changes, kind=kind)
    assert report.verdict is Verdict.DIVERGE
    assert [c["cause"] for c in report.causes] == [cause], str(report)
    assert report.causes[0]["after"] < 1e-9 < report.causes[0]["before"]


@pytest.mark.parametrize("kind", ["dense", "conv", "depthwise", "gru", "lstm"])
def test_weights_in_the_right_layout_are_no_cause(kind: str) -> None:
    report = copied(kind=kind)
    assert report.passed and not report.causes


def test_rows_permuted_for_a_channels_last_flattening_are_no_fault() -> None:
    from parity import weights

    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 5 * 3, 2))
    conv, dense = L.Conv2D(4, 3), L.Dense(2)
    model = keras.Sequential([keras.Input((7, 5, 3)), conv, L.Flatten(), dense])
    weights.copy(module[0], conv)
    kernel = module[2].weight.detach().numpy().T.reshape(4, 5, 3, 2).transpose(1, 2, 0, 3)
    dense.set_weights([kernel.reshape(-1, 2), module[2].bias.detach().numpy()])
    report = check(module, model, x(2, 3, 7, 5), transfer="keep")
    assert report.passed, str(report)


def test_an_epsilon_that_the_data_hide_is_latent_and_named() -> None:
    report = check(
        nn.LayerNorm(6),
        graph((6,), lambda: L.LayerNormalization(epsilon=1e-6)),
        1e3 * x(5, 6),
    )
    assert report.verdict is Verdict.LATENT
    assert [c["cause"] for c in report.causes] == ["norm-epsilon"]
    assert report.causes[0]["fix"] == "keras.layers.LayerNormalization(epsilon=1e-05)"


def test_a_relu_that_the_data_hide_is_listed_with_the_settings() -> None:
    module = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    with torch.no_grad():
        module[2].bias.fill_(50.0)
    report = check(
        module,
        graph((4,), lambda: L.Dense(6, activation="relu"), lambda: L.Dense(2, activation="relu")),
        x(7, 4),
    )
    assert report.verdict is Verdict.AGREE
    assert [(s["layer"], s["cause"]) for s in report.subject["config"]] == [
        ("2", "activation-extra")
    ]
    assert "activation behind it" in str(report)


def test_faults_stacked_on_one_path_are_all_explained() -> None:
    report = check(
        nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.LeakyReLU(), nn.Linear(6, 3), nn.ELU()),
        graph(
            (4,),
            lambda: L.Dense(6),
            lambda: L.LayerNormalization(),
            lambda: L.LeakyReLU(),
            lambda: L.Dense(3),
            lambda: L.Activation("selu"),
        ),
        x(7, 4),
    )
    assert [(c["place"], c["cause"]) for c in report.causes] == [
        ("1", "norm-epsilon"),
        ("2", "activation-slope"),
        ("4", "activation-variant"),
    ]


def test_what_cannot_be_explained_is_still_placed() -> None:
    weights = np.linspace(-1.0, 1.0, 6, dtype=np.float32)
    report = check(
        Code(lambda h: h),
        lambda: KerasCode(lambda h: h + tf.cast(weights, h.dtype) ** 2 * tf.sin(h[:, ::-1])),
        x(7, 4),
    )
    assert report.subject["place"] == "two/input"
    assert report.causes or "no cause was found at two/input" in str(report)


class Ordered(nn.Module):
    """A residual block that normalises first."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.branch = nn.LayerNorm(6), nn.Linear(6, 6)

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return a + torch.relu(self.branch(self.norm(a)))


class KerasOrdered(keras.Model):
    """The same layers; it normalises last."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.branch = L.LayerNormalization(epsilon=1e-5), L.Dense(6, activation="relu")

    def call(self, a: tf.Tensor) -> tf.Tensor:
        return self.norm(a + self.branch(a))


def test_an_order_of_calls_that_was_not_run_claims_no_error() -> None:
    report = check(Ordered(), KerasOrdered, x(5, 6))
    cause = report.causes[0]
    assert cause["cause"] == "call-order"
    assert "before" not in cause
    assert "after" not in cause
    assert "(error 0 -> 0)" not in str(report)
