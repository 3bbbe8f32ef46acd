"""Checks of large pairs: what they hold, and on how much of the inputs float64 speaks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parity
from parity.debug import evidence
from parity.verdict import Verdict

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

ROWS = 40


@pytest.fixture(autouse=True)
def _everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "AFFORDABLE", 0)


def torch_net() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(6, 50), torch.nn.LayerNorm(50), torch.nn.ReLU(), torch.nn.Linear(50, 3)
    )


def tf_net(epsilon: float = 1e-5) -> Any:
    return keras.Sequential(
        [
            keras.layers.Input((6,)),
            keras.layers.Dense(50),
            keras.layers.LayerNormalization(epsilon=epsilon),
            keras.layers.ReLU(),
            keras.layers.Dense(3),
        ]
    )


def inputs() -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(1).standard_normal((ROWS, 6)).astype(np.float32)}


def test_float64_speaks_on_the_rows_that_are_furthest_apart() -> None:
    report = parity.check(torch_net, tf_net, inputs())
    assert report.verdict is Verdict.AGREE
    rows = report.subject["float64_rows"]
    assert len(rows) == evidence.ROWS and rows == sorted(set(rows)) and rows[-1] < ROWS
    outputs = next(e for e in report.entries if e.name.startswith("output/")).worst
    assert outputs.worst is not None and outputs.worst[0] in rows
    assert report.evidence is not None
    shapes = {e.name: e.differences[0].shapes[0] for e in report.evidence.entries}
    assert shapes[outputs.name] == (evidence.ROWS, 3)
    assert f"float64 evidence on {evidence.ROWS} of {ROWS} rows" in str(report)


def test_a_latent_difference_in_every_row_is_found_and_all_rows_run() -> None:
    report = parity.check(torch_net, lambda: tf_net(epsilon=1.001e-5), inputs())
    assert report.verdict is Verdict.LATENT
    assert report.subject["place"] == "1" and "float64_rows" not in report.subject
    assert report.evidence is not None
    assert report.evidence.entries[0].worst.shapes[0] == (ROWS, 6)


class _Bent(keras.layers.Layer):  # type: ignore[misc]
    """Off by a hair in the one row that holds the largest value."""

    def call(self, x: Any) -> Any:
        return tf.where(x > 40.0, x * tf.cast(1 + 4e-7, x.dtype), x)


def test_a_difference_of_one_row_that_float32_shows_is_not_called_rounding() -> None:
    given = inputs()
    given["x"][29] *= 60.0

    def torch_side() -> Any:
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(6, 50), torch.nn.Identity())

    def tf_side() -> Any:
        return keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(50), _Bent()])

    report = parity.check(torch_side, tf_side, given)
    assert report.verdict in (Verdict.DIVERGE, Verdict.LATENT)


def test_where_float32_is_too_far_apart_for_rounding_all_rows_run() -> None:
    wrong = parity.check(torch_net, lambda: tf_net(epsilon=1e-1), inputs())
    assert wrong.verdict is Verdict.DIVERGE and "float64_rows" not in wrong.subject
    assert wrong.causes[0]["cause"] == "norm-epsilon"


def test_a_model_that_takes_no_other_number_of_rows_runs_on_all() -> None:
    class Fixed(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.l1 = torch.nn.Linear(6, 3)

        def forward(self, x: Any) -> Any:
            return self.l1(x.reshape(ROWS, 6))

    class FixedTf(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.l1 = keras.layers.Dense(3)

        def call(self, x: Any) -> Any:
            return self.l1(tf.reshape(x, (ROWS, 6)))

    report = parity.check(Fixed, FixedTf, inputs())
    assert report.verdict is Verdict.AGREE and "float64_rows" not in report.subject
    assert report.evidence is not None and report.evidence.verdict is Verdict.AGREE


def test_a_small_pair_runs_on_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "AFFORDABLE", 1 << 31)
    report = parity.check(torch_net, tf_net, inputs())
    assert report.passed and "float64_rows" not in report.subject


def test_torch_weights_are_not_held_in_float64_while_the_tf_side_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from parity.backends.tf_backend import BACKEND
    from parity.debug import wide

    twins: list[Any] = []
    held: list[int] = []
    make, record = wide.torch_twin, type(BACKEND).record_module

    def made(module: Any) -> Any:
        twins.append(make(module))
        return twins[-1]

    def recorded(self: Any, module: Any, given: Any, **options: Any) -> Any:
        if options["dtype"] == "float64":
            parameters = [p for twin in twins for p in twin.module.parameters()]
            held.append(sum(p.untyped_storage().nbytes() for p in parameters))
        return record(self, module, given, **options)

    monkeypatch.setattr(wide, "torch_twin", made)
    monkeypatch.setattr(type(BACKEND), "record_module", recorded)
    one = torch.nn.Sequential(*(torch.nn.Linear(300, 300) for _ in range(3)))
    other = keras.Sequential([keras.layers.Input((300,))])
    for _ in range(3):
        other.add(keras.layers.Dense(300))
    before = [p.detach().clone() for p in one.parameters()]
    data = {"x": np.random.default_rng(0).standard_normal((20, 300)).astype(np.float32)}
    assert parity.check(one, other, data).passed
    assert held and max(held) < 300 * 300 * 8  # not one of the three kernels
    assert all(torch.equal(a, b) for a, b in zip(before, one.parameters(), strict=True))


class _Doubled(keras.layers.Dense):  # type: ignore[misc]
    """The same values forwards, twice the gradient backwards."""

    def call(self, x: Any) -> Any:
        return super().call(2.0 * x - tf.stop_gradient(x))


def test_the_weights_are_back_where_the_sides_differ() -> None:
    def torch_side() -> Any:
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.Linear(300, 300))

    def tf_side() -> Any:
        last = _Doubled(300)
        return keras.Sequential([keras.layers.Input((300,)), keras.layers.Dense(300), last])

    data = {"x": np.random.default_rng(0).standard_normal((20, 300)).astype(np.float32)}
    report = parity.check(torch_side, tf_side, data)
    assert report.verdict is Verdict.DIVERGE
    # each torch layer's backward pass is taken alone: with its weights away, layer 0 differs too
    assert report.subject["faults"] == ["grad/1"]


def test_large_gradients_that_agree_are_left_out_of_the_evidence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(evidence, "LARGE", 6 * 50)
    report = parity.check(torch_net, tf_net, inputs())
    assert report.verdict is Verdict.AGREE and report.evidence is not None
    names = {entry.name for entry in report.evidence.entries}
    assert {"grad/0/kernel", "grad/0/bias", "grad/3/kernel"} <= {e.name for e in report.entries}
    assert "grad/0/kernel" not in names
    assert {"grad/0/bias", "grad/1/gamma", "grad/3/kernel", "grad_output/0"} <= names
    assert "without 1 large gradients that agree" in " ".join(str(report).split())


def test_a_large_gradient_in_doubt_is_in_the_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    from parity.tolerance import DEFAULTS, Tolerance

    monkeypatch.setattr(evidence, "LARGE", 6 * 50)
    # narrower than float32 can hold here, so that every gradient is over it by rounding
    monkeypatch.setitem(DEFAULTS, "float32", Tolerance(1e-9, "too narrow on purpose"))
    report = parity.check(torch_net, tf_net, inputs())
    assert report.verdict is Verdict.ROUNDING and report.evidence is not None
    assert "float64_rows" in report.subject
    assert "grad/0/kernel" in {entry.name for entry in report.failing}
    assert "grad/0/kernel" in {entry.name for entry in report.evidence.entries}
