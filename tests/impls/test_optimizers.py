"""Optimizers: equal to torch's stock ones, identities, traceability, state, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from impls.optimizers import config as configs
from impls.optimizers import stock
from impls.optimizers.cases import SHAPES, steps
from impls.optimizers.config import AdamConfig, RMSpropConfig, SGDConfig
from impls.optimizers.divergences import EXPLAINED, SIZE, markdown_table
from impls.optimizers.spec import COMPONENT, STOCK_DIVERGENCES
from parity.backends import get_backend, to_numpy
from parity.backends.steps import make_step, make_variable
from parity.component import Side
from parity.runner import load_siblings, planted, run_check
from parity.tolerance import DEFAULTS
from parity.verdict import Verdict

PAGE = Path(__file__).parents[2] / "docs" / "optimizers.md"
FLOAT64 = DEFAULTS["float64"].atol
SIDES = ("torch", "tf", "reference")
RUNS = [*((side, d) for side in SIDES[:2] for d in ("float32", "float64")), (SIDES[2], "float64")]
SIBLINGS = load_siblings("impls.optimizers")

#: config -> torch's stock optimizer with the same constants
STOCK_TORCH = [
    (AdamConfig(), torch.optim.Adam, {"lr": 1e-3}),
    (
        AdamConfig(0.01, 0.8, 0.95, 1e-3, 0.1),
        torch.optim.Adam,
        {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1},
    ),
    (RMSpropConfig(), torch.optim.RMSprop, {}),
    (
        RMSpropConfig(0.02, 0.9, 1e-3, 0.8, True, 0.1),
        torch.optim.RMSprop,
        {
            "lr": 0.02,
            "alpha": 0.9,
            "eps": 1e-3,
            "momentum": 0.8,
            "centered": True,
            "weight_decay": 0.1,
        },
    ),
    (SGDConfig(0.1), torch.optim.SGD, {"lr": 0.1}),
    (
        SGDConfig(0.1, 0.9, 0.3, False, 0.1),
        torch.optim.SGD,
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
    ),
    (
        SGDConfig(0.1, 0.9, nesterov=True),
        torch.optim.SGD,
        {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    ),
]
EVERY_KIND = [AdamConfig(), RMSpropConfig(momentum=0.9, centered=True), SGDConfig(0.1, 0.9, 0.3)]


def side_of(name: str, dtype: str = "float64", variant: str = "eager") -> Side:
    return Side(name, SIBLINGS[name], get_backend(name), dtype, variant)


class Run:
    """One side's optimizer on its own copy of some parameters."""

    def __init__(self, side, config, parameters):
        self.side = side
        self.parameters = {n: make_variable(side, a) for n, a in parameters.items()}
        self.optimizer = getattr(side.impl, class_of(config))(config, self.parameters)

    def tensors(self, gradients):
        backend, dtype = self.side.backend, self.side.dtype
        return {n: backend.tensor(np.asarray(g), dtype=dtype) for n, g in gradients.items()}

    def apply(self, gradients):
        self.optimizer.apply(self.tensors(gradients))
        return self

    @property
    def values(self):
        return {n: np.array(to_numpy(p)) for n, p in self.parameters.items()}


def class_of(config) -> str:
    return type(config).__name__.removesuffix("Config")


def assert_close(left, right):
    assert left.keys() == right.keys()
    for name in left:
        assert np.max(np.abs(left[name] - right[name])) <= FLOAT64, name


def assert_equal(left, right):
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], name)


def data(count=20, seed=0):
    scales = 10.0 ** np.random.default_rng(seed).uniform(-3, 1, count)
    return steps(*scales)(np.random.default_rng(seed))


