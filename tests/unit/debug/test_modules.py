"""Two modules: pairs that are right pass, whatever form they have; what differs is placed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
import torch
import torch.nn.functional as F
from torch import nn

from parity.debug.check import check
from parity.errors import AlignmentError, InvalidInput
from parity.report import Report
from parity.verdict import Verdict

L = keras.layers
Pair = tuple[Any, Any, Any]
RNG = np.random.default_rng(5)


def x(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def images(*shape: int) -> dict[str, list[np.ndarray]]:
    array = x(*shape)
    return {"torch": [array], "tf": [np.ascontiguousarray(np.moveaxis(array, 1, -1))]}


def checked(pair: Pair, **options: Any) -> Report:
    torch.manual_seed(1)
    keras.utils.set_random_seed(2)
    return check(*pair, **options)


class Torch(nn.Module):
    """A module from layers by name and a function of them."""

    def __init__(self, forward: Callable[..., Any], **layers: nn.Module) -> None:
        super().__init__()
        for name, layer in layers.items():
            setattr(self, name, layer)
        self._forward = forward

    def forward(self, *args: Any) -> Any:
        return self._forward(self, *args)


class Keras(keras.Model):
    """The same for Keras."""

    def __init__(self, call: Callable[..., Any], **layers: Any) -> None:
        super().__init__()
        for name, layer in layers.items():
            setattr(self, name, layer)
        self._call = call

    def call(self, a: Any, h: Any = None, c: Any = None) -> Any:
        return self._call(self, a) if h is None else self._call(self, a, h, c)


def mlp(**tf_options: Any) -> Pair:
    return (
        nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)),
        lambda: keras.Sequential([keras.Input((4,)), L.Dense(6, **tf_options), L.Dense(2)]),
        x(5, 4),
    )


def two_lstms() -> Pair:
    return (
        Torch(
            lambda s, a: s.o(s.rnn(a)[0]),
            rnn=nn.LSTM(4, 5, num_layers=2, batch_first=True),
            o=nn.Linear(5, 2),
        ),
        lambda: keras.Sequential(
            [
                keras.Input((6, 4)),
                L.LSTM(5, return_sequences=True),
                L.LSTM(5, return_sequences=True),
                L.Dense(2),
            ]
        ),
        x(3, 6, 4),
    )


def separable() -> Pair:
    return (
        nn.Sequential(nn.Conv2d(3, 6, 3, groups=3, bias=False), nn.Conv2d(6, 5, 1), nn.ReLU()),
        lambda: keras.Sequential(
            [
                keras.Input((7, 6, 3)),
                L.SeparableConv2D(5, 3, depth_multiplier=2, activation="relu"),
            ]
        ),
        x(2, 3, 7, 6),
    )


def used_twice() -> Pair:
    return (
        Torch(
            lambda s, a: s.o(torch.tanh(s.l(torch.tanh(s.l(a))))),
            l=nn.Linear(4, 4),
            o=nn.Linear(4, 2),
        ),
        lambda: Keras(lambda s, a: s.o(s.l(s.l(a))), l=L.Dense(4, activation="tanh"), o=L.Dense(2)),
        x(5, 4),
    )


def heads_called_in_another_order() -> Pair:
    return (
        Torch(lambda s, a: {"a": s.a(a), "b": s.b(a)}, a=nn.Linear(4, 2), b=nn.Linear(4, 2)),
        lambda: Keras(lambda s, a: {"b": s.b(a), "a": s.a(a)}, a=L.Dense(2), b=L.Dense(2)),
        x(5, 4),
    )


def convolutions_in_place() -> Pair:
    return (
        nn.Sequential(
            nn.Conv2d(3, 4, 3, stride=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(24, 5),
        ),
        lambda: keras.Sequential(
            [
                keras.Input((14, 11, 3)),
                L.Conv2D(4, 3, strides=2, activation="relu"),
                L.MaxPooling2D(2),
                L.Permute((3, 1, 2)),
                L.Flatten(),
                L.Dense(5),
            ]
        ),
        x(2, 3, 14, 11),
    )


def padding_by_a_layer_of_its_own() -> Pair:
    return (
        nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.AvgPool2d(3, 1, padding=1)),
        lambda: keras.Sequential(
            [
                keras.Input((8, 8, 3)),
                L.ZeroPadding2D(1),
                L.Conv2D(4, 3, strides=2),
                L.ZeroPadding2D(1),
                L.AveragePooling2D(3, 1),
            ]
        ),
        x(2, 3, 8, 8),
    )


def lists_of_blocks() -> Pair:
    def block(size: int, out: int) -> nn.Module:
        return Torch(
            lambda s, a: F.relu(s.n(s.fc(a))), fc=nn.Linear(size, out), n=nn.LayerNorm(out)
        )

    class Block(keras.layers.Layer):
        def __init__(self, out: int) -> None:
            super().__init__()
            self.fc, self.n = L.Dense(out), L.LayerNormalization(epsilon=1e-5)

        def call(self, a: Any) -> Any:
            return tf.nn.relu(self.n(self.fc(a)))

    def forward(s: Any, a: Any) -> Any:
        for layer in s.blocks:
            a = layer(a)
        return s.head(a)

    return (
        Torch(forward, blocks=nn.ModuleList([block(4, 6), block(6, 5)]), head=nn.Linear(5, 2)),
        lambda: Keras(forward, blocks=[Block(6), Block(5)], head=L.Dense(2)),
        x(5, 4),
    )


def encoder_layer() -> Pair:
    def call(s: Any, a: Any) -> Any:
        a = s.n1(a + s.a(a, a))
        return s.n2(a + s.l2(s.l1(a)))

    return (
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        lambda: Keras(
            call,
            a=L.MultiHeadAttention(2, 4),
            l1=L.Dense(16, activation="relu"),
            l2=L.Dense(8),
            n1=L.LayerNormalization(epsilon=1e-5),
            n2=L.LayerNormalization(epsilon=1e-5),
        ),
        x(2, 5, 8),
    )


def subclassed_channels_first_input() -> Pair:
    return (
        Torch(
            lambda s, a: F.relu(s.b(s.c(a))).mean((2, 3)), c=nn.Conv2d(3, 4, 3), b=nn.BatchNorm2d(4)
        ),
        lambda: Keras(
            lambda s, a: tf.reduce_mean(tf.nn.relu(s.b(s.c(a))), [1, 2]),
            c=L.Conv2D(4, 3),
            b=L.BatchNormalization(epsilon=1e-5),
        ),
        x(2, 3, 7, 7),
    )


def own_parameter() -> Pair:
    class Policy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mu = nn.Linear(4, 2)
            self.log_std = nn.Parameter(torch.tensor([-0.5, 0.25]))

        def forward(self, a: torch.Tensor) -> torch.Tensor:
            return self.mu(a) * self.log_std.exp()

    class KerasPolicy(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.mu = L.Dense(2)
            self.log_sigma = self.add_weight(shape=(2,), name="s")

        def call(self, a: Any) -> Any:
            return self.mu(a) * tf.exp(self.log_sigma)

    return Policy(), KerasPolicy, x(5, 4)


def keras_2() -> Pair:
    K = tf_keras.layers
    return (
        nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2)),
        lambda: tf_keras.Sequential(
            [
                tf_keras.Input((4,)),
                K.Dense(6),
                K.BatchNormalization(epsilon=1e-5),
                K.ReLU(),
                K.Dense(2),
            ]
        ),
        x(5, 4),
    )


def convolution_as_dense() -> Pair:
    return (
        nn.Conv1d(3, 5, 1),
        lambda: keras.Sequential([keras.Input((7, 3)), L.Dense(5)]),
        images(2, 3, 7),
    )


def states_in_and_out() -> Pair:
    def forward(s: Any, a: Any, h: Any, c: Any) -> Any:
        y, (h, c) = s.rnn(a, (h[None], c[None]))
        return s.o(y), h[0], c[0]

    def call(s: Any, a: Any, h: Any, c: Any) -> Any:
        y, h, c = s.rnn(a, initial_state=[h, c])
        return s.o(y), h, c

    return (
        Torch(forward, rnn=nn.LSTM(4, 5, batch_first=True), o=nn.Linear(5, 2)),
        lambda: Keras(call, rnn=L.LSTM(5, return_sequences=True, return_state=True), o=L.Dense(2)),
        [x(3, 6, 4), x(3, 5), x(3, 5)],
    )


def last_step() -> Pair:
    return (
        Torch(
            lambda s, a: s.o(s.rnn(s.e(a))[1][-1]),
            e=nn.Embedding(11, 4),
            rnn=nn.GRU(4, 5, batch_first=True),
            o=nn.Linear(5, 2),
        ),
        lambda: keras.Sequential(
            [keras.Input((6,), dtype="int32"), L.Embedding(11, 4), L.GRU(5), L.Dense(2)]
        ),
        RNG.integers(0, 11, (3, 6)),
    )


RIGHT = [
    two_lstms,
    separable,
    used_twice,
    heads_called_in_another_order,
    convolutions_in_place,
    padding_by_a_layer_of_its_own,
    lists_of_blocks,
    encoder_layer,
    subclassed_channels_first_input,
    own_parameter,
    keras_2,
    convolution_as_dense,
    states_in_and_out,
    last_step,
]


@pytest.mark.parametrize("make", RIGHT, ids=lambda f: f.__name__)
def test_right_pairs_pass(make: Callable[[], Pair]) -> None:
    report = checked(make())
    assert report.verdict in (Verdict.AGREE, Verdict.ROUNDING), str(report)
    assert report.evidence is not None and report.evidence.verdict is Verdict.AGREE
    assert report.subject["place"] is None and not report.causes
    assert any(e.name.startswith("grad/") for e in report.entries)


def test_training_mode_leaves_dropout_out_and_compares_its_rates() -> None:
    report = checked(
        (
            nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5), nn.Linear(6, 2)),
            lambda: keras.Sequential([keras.Input((4,)), L.Dense(6), L.Dropout(0.3), L.Dense(2)]),
            x(5, 4),
        ),
        training=True,
    )
    assert report.verdict is Verdict.AGREE
    assert [(s["name"], s["torch"], s["tf"]) for s in report.subject["config"]] == [
        ("rate", 0.5, 0.3)
    ]


def test_running_statistics_of_the_users_module_stay_as_they_were() -> None:
    module = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6))
    before = module[1].running_var.clone()
    checked(
        (
            module,
            lambda: keras.Sequential(
                [keras.Input((4,)), L.Dense(6), L.BatchNormalization(epsilon=1e-5)]
            ),
            x(9, 4),
        ),
        training=True,
    )
    assert torch.equal(module[1].running_var, before)


def test_float32_constants_of_the_framework_are_named_and_no_difference() -> None:
    report = checked(
        (
            nn.Sequential(nn.Linear(4, 6), nn.LeakyReLU(), nn.Linear(6, 2)),
            lambda: keras.Sequential(
                [keras.Input((4,)), L.Dense(6), L.LeakyReLU(negative_slope=0.01), L.Dense(2)]
            ),
            x(5, 4),
        )
    )
    assert report.verdict is Verdict.AGREE
    assert report.subject["float32_inside"][0]["place"] == "1"
    assert "rounds to float32 inside" in str(report)


def test_nan_at_the_same_places_is_no_difference() -> None:
    module, model, array = mlp(activation="relu")
    array[0, 0] = np.nan
    assert checked((module, model, array)).verdict is Verdict.AGREE


def test_several_faults_on_one_path_are_all_placed() -> None:
    report = checked(
        (
            nn.Sequential(
                nn.Linear(4, 6), nn.LayerNorm(6), nn.Tanh(), nn.Linear(6, 5), nn.ELU(0.5)
            ),
            lambda: keras.Sequential(
                [
                    keras.Input((4,)),
                    L.Dense(6),
                    L.LayerNormalization(),
                    L.Activation("tanh"),
                    L.Dense(5),
                    L.ELU(),
                ]
            ),
            x(5, 4),
        )
    )
    assert report.subject["faults"] == ["1", "4"]
    rows = {row["torch"]: row for row in report.subject["table"]}
    assert rows["3"]["propagated"] > 1e-6 > rows["3"]["local"]


def test_the_line_of_the_users_code_is_named() -> None:
    report = checked(
        (
            Torch(lambda s, a: s.o(torch.relu(s.l(a))), l=nn.Linear(4, 6), o=nn.Linear(6, 2)),
            lambda: Keras(lambda s, a: s.o(s.l(a)), l=L.Dense(6), o=L.Dense(2)),
            x(5, 4),
        )
    )
    row = next(r for r in report.subject["table"] if r["verdict"] == "input")
    assert row["torch"] == "o"
    assert all("test_modules.py" in row["where"][side] for side in ("torch", "tf"))


STRUCTURE = {
    "norm": ([L.Dense(6), L.ReLU(), L.Dense(2)], "layer-missing", "1"),
    "width": ([L.Dense(7), L.LayerNormalization(), L.ReLU(), L.Dense(2)], "weight-shape", "0"),
    "bias": (
        [L.Dense(6), L.LayerNormalization(), L.ReLU(), L.Dense(2, use_bias=False)],
        "weight-missing",
        "3",
    ),
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_networks_that_cannot_be_the_same_say_why(name: str) -> None:
    layers, kind, place = STRUCTURE[name]
    module = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.ReLU(), nn.Linear(6, 2))
    report = checked((module, keras.Sequential([keras.Input((4,)), *layers]), x(5, 4)))
    assert report.verdict is Verdict.DIVERGE
    assert {p.kind for p in report.problems} >= {kind}
    assert report.subject["place"] == place
    assert "other networks" in str(report)


def test_a_doubtful_pair_is_an_error_with_the_map_to_write() -> None:
    pair = (
        Torch(lambda s, a: s.v(s.u(a)), u=nn.Linear(4, 4), v=nn.Linear(4, 4)),
        lambda: keras.Sequential([keras.Input((4,)), L.Dense(4), L.Dense(4), L.Dense(4)]),
        x(5, 4),
    )
    with pytest.raises(AlignmentError, match="map file"):
        checked(pair)


def test_inputs_that_a_side_refuses_are_named() -> None:
    module, model, _ = mlp(activation="relu")
    with pytest.raises(InvalidInput, match=r"torch refuses inputs of shapes \(5, 3\)"):
        checked((module, model, x(5, 3)))


def test_without_float64_evidence_the_report_says_so() -> None:
    class Frozen(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(np.ones((4, 2), np.float32))

        def __call__(self, a: Any) -> Any:
            return a @ self.w

    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.randn(4, 2))

        def forward(self, a: torch.Tensor) -> torch.Tensor:
            return a @ self.w

    report = checked((Own(), Frozen(), x(5, 4)))
    assert report.verdict is Verdict.AGREE
    assert "factory" in report.subject["no_float64"]["tf"]
