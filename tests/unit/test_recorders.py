"""The recorders reach every leaf layer, in whatever way a model is put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from torch import nn

from parity.backends import get_backend
from parity.backends.base import ModuleRecord

X = np.random.default_rng(1).normal(size=(5, 3))


def ones(path: str, shape: tuple[int, ...]) -> np.ndarray:
    return np.ones(shape)


def record(side: str, module: Any, *inputs: np.ndarray, **options: Any) -> ModuleRecord:
    return get_backend(side).record_module(
        module, inputs or [X], cotangents=ones, dtype="float32", **options
    )


def paths(side: str, module: Any, *inputs: np.ndarray) -> list[str]:
    return [call.path for call in record(side, module, *inputs).calls]


class TorchNested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3))
        self.heads = nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.Linear(3, 2)})
        self.blocks = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x: Any) -> Any:
        x = self.trunk(x)
        for block in self.blocks:
            x = block(x)
        return {"a": self.heads["a"](x), "b": self.heads["b"](self.trunk(x))}


class KerasBlock(keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.inner = keras.layers.Dense(3)

    def call(self, x: Any) -> Any:
        return self.inner(x)


class KerasNested(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = KerasBlock()
        self.heads = {"a": keras.layers.Dense(2), "b": keras.layers.Dense(2)}
        self.blocks = [KerasBlock(), (keras.layers.Dense(3), keras.layers.Dense(3))]
        self._hidden = keras.layers.Dense(3)

    def call(self, x: Any) -> Any:
        x = self._hidden(self.trunk(x))
        x = self.blocks[1][1](self.blocks[1][0](self.blocks[0](x)))
        return {"a": self.heads["a"](x), "b": self.heads["b"](self.trunk(x))}


def test_nested_torch_layers() -> None:
    assert paths("torch", TorchNested()) == [
        "trunk/0", "trunk/1", "trunk/2", "blocks/0", "blocks/1", "heads/a",
        "trunk/0#2", "trunk/1#2", "trunk/2#2", "heads/b",
    ]  # fmt: skip


def test_nested_keras_layers_of_a_model_that_was_not_built() -> None:
    found = record("tf", KerasNested())
    assert [call.path for call in found.calls] == [
        "trunk/inner", "_hidden", "blocks/0/inner", "blocks/1/0", "blocks/1/1", "heads/a",
        "trunk/inner#2", "heads/b",
    ]  # fmt: skip
    assert all(call.output_gradient is not None for call in found.calls)
    assert set(found.output) == {"a", "b"}


def test_layers_in_plain_lists_of_torch_are_recorded_as_unregistered() -> None:
    class Lost(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(3, 3), nn.Linear(3, 3)]

        def forward(self, x: Any) -> Any:
            return self.layers[1](self.layers[0](x))

    assert paths("torch", Lost()) == ["unregistered/dense", "unregistered/dense#2"]


def functional() -> Any:
    x = keras.Input((3,))
    shared = keras.layers.Dense(3, name="shared")
    y = keras.layers.Dense(3)(shared(x))
    z = keras.layers.ReLU()(shared(y))
    return keras.Model(x, [keras.layers.Dense(2)(z), keras.ops.tanh(z)])


def test_functional_models_are_named_alike_each_time() -> None:
    expected = ["shared", "dense", "shared#2", "re_lu", "dense_1"]
    assert paths("tf", functional()) == expected
    assert paths("tf", functional()) == expected


def test_sequential_models_nest() -> None:
    inner = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(3)], name="inner")
    model = keras.Sequential([keras.Input((3,)), inner, keras.layers.Dense(2)])
    assert paths("tf", model) == ["inner/dense", "inner/dense_1", "dense"]


def test_functional_models_with_several_inputs() -> None:
    a, b = keras.Input((3,)), keras.Input((2,))
    model = keras.Model([a, b], keras.layers.Dense(2)(keras.layers.Concatenate()([a, b])))
    found = record("tf", model, X, X[:, :2])
    assert [call.path for call in found.calls] == ["concatenate", "dense"]
    assert [x.shape for x in found.calls[0].inputs] == [(5, 3), (5, 2)]
    assert set(found.input_gradients) == {"0", "1"}


def test_tf_modules_and_keras_layers_inside_them() -> None:
    class Linear(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(tf.ones((3, 3)))

        def __call__(self, x: Any) -> Any:
            return x @ self.w

    class Policy(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = Linear()
            self.rest = [Linear(), keras.layers.Dense(2)]
            self.rest[1].build((None, 3))

        @tf.function
        def __call__(self, x: Any) -> Any:
            return self.rest[1](self.rest[0](self.first(x)))

    policy = Policy()
    policy(tf.constant(X, tf.float32))  # traced before: recording must see through it
    found = record("tf", policy)
    assert [call.path for call in found.calls] == ["first", "rest/0", "rest/1"]
    assert list(found.parameter_gradients) == [
        "first/w",
        "rest/0/w",
        "rest/1/kernel",
        "rest/1/bias",
    ]
    assert all(g is not None for g in found.parameter_gradients.values())


def test_tf_keras_models() -> None:
    tf_keras = pytest.importorskip("tf_keras")
    model = tf_keras.Sequential([tf_keras.layers.Dense(4), tf_keras.layers.Dense(2)])
    model.build((None, 3))
    found = record("tf", model)
    assert [call.path for call in found.calls] == ["dense", "dense_1"]
    assert all(call.kind == "dense" for call in found.calls)
    assert list(found.parameter_gradients) == [
        "dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias",
    ]  # fmt: skip
    assert all(call.output_gradient is not None for call in found.calls)


def activations() -> list[Any]:
    return ["relu", keras.activations.tanh, keras.layers.LeakyReLU()]


@pytest.mark.parametrize("activation", activations())
def test_a_fused_activation_is_seen_before_and_after(activation: Any) -> None:
    layer = keras.layers.Dense(4, activation=activation)
    layer.build((None, 3))
    plain = X.astype(np.float32) @ layer.kernel.numpy() + layer.bias.numpy()
    before, after = record("tf", layer).calls
    assert (before.path, after.path) == ("dense", "dense/activation")
    assert (before.fused, after.fused) == (False, True)
    assert np.allclose(before.output, plain)
    assert np.array_equal(after.inputs[0], before.output)
    assert np.array_equal(after.output, layer(X.astype(np.float32)).numpy())
    assert np.array_equal(after.output_gradient, np.ones((5, 4)))
    slope = after.replay_gradients([before.output], after.output_gradient).inputs[0]
    assert np.allclose(before.output_gradient, slope)
    again = before.replay([X.astype(np.float32)])
    assert np.array_equal(again, before.output)
    assert layer.activation is vars(layer)["activation"]
    assert getattr(layer.activation, "__name__", "") != "split"


def test_linear_activations_and_recurrent_ones_are_not_split() -> None:
    assert paths("tf", keras.layers.Dense(2)) == ["dense"]
    sequence = np.random.default_rng(0).normal(size=(5, 4, 3))
    assert paths("tf", keras.layers.LSTM(2), sequence) == ["lstm"]


def test_the_activation_of_a_recurrent_cell_is_its_own_affair() -> None:
    class Loop(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.cell = keras.layers.LSTMCell(2)
            self.cell.build((None, 3))
            self.built = True

        def call(self, x: Any) -> Any:
            return self.cell(x, [tf.zeros((5, 2)), tf.zeros((5, 2))])[0]

    assert paths("tf", Loop()) == ["cell"]


def test_no_gradient_reaches_what_hangs_on_frozen_weights_alone() -> None:
    embedding, dense = keras.layers.Embedding(5, 4), keras.layers.Dense(2)
    model = keras.Sequential([keras.Input((3,), dtype="int64"), embedding, dense])
    embedding.trainable = False
    frozen = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 2))
    frozen[0].weight.requires_grad_(False)
    for side, module in (("torch", frozen), ("tf", model)):
        calls = record(side, module, np.array([[1, 2, 2]])).calls
        assert [call.output_gradient is None for call in calls] == [True, False]


def test_an_in_place_activation_does_not_change_what_was_recorded() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 2))
    found = record("torch", model)
    dense, relu = found.calls[:2]
    assert dense.output.min() < 0
    assert np.array_equal(relu.inputs[0], dense.output)
    assert np.array_equal(relu.output, np.maximum(dense.output, 0))
    # the gradient of what the dense layer returned, not of what became of it
    assert np.array_equal(dense.output_gradient, relu.output_gradient * (dense.output > 0))
    alone = relu.replay_gradients(relu.inputs, relu.output_gradient)
    assert np.array_equal(alone.inputs[0], dense.output_gradient)


@pytest.mark.parametrize("side", ["torch", "tf"])
def test_local_gradients_of_a_layer_used_twice_are_its_own(side: str) -> None:
    class Torch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.a(torch.tanh(self.a(x)))

    class Keras(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.a = keras.layers.Dense(3)

        def call(self, x: Any) -> Any:
            return self.a(tf.tanh(self.a(x)))

    found = record(side, Torch() if side == "torch" else Keras())
    total = found.parameter_gradients["a/kernel"]
    parts = [
        call.replay_gradients(call.inputs, call.output_gradient).parameters["kernel"]
        for call in found.calls
    ]
    assert [call.path for call in found.calls] == ["a", "a#2"]
    assert np.allclose(parts[0] + parts[1], total, atol=1e-6)
    assert not np.allclose(parts[0], total)


@pytest.mark.parametrize("side", ["torch", "tf"])
def test_several_outputs_keep_their_structure(side: str) -> None:
    sequence = np.random.default_rng(0).normal(size=(5, 4, 3))
    if side == "torch":
        module: Any = nn.LSTM(3, 2, batch_first=True)
    else:
        module = keras.layers.LSTM(2, return_sequences=True, return_state=True)
    (call,) = record(side, module, sequence).calls
    flat = tf.nest.flatten(call.output)
    assert [a.shape[-1] for a in flat] == [2, 2, 2]
    assert [g.shape for g in tf.nest.flatten(call.output_gradient)] == [a.shape for a in flat]


@pytest.mark.parametrize(
    ("side", "make"),
    [
        ("torch", lambda: nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 2))),
        ("tf", lambda: keras.Sequential([keras.layers.Dropout(0.5), keras.layers.Dense(2)])),
    ],
)
def test_training_mode_is_a_choice(side: str, make: Callable[[], Any]) -> None:
    for training in (False, True):
        call = record(side, make(), training=training).calls[0]
        assert np.array_equal(call.output, call.inputs[0]) is not training


def test_torch_modes_are_put_back_layer_by_layer() -> None:
    model = nn.Sequential(nn.Dropout(), nn.Linear(3, 2))
    model[0].eval()
    record("torch", model)
    assert [m.training for m in model.modules()] == [True, False, True]


@pytest.mark.parametrize("side", ["torch", "tf"])
def test_nothing_stays_wrapped_even_after_an_exception(side: str) -> None:
    class TorchFails(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ZeroDivisionError

    class KerasFails(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            raise ZeroDivisionError

    owner = nn.Module if side == "torch" else keras.layers.Layer
    before = vars(owner)["__call__"]
    module: Any = TorchFails() if side == "torch" else KerasFails()
    module.built = True
    with pytest.raises(ZeroDivisionError):
        record(side, module)
    assert vars(owner)["__call__"] is before
    assert not tf.config.functions_run_eagerly()


def test_integer_inputs_have_no_gradient() -> None:
    tokens = np.array([[1, 2, 2]])
    for side, module in (("torch", nn.Embedding(5, 4)), ("tf", keras.layers.Embedding(5, 4))):
        found = record(side, module, tokens)
        assert found.input_gradients == {}
        (gradient,) = found.parameter_gradients.values()
        assert gradient is not None
        assert gradient[:, 0].tolist() == [0, 1, 2, 0, 0]


def test_frozen_parameters_have_no_entry() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    model[0].weight.requires_grad_(False)
    assert list(record("torch", model).parameter_gradients) == ["0/bias", "1/kernel", "1/bias"]
    frozen = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3), keras.layers.Dense(2)])
    frozen.layers[0].trainable = False
    assert list(record("tf", frozen).parameter_gradients) == ["dense_1/kernel", "dense_1/bias"]
