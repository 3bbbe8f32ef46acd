"""The module check finds a planted difference at the entry where it is, and nowhere before."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from torch import nn

from parity.backends import get_backend
from parity.backends.base import LayerCall, ModuleRecord
from parity.checks.module import ModuleCheck
from parity.component import Side
from parity.errors import InvalidInput, TransferError
from parity.report import Report, build_report
from parity.verdict import Verdict

B = 13
SIZES = (3, 11, 11, 2)  # l2 is square on purpose: there a transposed kernel fits
LAYERS = ("l1", "l2", "l3")


class TorchNet(nn.Module):
    """Three dense layers; ``between`` runs after each but the last, with the layer's number."""

    def __init__(self, between: Callable[[int, Any], Any] = lambda _, x: torch.relu(x)) -> None:
        super().__init__()
        for name, fan_in, fan_out in zip(LAYERS, SIZES[:-1], SIZES[1:], strict=True):
            setattr(self, name, nn.Linear(fan_in, fan_out, dtype=torch.float64))
        self.between = between

    def forward(self, x: Any) -> Any:
        x = self.between(1, self.l1(x))
        x = self.between(2, self.l2(x))
        return self.l3(x)


class KerasNet(keras.Model):
    def __init__(
        self, between: Callable[[int, Any], Any] = lambda _, x: tf.nn.relu(x), dense: Any = None
    ) -> None:
        super().__init__(dtype="float64")
        for name, fan_in, fan_out in zip(LAYERS, SIZES[:-1], SIZES[1:], strict=True):
            make = dense if dense is not None and name == "l2" else keras.layers.Dense
            layer = make(fan_out, dtype="float64")
            layer.build((None, fan_in))
            setattr(self, name, layer)
        self.between = between
        self.built = True

    def call(self, x: Any) -> Any:
        x = self.between(1, self.l1(x))
        x = self.between(2, self.l2(x))
        return self.l3(x)


class ReferenceNet:
    """The same in NumPy, backwards by hand."""

    def __init__(self) -> None:
        self.parameters: dict[str, np.ndarray] = {}
        for name, fan_in, fan_out in zip(LAYERS, SIZES[:-1], SIZES[1:], strict=True):
            self.parameters[f"{name}/kernel"] = np.zeros((fan_in, fan_out))
            self.parameters[f"{name}/bias"] = np.zeros(fan_out)

    def call_layer(self, path: str, inputs: Any) -> np.ndarray:
        return inputs[0] @ self.parameters[f"{path}/kernel"] + self.parameters[f"{path}/bias"]

    def layer_vjp(self, path: str, inputs: Any, gradient: np.ndarray) -> Any:
        (x,) = inputs
        of_parameters = {"kernel": x.T @ gradient, "bias": gradient.sum(axis=0)}
        return [gradient @ self.parameters[f"{path}/kernel"].T], of_parameters

    def record(self, inputs: Any, cotangents: Any) -> ModuleRecord:
        (x,) = inputs
        calls: list[LayerCall] = []
        for name in LAYERS:
            x = np.maximum(x, 0.0) if calls else x
            calls.append(LayerCall(name, "dense", [x], self.call_layer(name, [x])))
            x = calls[-1].output
        gradient, gradients = cotangents("value", x.shape), {}
        for call in reversed(calls):
            call.output_gradient = gradient
            (of_input,), own = self.layer_vjp(call.path, call.inputs, gradient)
            gradients.update({f"{call.path}/{name}": g for name, g in own.items()})
            gradient = of_input * (call.inputs[0] > 0.0)
        return ModuleRecord(x, calls, {"0": of_input}, gradients)


def run(dtype: str = "float64", **builders: Callable[[], Any]) -> Report:
    sides = {}
    for name, builder in builders.items():
        impl = SimpleNamespace(make_net=lambda config, *, dtype, device, make=builder: make())
        sides[name] = Side(name, impl, get_backend(name), dtype)  # type: ignore[arg-type]
    check = ModuleCheck(
        name="make_net", case="c", config=None, inputs=lambda rng: [rng.normal(size=(B, 3))]
    )
    recording = check.record(sides)
    return build_report(recording.traces, problems=recording.problems, dtype=dtype)


def names(report: Report) -> list[str]:
    return [entry.name for entry in report.failing]


def test_every_layer_is_recorded_forwards_backwards_and_on_its_own() -> None:
    report = run(torch=TorchNet, tf=KerasNet, reference=ReferenceNet)
    assert report.verdict is Verdict.AGREE
    assert [entry.name for entry in report.entries] == [
        *(
            f"{kind}/{name}"
            for layer in LAYERS
            for kind, name in (
                ("forward", f"{layer}/input"),
                ("forward", f"{layer}/output"),
                ("local", f"{layer}/output"),
            )
        ),
        "output/value",
        *(
            f"{kind}/{name}"
            for layer in reversed(LAYERS)
            for kind, name in (
                ("grad_output", layer),
                ("local_grad", f"{layer}/input"),
                ("local_grad", f"{layer}/kernel"),
                ("local_grad", f"{layer}/bias"),
                ("grad", f"{layer}/kernel"),
                ("grad", f"{layer}/bias"),
            )
        ),
        "grad_input/0",
    ]
    assert all(len(entry.differences) == 3 for entry in report.entries)
    worst = report.worst
    assert worst is not None
    assert 0 < worst.max_abs < 1e-13


