"""Target updates: closed forms, bounds, what must stay untouched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impls.errors import ConfigError, ShapeError
from parity.backends import get_backend, to_numpy
from parity.backends.steps import make_variable
from parity.compare import compare_arrays
from parity.component import Side
from parity.runner import load_siblings
from parity.tolerance import default_tolerance

SIDES = ("torch", "tf", "reference")
SHAPES = {"l1/kernel": (3, 11), "l1/bias": (11,), "scale": ()}


@pytest.fixture(scope="module", params=SIDES)
def side(request):
    impl = load_siblings("impls.target_update")[request.param]
    return Side(request.param, impl, get_backend(request.param), "float64")


def network(side, seed, shapes=SHAPES):
    rng = np.random.default_rng(seed)
    return {name: make_variable(side, rng.normal(size=shape)) for name, shape in shapes.items()}


def values(variables):
    return {name: np.array(to_numpy(variable)) for name, variable in variables.items()}


def same(left, right):
    found = compare_arrays(left, np.asarray(right), tolerance=default_tolerance("float64"))
    assert found.size > 0
    assert found.agrees, found


@settings(max_examples=10)
@given(tau=st.floats(0, 1), count=st.integers(1, 9))
def test_many_updates_from_one_source_are_one_geometric_mean(side, tau, count):
    target, source = network(side, 1), network(side, 2)
    start, fixed = values(target), values(source)
    for _ in range(count):
        side.impl.polyak_update(target, source, tau)
    kept = (1.0 - tau) ** count
    for name, value in values(target).items():
        same(value, kept * start[name] + (1.0 - kept) * fixed[name])


@settings(max_examples=10)
@given(tau=st.floats(0, 1))
def test_the_target_stays_between_its_old_self_and_the_source(side, tau):
    target, source = network(side, 3), network(side, 4)
    old = values(target)
    side.impl.polyak_update(target, source, tau)
    for name, new in values(target).items():
        slack = 4 * np.finfo(np.float64).eps
        low = np.minimum(old[name], values(source)[name])
        high = np.maximum(old[name], values(source)[name])
        assert (new >= low - slack).all()
        assert (new <= high + slack).all()


@pytest.mark.parametrize("tau", [0, 0.0, 1, 1.0])
def test_the_ends_of_tau_are_exact(side, tau):
    target, source = network(side, 5), network(side, 6)
    wanted = values(source) if tau else values(target)
    side.impl.polyak_update(target, source, tau)
    assert all(np.array_equal(value, wanted[name]) for name, value in values(target).items())


def test_a_hard_update_is_a_copy_that_later_training_leaves_alone(side):
    target, source = network(side, 7), network(side, 8)
    copied = values(source)
    side.impl.hard_update(target, source)
    side.impl.polyak_update(source, network(side, 9), 0.5)
    assert all(np.array_equal(value, copied[name]) for name, value in values(target).items())


def test_the_source_is_only_read(side):
    target, source = network(side, 10), network(side, 11)
    before = values(source)
    side.impl.polyak_update(target, source, 0.3)
    side.impl.hard_update(target, source)
    assert all(np.array_equal(value, before[name]) for name, value in values(source).items())


def test_a_refused_update_writes_nothing(side):
    target = network(side, 12)
    source = network(side, 13, {**SHAPES, "scale": (1,)})
    before = values(target)
    with pytest.raises(ShapeError, match="scale"):
        side.impl.polyak_update(target, source, 0.3)
    with pytest.raises(ConfigError, match="only in target: \\['scale'\\]"):
        side.impl.polyak_update(target, {n: v for n, v in source.items() if n != "scale"}, 0.3)
    assert all(np.array_equal(value, before[name]) for name, value in values(target).items())


def test_torch_parameters_stay_leaves_that_can_be_trained():
    import torch

    impl = load_siblings("impls.target_update")["torch"]
    target, source = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    impl.polyak_update(dict(target.named_parameters()), dict(source.named_parameters()), 0.5)
    assert all(p.requires_grad and p.is_leaf and p.grad_fn is None for p in target.parameters())


def test_keras_variables_and_traced_tau():
    import keras
    import tensorflow as tf

    impl = load_siblings("impls.target_update")["tf"]
    target, source = (keras.Variable(np.full((3, 2), x, "float32")) for x in (0.0, 1.0))
    traced = tf.function(lambda tau: impl.polyak_update({"w": target}, {"w": source}, tau))
    found = []
    for tau in (0.5, 0.25, 1.0):
        traced(tf.constant(tau))
        found.append(float(to_numpy(target)[0, 0]))
    assert found == [0.5, 0.625, 1.0]
    assert traced.experimental_get_tracing_count() == 1