@pytest.mark.parametrize("name", SIDES)
@pytest.mark.parametrize(("config", "stock_class", "options"), STOCK_TORCH)
def test_equals_torchs_stock_optimizer(name, config, stock_class, options):
    parameters, gradients = data()
    run = Run(side_of(name), config, parameters)
    stock_parameters = {n: torch.nn.Parameter(torch.tensor(a)) for n, a in parameters.items()}
    stock_optimizer = stock_class(stock_parameters.values(), **options)
    for index, step in enumerate(gradients):
        if index == 10:
            run.optimizer.set_learning_rate(0.05)
            stock_optimizer.param_groups[0]["lr"] = 0.05
        run.apply(step)
        for n, g in step.items():
            stock_parameters[n].grad = torch.tensor(g)
        stock_optimizer.step()
    assert_close(run.values, {n: to_numpy(p) for n, p in stock_parameters.items()})
    assert not np.allclose(run.values["l1/kernel"], parameters["l1/kernel"])


@pytest.mark.parametrize("entry", STOCK_DIVERGENCES, ids=lambda entry: entry.id)
def test_stock_divergence_has_its_size_and_its_formula(entry):
    found = stock.measure(entry.id)
    assert found.apart == pytest.approx(entry.size, rel=SIZE.atol)
    assert found.explained <= EXPLAINED.atol
    assert found.apart > 1000 * EXPLAINED.atol, "no difference to document"


def test_keras_adam_follows_torch_once_epsilon_is_set_anew_in_each_step():
    import keras

    parameters, gradients = data(5)
    share, decay = stock.EXACT_SHARE, stock.EXACT_DECAY
    config = AdamConfig(stock.RATE, share, decay, 1e-3)
    reference = Run(side_of("reference"), config, parameters)
    variables = {n: keras.Variable(a, dtype="float64") for n, a in parameters.items()}
    optimizer = keras.optimizers.Adam(stock.RATE, share, decay)
    for index, step in enumerate(gradients):
        optimizer.epsilon = config.epsilon * np.sqrt(1 - decay ** (index + 1))
        optimizer.apply([tf.constant(step[n]) for n in variables], list(variables.values()))
        reference.apply(step)
    assert_close({n: to_numpy(v) for n, v in variables.items()}, reference.values)


def test_the_page_shows_the_table():
    assert markdown_table() in PAGE.read_text(), f"put this into {PAGE.name}:\n{markdown_table()}"


def test_every_stock_divergence_is_measured():
    assert [entry.id for entry in STOCK_DIVERGENCES] == list(stock._MEASUREMENTS)


numbers = st.floats(-10, 10, width=32).filter(lambda x: abs(x) > 1e-3)
vectors = arrays(np.float64, 5, elements=numbers)


@pytest.mark.parametrize("name", SIDES)
class TestIdentities:
    """What must hold whatever the recursion looks like."""

    @given(g=vectors, p=vectors, count=st.integers(1, 6))
    @settings(max_examples=15, deadline=None)
    def test_adam_with_a_constant_gradient_steps_by_its_sign(self, name, g, p, count):
        """m_hat = g and v_hat = g^2 at every t: the bias corrections are exact."""
        run = Run(side_of(name), AdamConfig(0.01, epsilon=0.1), {"p": p})
        for _ in range(count):
            run.apply({"p": g})
        assert_close(run.values, {"p": p - count * 0.01 * g / (np.abs(g) + 0.1)})

    @given(g=vectors, p=vectors)
    @settings(max_examples=10, deadline=None)
    def test_rmsprop_without_memory_divides_by_the_gradient_itself(self, name, g, p):
        run = Run(side_of(name), RMSpropConfig(0.01, decay=0.0, epsilon=0.1), {"p": p})
        assert_close(run.apply({"p": g}).values, {"p": p - 0.01 * g / (np.abs(g) + 0.1)})

    @given(g=vectors, p=vectors, count=st.integers(1, 6))
    @settings(max_examples=10, deadline=None)
    def test_sgd_momentum_sums_a_geometric_series(self, name, g, p, count):
        run = Run(side_of(name), SGDConfig(0.1, momentum=0.5), {"p": p})
        for _ in range(count):
            run.apply({"p": g})
        travelled = sum(2 - 0.5**t for t in range(count))  # (1 - 0.5^(t+1)) / (1 - 0.5)
        assert_close(run.values, {"p": p - 0.1 * travelled * g})

    def test_weight_decay_alone_shrinks_geometrically(self, name):
        run = Run(side_of(name), SGDConfig(0.1, weight_decay=0.5), {"p": np.array([1.0, -3.0])})
        for _ in range(4):
            run.apply({"p": np.zeros(2)})
        assert_close(run.values, {"p": np.array([1.0, -3.0]) * 0.95**4})

    def test_a_rate_of_zero_moves_slots_only(self, name):
        parameters, gradients = data(1)
        run = Run(side_of(name), AdamConfig(0.0), parameters).apply(gradients[0])
        assert_equal(run.values, parameters)
        assert np.any(to_numpy(run.optimizer.slots()["m/l1/kernel"]))


