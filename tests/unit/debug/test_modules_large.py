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


@pytest.mark.parametrize("in_file", [False, True])
def test_the_weights_are_back_where_the_sides_differ(
    in_file: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from parity import spill

    if in_file:
        monkeypatch.setattr(spill, "LARGE", 1)
        monkeypatch.setattr(evidence, "is_large", lambda module: True)

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


class _Off(keras.layers.Dense):  # type: ignore[misc]
    """The kernel's gradient is off by less than float32 shows; in float64 it may not arrive."""

    scale, cut = 1.0, False

    def call(self, x: Any) -> Any:
        kernel = tf.convert_to_tensor(self.kernel)
        if self.cut and x.dtype == tf.float64:
            kernel = tf.stop_gradient(kernel)
        scale = tf.constant(self.scale, x.dtype)
        kernel = scale * kernel + tf.stop_gradient(kernel - scale * kernel)
        return tf.matmul(x, kernel) + self.bias


@pytest.mark.parametrize(
    ("scale", "cut", "verdict"),
    [
        (1.0, False, Verdict.ROUNDING),
        (1.0 + 1e-9, False, Verdict.DIVERGE),
        (1.0, True, Verdict.DIVERGE),
    ],
)
def test_a_gradient_that_is_made_when_it_is_compared_is_judged_like_one_that_is_kept(
    scale: float, cut: bool, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    from parity.tolerance import DEFAULTS, Tolerance

    asked: list[Any] = []
    record = evidence.Sample.__init__

    def kept(self: Any, *given: Any) -> None:
        asked.append(given[4])
        record(self, *given[:4])

    monkeypatch.setattr(evidence, "LARGE", 6 * 50)
    monkeypatch.setattr(_Off, "scale", scale)
    monkeypatch.setattr(_Off, "cut", cut)
    monkeypatch.setitem(DEFAULTS, "float32", Tolerance(1e-9, "too narrow on purpose"))

    def other() -> Any:
        layers = [_Off(50), keras.layers.LayerNormalization(epsilon=1e-5), keras.layers.ReLU()]
        return keras.Sequential([keras.layers.Input((6,)), *layers, keras.layers.Dense(3)])

    late = parity.check(torch_net, other, inputs())
    assert late.verdict is verdict
    assert ("float64_rows" in late.subject) == (verdict is Verdict.ROUNDING)
    monkeypatch.setattr(evidence.Sample, "__init__", kept)
    assert parity.check(torch_net, other, inputs()).to_json() == late.to_json()
    assert [len(paths) for paths in asked] == [1]


class _Above(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return x + 1e-9


class _AboveTf(keras.layers.Layer):  # type: ignore[misc]
    """The same number, which float32 cannot add to one."""

    def call(self, x: Any) -> Any:
        return (x + 1.000000001) - 1.0


ROW = 29
"""In which the first unit stands at the kink of ReLU."""


def kinked() -> dict[str, Any]:
    torch.manual_seed(0)
    first = torch.nn.Linear(6, 40)
    with torch.no_grad():
        first.weight[0] = torch.tensor([1.0, 0, 0, 0, 0, 0])
        first.bias[0] = -3.0
    one = torch.nn.Sequential(first, _Above(), torch.nn.ReLU(), torch.nn.Linear(40, 3))
    given = inputs()
    given["x"][ROW, 0] = 3.0
    return {"torch": one, "inputs": given}


def behind(first: Any) -> Any:
    rest = [_AboveTf, keras.layers.ReLU, lambda: keras.layers.Dense(3)]
    return lambda: keras.Sequential([keras.layers.Input((6,)), first(40), *(f() for f in rest)])


def test_a_row_at_a_kink_is_among_those_that_run_in_float64() -> None:
    pair = kinked()
    report = parity.check(pair["torch"], behind(keras.layers.Dense), pair["inputs"])
    failing = {entry.name: entry.worst.max_abs for entry in report.failing}
    assert failing["grad/0/kernel"] > 0.1 and failing["grad/0/bias"] > 0.1
    assert report.verdict is Verdict.ROUNDING
    assert ROW in report.subject["float64_rows"]
    assert len(report.subject["float64_rows"]) == evidence.ROWS


class _Forgetful(keras.layers.Dense):  # type: ignore[misc]
    """Its kernel hears nothing of one row, and nothing else differs."""

    def call(self, x: Any) -> Any:
        frozen = tf.matmul(x, tf.stop_gradient(tf.convert_to_tensor(self.kernel))) + self.bias
        row = tf.reshape(tf.range(tf.shape(x)[0]) == ROW + 1, (-1, 1))
        return tf.where(row, frozen, super().call(x))


def test_a_kernels_gradient_that_no_row_explains_is_not_called_rounding() -> None:
    pair = kinked()
    report = parity.check(pair["torch"], behind(_Forgetful), pair["inputs"])
    assert report.verdict is Verdict.DIVERGE and "float64_rows" not in report.subject
    assert report.subject["place"] == "grad/0"


@pytest.mark.parametrize("wrong", ["", "epsilon", "gradient"])
def test_what_lies_in_a_file_is_reported_alike(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from parity import spill

    def other() -> Any:
        net = tf_net(epsilon=1e-2 if wrong == "epsilon" else 1e-5)
        if wrong == "gradient":
            net.pop()
            net.add(_Doubled(3))
        return net

    written: list[int] = []
    keep = spill.Store.keep

    def counted(self: Any, array: np.ndarray) -> np.ndarray | None:
        written.append(array.size)
        return keep(self, array)

    monkeypatch.setattr(evidence, "AFFORDABLE", 1 << 31)
    monkeypatch.setattr(spill.Store, "keep", counted)
    plain = parity.check(torch_net, other, inputs()).to_json()
    assert not written
    monkeypatch.setattr(spill, "LARGE", 1)
    monkeypatch.setattr(evidence, "is_large", lambda module: True)
    assert parity.check(torch_net, other, inputs()).to_json() == plain
    assert 6 * 50 in written and ROWS * 50 in written
    assert f'"verdict": "{"diverge" if wrong else "agree"}"' in plain


def test_a_twin_that_cannot_be_made_is_told_of_a_large_pair_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Lone(keras.layers.Dense):  # type: ignore[misc]
        """Keras cannot make it again from its config."""

        def __init__(self) -> None:
            super().__init__(3)

    def net() -> Any:
        return keras.Sequential([keras.layers.Input((6,)), Lone()])

    def reports() -> dict[str, Any]:
        torch.manual_seed(0)
        report = parity.check(torch.nn.Sequential(torch.nn.Linear(6, 3)), net(), inputs())
        assert report.evidence is None and "config" in report.subject["no_float64"]["tf"]
        return {"verdict": report.verdict, "entries": report.entries}

    small = reports()
    monkeypatch.setattr(evidence, "is_large", lambda module: True)
    assert reports() == small


def test_gradients_taken_in_groups_are_those_of_images_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from parity import spill

    def torch_side() -> Any:
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 2), torch.nn.Conv2d(4, 5, 2))

    def tf_side() -> Any:
        layers = [keras.layers.Conv2D(4, 2), keras.layers.Conv2D(5, 2)]
        return keras.Sequential([keras.layers.Input((6, 7, 3)), *layers])

    images = np.random.default_rng(0).standard_normal((2, 3, 6, 7)).astype(np.float32)
    monkeypatch.setattr(evidence, "AFFORDABLE", 1 << 31)
    plain = parity.check(torch_side, tf_side, {"x": images}).to_json()
    monkeypatch.setattr(spill, "LARGE", 1)
    monkeypatch.setattr(evidence, "is_large", lambda module: True)
    assert parity.check(torch_side, tf_side, {"x": images}).to_json() == plain


def test_only_what_a_check_made_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    import gc

    counts: list[int] = []
    collect = gc.collect

    def collected(*given: int) -> int:
        counts.append(gc.get_freeze_count())
        return collect(*given)

    monkeypatch.setattr(evidence, "is_large", lambda module: True)
    monkeypatch.setattr(gc, "collect", collected)
    assert parity.check(torch_net, tf_net, inputs()).passed
    assert counts[-1] > 0 and gc.get_freeze_count() == 0
    gc.freeze()  # the user's own
    try:
        own = gc.get_freeze_count()
        assert parity.check(torch_net, tf_net, inputs()).passed
        assert gc.get_freeze_count() > own // 2  # some have died meanwhile
    finally:
        gc.unfreeze()