def test_without_layer_vjp_local_gradients_are_left_out_on_every_side() -> None:
    class Plain(ReferenceNet):
        layer_vjp_hidden = ReferenceNet.layer_vjp

        def __getattribute__(self, name: str) -> Any:
            if name == "layer_vjp" and not object.__getattribute__(self, "__dict__").get("open"):
                raise AttributeError(name)
            return object.__getattribute__(self, name)

        def record(self, inputs: Any, cotangents: Any) -> ModuleRecord:
            self.open = True
            try:
                return super().record(inputs, cotangents)
            finally:
                self.open = False

    report = run(torch=TorchNet, tf=KerasNet, reference=Plain)
    assert report.verdict is Verdict.AGREE
    assert not any(entry.name.startswith("local_grad/") for entry in report.entries)


class Scaled(keras.layers.Dense):
    """One layer computes something else with the same weights."""

    def call(self, x: Any) -> Any:
        return super().call(x) * 1.001


class Transposed(keras.layers.Dense):
    def call(self, x: Any) -> Any:
        return x @ tf.transpose(self.kernel) + self.bias


@pytest.mark.parametrize("dense", [Scaled, Transposed])
def test_a_wrong_layer_is_wrong_on_its_own(dense: Any) -> None:
    report = run(torch=TorchNet, tf=lambda: KerasNet(dense=dense))
    assert report.first_divergence is not None
    assert report.first_divergence.name == "forward/l2/output"
    local = [name for name in names(report) if name.startswith("local/")]
    assert local == ["local/l2/output"]


def test_plain_code_between_layers_is_blamed_on_no_layer() -> None:
    leaky = lambda i, x: tf.nn.leaky_relu(x, 0.01) if i == 1 else tf.nn.relu(x)  # noqa: E731
    report = run(torch=TorchNet, tf=lambda: KerasNet(leaky))
    assert report.first_divergence is not None
    assert report.first_divergence.name == "forward/l2/input"
    assert not [n for n in names(report) if n.startswith(("local/", "local_grad/"))]


@pytest.mark.parametrize("place", [1, 2])
def test_a_stop_gradient_on_one_side_shows_in_the_backward_pass_only(place: int) -> None:
    stopped = lambda i, x: torch.relu(x.detach() if i == place else x)  # noqa: E731
    leaking = lambda i, x: tf.nn.relu(tf.stop_gradient(x) if i == place else x)  # noqa: E731
    for report in (
        run(torch=lambda: TorchNet(stopped), tf=KerasNet),
        run(torch=TorchNet, tf=lambda: KerasNet(leaking)),
    ):
        assert report.first_divergence is not None
        assert report.first_divergence.name == f"grad_output/l{place}"
        below = [n for n in names(report) if n.startswith("grad_output/")]
        assert below == [f"grad_output/l{i}" for i in range(place, 0, -1)]


def test_a_wrong_gradient_inside_a_layer_is_wrong_on_its_own() -> None:
    class HalfDetached(keras.layers.Dense):
        def call(self, x: Any) -> Any:
            return super().call(0.5 * x + 0.5 * tf.stop_gradient(x))

    report = run(torch=TorchNet, tf=lambda: KerasNet(dense=HalfDetached))
    assert report.first_divergence is not None
    assert report.first_divergence.name == "local_grad/l2/input"
    assert [n for n in names(report) if n.startswith("local")] == ["local_grad/l2/input"]


def test_the_reference_says_who_is_wrong() -> None:
    report = run(torch=TorchNet, tf=lambda: KerasNet(dense=Scaled), reference=ReferenceNet)
    entry = report.first_divergence
    assert entry is not None
    agreeing = [d.sides for d in entry.differences if d.agrees]
    assert agreeing == [("torch", "reference")]


def test_layers_that_one_side_lacks_are_unmatched_not_paired() -> None:
    class WithLayers(TorchNet):
        def __init__(self) -> None:
            super().__init__()
            self.relu = nn.ReLU()
            self.between = lambda _, x: self.relu(x)

    report = run(torch=WithLayers, tf=KerasNet)
    assert report.verdict is Verdict.DIVERGE
    lacking = {p.name for p in report.problems if p.kind == "unmatched"}
    assert {"forward/relu/input", "forward/relu#2/output", "grad_output/relu"} <= lacking
    assert all("relu" in name for name in lacking)