class TestClip:
    """Global-norm clipping, the edges included."""

    def clip(self, name, gradients, max_norm, dtype="float64"):
        side = side_of(name, dtype)
        tensors = {n: side.backend.tensor(np.asarray(g), dtype=dtype) for n, g in gradients.items()}
        clipped, norm = side.impl.clip_by_global_norm(tensors, max_norm)
        return {n: to_numpy(g) for n, g in clipped.items()}, to_numpy(norm)

    @pytest.mark.parametrize("name", SIDES)
    @given(a=vectors, b=vectors, max_norm=st.floats(0.01, 100))
    @settings(max_examples=25, deadline=None)
    def test_keeps_the_direction_and_the_bound(self, name, a, b, max_norm):
        clipped, norm = self.clip(name, {"a": a, "b": b}, max_norm)
        joined, before = np.concatenate([clipped["a"], clipped["b"]]), np.concatenate([a, b])
        assert norm == pytest.approx(np.linalg.norm(before), rel=FLOAT64)
        assert np.linalg.norm(joined) <= max_norm * (1 + FLOAT64)
        cosine = joined @ before / (np.linalg.norm(joined) * np.linalg.norm(before))
        assert cosine == pytest.approx(1.0, abs=FLOAT64)
        again, _ = self.clip(name, clipped, max_norm)
        assert_close(again, clipped)

    @pytest.mark.parametrize(("name", "dtype"), RUNS)
    def test_passes_unchanged_at_and_below_the_bound(self, name, dtype):
        clipped, norm = self.clip(name, {"g": [3.0, 4.0]}, 5.0, dtype)
        assert norm == 5.0
        assert norm.dtype == clipped["g"].dtype == dtype
        np.testing.assert_array_equal(clipped["g"], [3.0, 4.0])
        clipped, norm = self.clip(name, {"g": [0.1, 0.7]}, 1e30, dtype)
        np.testing.assert_array_equal(clipped["g"], np.array([0.1, 0.7], dtype))

    @pytest.mark.parametrize(("name", "dtype"), RUNS)
    def test_zero_gradients_stay_zero(self, name, dtype):
        clipped, norm = self.clip(name, {"a": np.zeros(3), "b": np.zeros(2)}, 0.5, dtype)
        assert norm == 0.0
        np.testing.assert_array_equal(clipped["a"], np.zeros(3))

    @pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
    @pytest.mark.parametrize(("name", "dtype"), RUNS)
    def test_a_non_finite_norm_poisons_every_tensor(self, name, dtype, bad):
        clipped, norm = self.clip(name, {"a": [1.0, bad], "b": [2.0]}, 1.0, dtype)
        assert np.isnan(norm) if np.isnan(bad) else norm == np.inf
        assert np.all(np.isnan(clipped["a"]))
        assert np.all(np.isnan(clipped["b"]))

    @pytest.mark.parametrize("name", SIDES[:2])
    def test_squares_that_overflow_count_as_infinite(self, name):
        clipped, norm = self.clip(name, {"a": [1e25], "b": [2.0]}, 1.0, "float32")
        assert norm == np.inf
        assert np.all(np.isnan(clipped["b"]))

    @pytest.mark.parametrize("name", SIDES)
    def test_keeps_names_and_order_and_its_input(self, name):
        side = side_of(name)
        tensors = {n: side.backend.tensor(np.full(2, 9.0), dtype="float64") for n in ("b", "a")}
        clipped, _ = side.impl.clip_by_global_norm(tensors, 1.0)
        assert list(clipped) == ["b", "a"]
        np.testing.assert_array_equal(to_numpy(tensors["a"]), [9.0, 9.0])


