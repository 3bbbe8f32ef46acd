"""Weight transfer: exact, strict, all or nothing, by layer kind and never by shape."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from parity import weights
from parity.errors import InvalidInput, TransferError
from parity.layouts import LAYOUTS

SIZES = (3, 11, 5, 2)


class TorchNet(torch.nn.Module):
    def __init__(self, sizes: tuple[int, ...] = SIZES, *, dtype: Any = torch.float32) -> None:
        super().__init__()
        for i, (fan_in, fan_out) in enumerate(pairwise(sizes), start=1):
            setattr(self, f"l{i}", torch.nn.Linear(fan_in, fan_out, dtype=dtype))


class KerasNet(keras.Model):
    def __init__(self, sizes: tuple[int, ...] = SIZES, *, dtype: str = "float32") -> None:
        super().__init__(dtype=dtype)
        for i, (fan_in, fan_out) in enumerate(pairwise(sizes), start=1):
            layer = keras.layers.Dense(fan_out, dtype=dtype)
            layer.build((None, fan_in))
            setattr(self, f"l{i}", layer)
        self.built = True

    def call(self, x: Any) -> Any:
        return self.l3(self.l2(self.l1(x)))


def reference(sizes: tuple[int, ...] = SIZES) -> Any:
    parameters = {}
    for i, (fan_in, fan_out) in enumerate(pairwise(sizes), start=1):
        parameters[f"l{i}/kernel"] = np.zeros((fan_in, fan_out))
        parameters[f"l{i}/bias"] = np.zeros(fan_out)
    return SimpleNamespace(parameters=parameters, record=None, call_layer=None)


def equal(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return list(a) == list(b) and all(
        a[k].dtype == b[k].dtype and a[k].tobytes() == b[k].tobytes() for k in a
    )


def test_names_shapes_and_layout_are_canonical() -> None:
    shapes = {name: array.shape for name, array in weights.to_numpy(TorchNet()).items()}
    assert shapes == {
        "l1/kernel": (3, 11),
        "l1/bias": (11,),
        "l2/kernel": (11, 5),
        "l2/bias": (5,),
        "l3/kernel": (5, 2),
        "l3/bias": (2,),
    }
    assert {n: a.shape for n, a in weights.to_numpy(KerasNet()).items()} == shapes


def test_torch_and_keras_compute_the_same_afterwards() -> None:
    source, target = TorchNet(), KerasNet()
    weights.copy(source, target)
    x = np.random.default_rng(0).normal(size=(13, 3)).astype(np.float32)
    with torch.no_grad():
        left = source.l3(source.l2(source.l1(torch.tensor(x)))).numpy()
    assert np.abs(left - target(x).numpy()).max() < 1e-6


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_round_trip_is_bit_exact(dtype: str) -> None:
    source = TorchNet(dtype=getattr(torch, dtype))
    middle, last = KerasNet(dtype=dtype), TorchNet(dtype=getattr(torch, dtype))
    weights.copy(source, middle)
    weights.copy(middle, last)
    assert equal(weights.to_numpy(source), weights.to_numpy(last))
    assert equal(weights.to_numpy(source), weights.to_numpy(middle))


@given(
    values=arrays(
        np.float32, (3, 11), elements=st.floats(width=32, allow_nan=True, allow_infinity=True)
    )
)
def test_every_bit_pattern_survives(values: np.ndarray) -> None:
    source, target = _lone()
    source.weight.data.copy_(torch.from_numpy(values.T.copy()))
    weights.copy(source, target)
    assert target.kernel.numpy().tobytes() == source.weight.detach().numpy().T.tobytes()


_LONE: list[Any] = []


def _lone() -> list[Any]:
    if not _LONE:
        target = keras.layers.Dense(11)
        target.build((None, 3))
        _LONE.extend([torch.nn.Linear(3, 11), target])
    return _LONE


def test_float32_into_the_float64_reference_is_exact_and_back() -> None:
    source, middle, last = TorchNet(), reference(), TorchNet()
    weights.copy(source, middle)
    assert middle.parameters["l1/kernel"].dtype == np.float64
    weights.copy(middle, last)
    assert equal(weights.to_numpy(source), weights.to_numpy(last))


def test_digits_are_never_lost_in_silence() -> None:
    source, target = TorchNet(dtype=torch.float64), KerasNet()
    before = weights.to_numpy(target)
    with pytest.raises(TransferError, match=r"l1/kernel: float64 values do not fit float32"):
        weights.copy(source, target)
    assert equal(before, weights.to_numpy(target))


def test_values_are_copied_not_shared() -> None:
    source, target = TorchNet(), TorchNet()
    weights.copy(source, target)
    taken = weights.to_numpy(source)
    with torch.no_grad():
        source.l1.weight.zero_()
    assert np.any(weights.to_numpy(target)["l1/kernel"])
    assert np.any(taken["l1/kernel"])


def test_unmatched_tensors_of_both_sides_are_listed_and_nothing_is_written() -> None:
    source, target = TorchNet(), KerasNet()
    source.fc = source.l3
    del source.l3
    before = weights.to_numpy(target)
    with pytest.raises(TransferError) as caught:
        weights.copy(source, target)
    text = str(caught.value)
    assert "fc/kernel (5, 2): only in the source; the nearest unmatched" in text
    assert "l3/kernel (5, 2): only in the target" in text
    assert "fc/bias (2,): only in the source" in text
    assert "l3/bias (2,): only in the target" in text
    assert "l1" not in text
    assert equal(before, weights.to_numpy(target))
    weights.copy(source, target, names={"fc/kernel": "l3/kernel", "fc/bias": "l3/bias"})
    assert np.array_equal(
        weights.to_numpy(target)["l3/kernel"], source.fc.weight.detach().numpy().T
    )


@pytest.mark.parametrize(
    ("names", "match"),
    [
        ({"l9/kernel": "l1/kernel"}, r"speaks of \['l9/kernel'\]"),
        ({"l1/kernel": "l2/kernel"}, "two tensors of the source would go to 'l2/kernel'"),
    ],
)
def test_names_that_do_not_fit_are_refused(names: dict[str, str], match: str) -> None:
    with pytest.raises(TransferError, match=match):
        weights.copy(TorchNet(), KerasNet(), names=names)


def test_a_transposed_shape_is_an_error_and_never_repaired() -> None:
    target = TorchNet()
    values = weights.to_numpy(target)
    values["l2/kernel"] = np.ascontiguousarray(values["l2/kernel"].T)
    with pytest.raises(
        TransferError, match=r"shape \(5, 11\) in the source, \(11, 5\)[^\n]*transpose"
    ):
        weights.load(target, values)


def test_a_reshapeable_shape_is_an_error() -> None:
    target = TorchNet()
    values = weights.to_numpy(target)
    values["l1/bias"] = values["l1/bias"].reshape(1, 11)
    with pytest.raises(TransferError, match=r"l1/bias: shape \(1, 11\)"):
        weights.load(target, values)


def test_a_square_kernel_is_transposed_by_kind() -> None:
    source, target = TorchNet((3, 3, 3, 3)), KerasNet((3, 3, 3, 3))
    weights.copy(source, target)
    moved, own = target.l2.kernel.numpy(), source.l2.weight.detach().numpy()
    assert np.array_equal(moved, own.T)
    assert not np.array_equal(moved, own)


@pytest.mark.parametrize("change", ["missing", "extra"])
def test_load_takes_all_and_no_others(change: str) -> None:
    target = KerasNet()
    values = weights.to_numpy(target)
    if change == "missing":
        values.pop("l2/bias")
    else:
        values["l4/bias"] = np.zeros(2, np.float32)
    before = weights.to_numpy(target)
    with pytest.raises(TransferError, match="l2/bias" if change == "missing" else "l4/bias"):
        weights.load(target, values)
    assert equal(before, weights.to_numpy(target))


def test_a_write_that_fails_midway_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    target = KerasNet()
    before = weights.to_numpy(target)
    values = {name: array + 1 for name, array in before.items()}
    assign, count = keras.Variable.assign, iter(range(100))

    def failing(self: Any, value: Any) -> Any:
        if next(count) == 3:
            raise MemoryError("planted")
        return assign(self, value)

    monkeypatch.setattr(keras.Variable, "assign", failing)
    with pytest.raises(MemoryError, match="planted"):
        weights.load(target, values)
    assert equal(before, weights.to_numpy(target))


def test_kinds_must_agree_whatever_the_shapes() -> None:
    class Custom(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kernel = torch.nn.Parameter(torch.zeros(3, 11))
            self.bias = torch.nn.Parameter(torch.zeros(11))

    target = keras.layers.Dense(11)
    target.build((None, 3))
    with pytest.raises(
        TransferError, match="kernel: a parameter layer in the source, dense in the"
    ):
        weights.copy(Custom(), target)


def test_a_library_layer_without_a_layout_is_refused_not_guessed() -> None:
    assert not any("Bilinear" in classes for e in LAYOUTS for classes in e.classes.values())
    with pytest.raises(TransferError, match=r"weight \(unlisted Bilinear\)"):
        weights.to_numpy(torch.nn.Bilinear(3, 5, 2))


def test_subclasses_are_of_their_library_kind() -> None:
    class MyLinear(torch.nn.Linear):
        pass

    class MyDense(keras.layers.Dense):
        pass

    target = MyDense(11)
    target.build((None, 3))
    source = MyLinear(3, 11)
    weights.copy(source, target)
    assert np.array_equal(target.kernel.numpy(), source.weight.detach().numpy().T)


def test_own_parameters_buffers_and_missing_biases() -> None:
    class Torch(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(3, 2, bias=False)
            self.log_std = torch.nn.Parameter(torch.tensor([0.5, -1.0]))
            self.register_buffer("seen", torch.tensor([1.0, 2.0, 3.0]))
            self.register_buffer("mask", torch.ones(4), persistent=False)

    class Keras(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.head = keras.layers.Dense(2, use_bias=False)
            self.head.build((None, 3))
            self.log_std = self.add_weight(shape=(2,), name="anything")
            self.seen = self.add_weight(shape=(3,), trainable=False)
            self.built = True

    source, target = Torch(), Keras()
    weights.copy(source, target)
    assert set(weights.to_numpy(target)) == {"head/kernel", "log_std", "seen"}
    assert np.array_equal(target.seen.numpy(), [1.0, 2.0, 3.0])
    assert {s.path: s.trainable for s in weights.slots(source)} == {
        s.path: s.trainable for s in weights.slots(target)
    }


def test_shared_layers_are_used_once() -> None:
    class Torch(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(3, 3)
            self.b = self.a

    assert list(weights.to_numpy(Torch())) == ["a/kernel", "a/bias"]


def test_tying_on_one_side_only_is_found() -> None:
    source, target = TorchNet((3, 3, 3, 3)), KerasNet((3, 3, 3, 3))
    source.l3.weight = source.l2.weight
    with pytest.raises(TransferError, match=r"l3/kernel .*only in the target"):
        weights.copy(source, target)


def test_tf_modules_move_too() -> None:
    class Policy(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(tf.zeros((3, 2)))
            self.layers = [tf.Variable(tf.zeros((2,)))]

    target = Policy()
    values = {"w": np.ones((3, 2), np.float32), "layers/0": np.ones(2, np.float32)}
    weights.load(target, values)
    assert equal(weights.to_numpy(target), values)


def test_an_unbuilt_model_is_refused() -> None:
    model = keras.Sequential([keras.layers.Dense(2)])
    with pytest.raises(InvalidInput, match=r"not built yet: \(the module\), dense; call"):
        weights.to_numpy(model)


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(InvalidInput, match="list is no torch"):
        weights.copy([1.0], TorchNet())


def test_every_layout_names_the_same_canonical_tensors_on_both_sides() -> None:
    for layout in LAYOUTS:
        names = [{t.name for t in layout.tensors[side]} for side in ("torch", "tf")]
        assert names[0] == names[1], layout.kind