def test_another_order_of_the_same_layers_is_a_finding() -> None:
    class Crossed(KerasNet):
        def call(self, x: Any) -> Any:
            self.l2(tf.ones((B, SIZES[1]), tf.float64))
            return super().call(x)

    class Swapped(nn.Module):
        def __init__(self, *order: str) -> None:
            super().__init__()
            self.a, self.b = (nn.Linear(3, 3, dtype=torch.float64) for _ in "ab")
            self.order = order

        def forward(self, x: Any) -> Any:
            for name in self.order:
                x = getattr(self, name)(x)
            return x

    report = run(torch=TorchNet, tf=Crossed)
    assert any(p.kind == "unmatched" and p.name.startswith("forward/l2#2") for p in report.problems)
    impls = {
        name: Side(
            name,
            SimpleNamespace(make_net=lambda *_, order=order, **__: Swapped(*order)),  # type: ignore[arg-type]
            get_backend("torch"),
            "float64",
        )
        for name, order in (("torch", "ab"), ("other", "ba"))
    }
    check = ModuleCheck(
        name="make_net", case="c", config=None, inputs=lambda rng: [rng.normal(size=(B, 3))]
    )
    (problem,) = check.record(impls).problems
    assert (problem.kind, problem.details) == ("order", {"torch": "a, b", "other": "b, a"})


def test_a_layer_that_refuses_the_input_is_a_finding() -> None:
    class Strict(keras.layers.Dense):
        def call(self, x: Any) -> Any:
            if x.shape[0] != 2 * B:
                raise ValueError("planted")
            return super().call(x)

    def doubled(i: int, x: Any) -> Any:
        return tf.concat([x, x], axis=0) if i == 1 else tf.nn.relu(x[:B])

    report = run(torch=TorchNet, tf=lambda: KerasNet(doubled, dense=Strict))
    refused = [p for p in report.problems if p.kind == "layer-error"]
    assert [p.name for p in refused] == ["local/l2/output", "local_grad/l2"]
    assert "planted" in refused[0].details["error"]
    assert report.verdict is Verdict.DIVERGE


def test_weights_without_a_partner_stop_the_check() -> None:
    class Extra(KerasNet):
        def __init__(self) -> None:
            super().__init__()
            self.l4 = keras.layers.Dense(2, dtype="float64")
            self.l4.build((None, 2))

    with pytest.raises(TransferError, match=r"l4/kernel .*only in the target"):
        run(torch=TorchNet, tf=Extra)


def test_dead_layers_make_the_check_invalid() -> None:
    dead = lambda _, x: 0.0 * x  # noqa: E731
    assert run(torch=lambda: TorchNet(dead), tf=lambda: KerasNet(dead)).verdict is Verdict.INVALID


def test_layers_are_recorded_in_eager_mode_only() -> None:
    with pytest.raises(InvalidInput, match="mode eager only"):
        ModuleCheck(name="n", case="c", config=None, inputs=lambda _: [], modes=("eager", "xla"))


def test_outputs_that_no_side_uses_have_no_gradient_entry() -> None:
    class Torch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l1 = nn.Linear(3, 11, dtype=torch.float64)
            self.unused = nn.Tanh()

        def forward(self, x: Any) -> Any:
            self.unused(x)
            return self.l1(x)

    class Keras(keras.Model):
        def __init__(self) -> None:
            super().__init__(dtype="float64")
            self.l1 = keras.layers.Dense(11, dtype="float64")
            self.l1.build((None, 3))
            self.unused = keras.layers.Activation("tanh", dtype="float64")
            self.built = True

        def call(self, x: Any) -> Any:
            self.unused(x)
            return self.l1(x)

    report = run(torch=Torch, tf=Keras)
    assert report.verdict is Verdict.AGREE
    assert [e.name for e in report.entries if e.name.startswith("grad_output/")] == [
        "grad_output/l1"
    ]


def test_a_fused_activation_is_compared_where_all_sides_have_one_and_never_missed() -> None:
    class Fused(keras.Model):
        def __init__(self, activation: str) -> None:
            super().__init__(dtype="float64")
            for name, size, fan_in in (("l1", 11, 3), ("l2", 2, 11)):
                act = activation if name == "l1" else None
                layer = keras.layers.Dense(size, activation=act, dtype="float64")
                layer.build((None, fan_in))
                setattr(self, name, layer)
            self.built = True

        def call(self, x: Any) -> Any:
            return self.l2(self.l1(x))

    class Torch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l1 = nn.Linear(3, 11, dtype=torch.float64)
            self.l2 = nn.Linear(11, 2, dtype=torch.float64)

        def forward(self, x: Any) -> Any:
            return self.l2(torch.relu(self.l1(x)))

    assert run(torch=Torch, tf=lambda: Fused("relu")).verdict is Verdict.AGREE
    wrong = run(torch=Torch, tf=lambda: Fused("tanh")).first_divergence
    assert wrong is not None
    assert wrong.name == "forward/l2/input"