TRACED = [("tf", "function"), ("tf", "xla"), ("torch", "compile")]


@pytest.mark.parametrize(("name", "variant"), TRACED)
@pytest.mark.parametrize("config", EVERY_KIND, ids=class_of)
def test_one_trace_follows_a_learning_rate_that_changes(config, name, variant, monkeypatch):
    """The rate is changed between calls, then inside a call by a tensor argument."""
    # tracing in one graph is what matters here; the generated code is for the parity suite
    monkeypatch.setattr(torch._dynamo, "lookup_backend", lambda _: lambda graph, _inputs: graph)
    torch._dynamo.reset()
    parameters, gradients = data(5)
    reference = Run(side_of("reference"), config, parameters)
    run = Run(side_of(name, variant=variant), config, parameters)

    def change_and_apply(tensors, rate):
        run.optimizer.set_learning_rate(rate)
        clipped, _ = run.side.impl.clip_by_global_norm(tensors, 1.0)
        run.optimizer.apply(clipped)

    step = make_step(run.side, change_and_apply)
    for gradient, rate in zip(gradients, (0.1, 0.2, 0.05, 0.3, 0.1), strict=True):
        scalar = run.side.backend.tensor(np.asarray(rate), dtype="float64")
        step.call(run.tensors(gradient), scalar)
        reference.optimizer.set_learning_rate(rate)
        reference.apply(SIBLINGS["reference"].clip_by_global_norm(gradient, 1.0)[0])
        assert_close(run.values, reference.values)
        assert float(to_numpy(run.optimizer.learning_rate)) == rate
    assert step.traces() == 1


@pytest.mark.parametrize("config", EVERY_KIND, ids=class_of)
@pytest.mark.parametrize(("source", "sink"), [("torch", "tf"), ("tf", "torch"), ("torch", "torch")])
def test_slots_carry_a_run_across_frameworks(source, sink, config):
    parameters, gradients = data(4)
    whole = Run(side_of("reference"), config, parameters)
    first = Run(side_of(source), config, parameters)
    for step in gradients[:2]:
        whole.apply(step)
        first.apply(step)
    second = Run(side_of(sink), config, first.values)
    second.optimizer.load_slots({n: to_numpy(s) for n, s in first.optimizer.slots().items()})
    for step in gradients[2:]:
        whole.apply(step)
        second.apply(step)
    assert_close(second.values, whole.values)
    assert int(to_numpy(second.optimizer.slots()["step"])) == 4


@pytest.mark.parametrize("side", ["parameters", "gradients"])
@pytest.mark.parametrize("config", EVERY_KIND, ids=class_of)
def test_memory_order_does_not_matter_to_torch(config, side):
    """A transposed view, as kernels out of TensorFlow's layout are, is no other tensor."""
    first = torch.arange(12, dtype=torch.float64).reshape(3, 4) / 7 - 1

    def after(order: str) -> torch.Tensor:
        values = {"parameters": first.clone(), "gradients": first.sin()}
        if order == "column":
            values[side] = values[side].T.contiguous().T
        parameter = values["parameters"]
        optimizer = getattr(SIBLINGS["torch"], class_of(config))(config, {"kernel": parameter})
        for _ in range(3):
            optimizer.apply({"kernel": values["gradients"]})
        return parameter

    assert torch.equal(after("column"), after("row"))


@pytest.mark.parametrize(("name", "dtype"), RUNS)
@pytest.mark.parametrize("config", EVERY_KIND, ids=class_of)
def test_slots_are_live_and_have_the_parameters_shapes_and_dtype(name, dtype, config):
    parameters, gradients = data(1)
    run = Run(side_of(name, dtype), config, parameters)
    slots = run.optimizer.slots()
    assert all(not np.any(to_numpy(slot)) for slot in slots.values())
    run.apply(gradients[0])
    assert int(to_numpy(slots["step"])) == 1
    for slot, tensor in slots.items():
        if slot != "step":
            assert tuple(tensor.shape) == SHAPES[slot.partition("/")[2]]
            assert to_numpy(tensor).dtype == dtype
            assert np.any(to_numpy(tensor))


@pytest.mark.parametrize("config", EVERY_KIND, ids=class_of)
def test_keras_variables_are_updated(config):
    import keras

    parameters, gradients = data(1)
    variables = {n: keras.Variable(a, dtype="float64") for n, a in parameters.items()}
    optimizer = getattr(SIBLINGS["tf"], class_of(config))(config, variables)
    optimizer.apply({n: tf.constant(g) for n, g in gradients[0].items()})
    reference = Run(side_of("reference"), config, parameters).apply(gradients[0])
    assert_close({n: to_numpy(v) for n, v in variables.items()}, reference.values)


def test_tensorflow_checkpoints_hold_the_whole_state(tmp_path):
    parameters, gradients = data(3)
    run = Run(side_of("tf"), AdamConfig(), parameters).apply(gradients[0])
    run.optimizer.set_learning_rate(0.5)
    path = tf.train.Checkpoint(optimizer=run.optimizer).save(tmp_path / "state")
    other = Run(side_of("tf"), AdamConfig(), {n: np.zeros_like(a) for n, a in parameters.items()})
    tf.train.Checkpoint(optimizer=other.optimizer).restore(path).assert_consumed()
    assert_equal(run.apply(gradients[1]).values, other.apply(gradients[1]).values)


ROUNDING = [("Adam", "decay-cancels-gradient"), ("RMSprop", "constant-gradient")]


@pytest.mark.parametrize(("name", "case"), ROUNDING)
def test_what_float32_cannot_hold_is_called_rounding(name, case):
    check = next(c for c in COMPONENT.checks if (c.name, c.case) == (name, case))
    report = run_check(COMPONENT, check, SIBLINGS, dtype="float32")
    assert report.verdict is Verdict.ROUNDING
    assert report.evidence.verdict is Verdict.AGREE
    assert all("/param/" in entry.name for entry in report.failing), "the slots agree"


@pytest.mark.parametrize("id", ["learning-rate-frozen", "step-count-by-tracing"])
def test_state_frozen_by_tracing_shows_in_traced_modes_alone(id):
    mutant = next(m for m in COMPONENT.mutants if m.id == id)
    check = next(c for c in COMPONENT.checks if (c.name, c.case) == ("Adam", mutant.case))
    with planted("impls.optimizers", mutant) as siblings:
        eager = run_check(COMPONENT, check, siblings, dtype="float64", mode="eager")
        traced = run_check(COMPONENT, check, siblings, dtype="float64", mode="xla")
    assert eager.verdict is Verdict.AGREE
    assert traced.verdict is Verdict.DIVERGE
    assert traced.first_divergence.pair("tf", "tf-eager").agrees is False


@pytest.mark.parametrize("case", COMPONENT.errors, ids=lambda case: case.id)
@pytest.mark.parametrize(("name", "dtype"), RUNS)
def test_misuse_is_refused_alike(name, dtype, case):
    with pytest.raises(case.error, match=case.match) as caught:
        case.call(side_of(name, dtype))
    assert type(caught.value) is case.error


@pytest.mark.parametrize("name", SIDES)
def test_a_refused_step_changes_nothing(name):
    parameters, gradients = data(1)
    run = Run(side_of(name), AdamConfig(), parameters)
    wrong = {**gradients[0], "l2/bias": np.ones(3)}
    with pytest.raises(ValueError, match="l2/bias"):
        run.apply(wrong)
    assert_equal(run.values, parameters)
    assert int(to_numpy(run.optimizer.slots()["step"])) == 0


@pytest.mark.parametrize(
    ("config", "field", "value"),
    [
        ("AdamConfig", "learning_rate", -1.0),
        ("AdamConfig", "epsilon", float("nan")),
        ("AdamConfig", "beta1", 1.0),
        ("RMSpropConfig", "decay", -0.1),
        ("RMSpropConfig", "weight_decay", float("inf")),
        ("SGDConfig", "momentum", 1.5),
    ],
)
def test_constants_out_of_range_are_refused(config, field, value):
    options = {"learning_rate": 0.1, field: value}
    with pytest.raises(configs.ConfigError, match=f"{field}={value}"):
        getattr(configs, config)(**options)
