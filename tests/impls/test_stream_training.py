"""Training from a stream: what must hold for any seed, and a thousand updates in lockstep."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import import_module

import numpy as np
import pytest

from impls.stream_training.cases import GAUSSIAN, ORTHOGONAL, OU, trainer_case
from impls.stream_training.config import initial_state
from impls.stream_training.spec import COMPONENT
from parity.backends import get_backend, to_numpy
from parity.checks.from_seed import SeededLockstepCheck
from parity.component import SIBLINGS
from parity.random import Stream
from parity.runner import load_siblings, run_check
from parity.verdict import Verdict

SIDES = ("torch", "tf", "reference")
each_side = pytest.mark.parametrize("side", SIDES)


def sibling(side):
    return import_module(f"impls.stream_training.{SIBLINGS[side]}")


def make(side, config=GAUSSIAN, seed=7, dtype="float64", **fields):
    return sibling(side).make_trainer(replace(config, **fields), seed=seed, dtype=dtype)


def call(side, name, *arrays, **options):
    backend = get_backend(side)
    tensors = [backend.tensor(np.asarray(array)) for array in arrays]
    return to_numpy(getattr(sibling(side), name)(*tensors, **options))


def act(side, trainer, observation):
    return to_numpy(trainer.act(get_backend(side).tensor(observation)))


def same(there, here):
    assert there.keys() == here.keys()
    for name, array in here.items():
        np.testing.assert_array_equal(there[name], array, err_msg=name)


# in lockstep


@dataclass(frozen=True, kw_only=True)
class Kept(SeededLockstepCheck):
    """Keeps what it recorded."""

    recordings: list = field(default_factory=list, hash=False)

    def record(self, sides):
        self.recordings.append(super().record(sides))
        return self.recordings[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "dtype", "mode"),
    [
        (GAUSSIAN, "float64", "compiled"),
        (OU, "float32", "compiled"),
        (OU, "float64", "xla"),
        (GAUSSIAN, "float32", "xla"),
    ],
    ids=["graph-float64", "graph-float32", "xla-float64", "xla-float32"],
)
def test_a_thousand_updates_agree_with_nothing_handed_in_but_the_seed(config, dtype, mode):
    if "Lander" in config.env_id:
        pytest.importorskip("Box2D")
    fields = trainer_case(config, f"thousand-{dtype}", ask=None)
    zeros = (*fields["expect_zero"], "update/*/state/trainer/*")
    check = Kept(**{**fields, "expect_zero": zeros}, updates=1000, twins=False)
    siblings = load_siblings("impls.stream_training")
    report = run_check(COMPONENT, check, siblings, dtype=dtype, mode=mode)
    assert report.verdict is Verdict.AGREE, str(report)
    traces = check.recordings[0].traces
    assert set(traces) == set(SIDES)
    batches = {tuple(traces["torch"][f"update/{k:02d}/indices"]) for k in range(1000)}
    assert len(batches) == 1000
    for k in range(1000):
        for name in ("indices", "noise"):
            drawn = [traces[side][f"update/{k:02d}/{name}"] for side in SIDES]
            np.testing.assert_array_equal(drawn[0], drawn[1], err_msg=f"{k} {name}")
            np.testing.assert_array_equal(drawn[0], drawn[2], err_msg=f"{k} {name}")


# what a seed gives


@each_side
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_draws_of_an_update_are_those_of_the_stream_to_the_bit(side, dtype):
    trainer = make(side, dtype=dtype)
    for t in range(1, 6):
        made = {n: to_numpy(v) for n, v in trainer.update().items()}
        indices = Stream(7).split("replay").fold_in(t).integers(13, 0, 34)
        noise = Stream(7).split("smoothing").fold_in(t).normal((13, 1))
        np.testing.assert_array_equal(made["indices"], indices)
        np.testing.assert_array_equal(made["noise"], noise)


@each_side
def test_a_seed_decides_everything(side):
    one, again, other = (make(side, seed=seed) for seed in (7, 7, 8))
    first = one.state()
    for _ in range(2):
        one.update()
        again.update()
        other.update()
    same(one.state(), again.state())
    assert not np.array_equal(one.state()["param/actor/l1/kernel"], first["param/actor/l1/kernel"])
    for name in ("param/critic/q1/l1/kernel", "buffer/observation", "slot/critic/m/q1/l1/kernel"):
        assert not np.array_equal(one.state()[name], other.state()[name]), name
    one.reset()
    same(one.state(), first)


def test_every_side_starts_from_the_same_bits():
    states = [make(side, OU).state() for side in SIDES]
    same(states[0], states[2])
    same(states[1], states[2])


@each_side
def test_training_goes_on_from_a_state_of_any_side(side):
    whole = make("reference", OU)
    for _ in range(2):
        whole.update()
        whole.act(whole.state()["buffer/observation"][:3])
    part = make(side, OU, seed=7)
    part.load_state(whole.state())
    there, here = (to_numpy(t.update()["indices"]) for t in (part, whole))
    np.testing.assert_array_equal(there, here)
    observation = whole.state()["buffer/observation"][3:6]
    np.testing.assert_allclose(act(side, part, observation), whole.act(observation), rtol=1e-12)


@each_side
def test_only_filled_slots_are_sampled_and_all_of_them(side):
    trainer = make(side, rows=9, capacity=50)
    seen = {int(i) for _ in range(20) for i in to_numpy(trainer.update()["indices"])}
    assert seen == set(range(18))
    trainer.collect()
    seen = {int(i) for _ in range(30) for i in to_numpy(trainer.update()["indices"])}
    assert seen == set(range(36))


@each_side
def test_without_replacement_no_row_comes_twice(side):
    trainer = make(side, replace=False, batch_size=30)
    for _ in range(3):
        indices = to_numpy(trainer.update()["indices"])
        assert len(set(indices.tolist())) == 30
        assert indices.max() < 34


@each_side
def test_environments_and_collections_have_episodes_of_their_own(side):
    trainer = make(side, rows=5, capacity=20, batch_size=5)
    trainer.collect()
    parts = trainer.state()["buffer/observation"].reshape(4, 5, 3)
    assert len({part.tobytes() for part in parts}) == 4


# acting


@each_side
def test_acting_without_noise_is_the_actor_and_noise_differs_by_call(side):
    trainer = make(side)
    observation = trainer.state()["buffer/observation"][:2]
    quiet = act(side, make(side, sigma=0.0), observation)
    first, second = (act(side, trainer, observation) for _ in range(2))
    noise = np.float64(Stream(7).split("exploration").fold_in(1).normal((2, 1)))
    np.testing.assert_allclose(first, np.clip(quiet + 0.2 * noise, -2, 2), rtol=1e-12)
    assert not np.array_equal(first, second)


@each_side
def test_the_process_decays_without_noise_and_starts_afresh_at_an_end(side):
    trainer = make(side, OU, sigma=0.0, theta=0.25)
    state = trainer.state()
    state["trainer/ou"] = np.full((3, 2), 0.5)
    trainer.load_state(state)
    for k in range(1, 4):
        act(side, trainer, state["buffer/observation"][:3])
        np.testing.assert_allclose(trainer.state()["trainer/ou"], 0.5 * 0.75**k, rtol=1e-14)
    trainer.end_episodes(get_backend(side).tensor(np.array([False, True, False])))
    left = trainer.state()["trainer/ou"]
    assert (left[1] == 0.0).all() and (left[[0, 2]] > 0.0).all()


# functions


@each_side
def test_minibatches_are_a_permutation_that_changes_with_the_epoch(side):
    epochs = [call(side, "minibatches", epoch, seed=7, rows=15, size=5) for epoch in range(3)]
    for batches in epochs:
        assert batches.shape == (3, 5)
        assert sorted(batches.reshape(-1).tolist()) == list(range(15))
    assert len({batches.tobytes() for batches in epochs}) == 3


@each_side
def test_epsilon_is_the_share_of_random_actions(side):
    q = np.tile(np.arange(4.0), (2000, 1))
    greedy, some, random = (
        call(side, "epsilon_greedy_action", q, 3, seed=7, epsilon=e) for e in (0.0, 0.4, 1.0)
    )
    assert (greedy == 3).all()
    assert abs(np.mean(some != 3) - 0.4 * 0.75) < 0.05
    assert np.abs(np.bincount(random) / 2000 - 0.25).max() < 0.05


@each_side
def test_a_policy_draws_classes_by_their_probability(side):
    probabilities = np.array([0.1, 0.6, 0.3])
    logits = np.tile(np.log(probabilities), (4000, 1))
    drawn = call(side, "sample_action", logits, 3, seed=7)
    assert np.abs(np.bincount(drawn) / 4000 - probabilities).max() < 0.03


def dense(rate, step=3, side="reference"):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s) for s in ((5, 3), (3, 400), (400,), (400, 2), (2,))]
    return arrays, call(side, "dropout_network", *arrays, step, seed=7, rate=rate)


@each_side
def test_dropout_of_nothing_is_the_plain_network_and_its_mean_stays(side):
    (x, w1, b1, w2, b2), plain = dense(0.0, side=side)
    np.testing.assert_allclose(plain, np.maximum(x @ w1 + b1, 0) @ w2 + b2, rtol=1e-12)
    dropped = np.array([dense(0.5, step, side)[1] for step in range(40)])
    spread = dropped.std(axis=0) / np.sqrt(40)
    assert spread.min() > 0.0
    assert (np.abs(dropped.mean(axis=0) - plain) < 5 * spread).all()


# initial weights


@pytest.mark.parametrize("config", [GAUSSIAN, OU, ORTHOGONAL], ids=["kaiming", "glorot", "qr"])
def test_initial_weights_have_the_bounds_of_their_distribution(config):
    state = initial_state(config, Stream(3).split("weights"))
    kernel = state["param/critic/q1/l1/kernel"]
    fan_in, fan_out = kernel.shape
    bias = state["param/critic/q1/l1/bias"]
    if config.initializer == "orthogonal":
        np.testing.assert_allclose(kernel @ kernel.T, np.eye(fan_in), atol=1e-6)
    else:
        fan = fan_in / 6 if config.initializer == "kaiming_uniform" else (fan_in + fan_out) / 6
        assert 0.8 * fan**-0.5 < np.abs(kernel).max() <= fan**-0.5
    assert np.any(bias) == (config.initializer == "kaiming_uniform")
    names = ("param/critic/q1/l1/kernel", "param/critic/q2/l1/kernel")
    assert not np.array_equal(state[names[0]], state[names[1]])
    assert np.array_equal(state[names[0]], state["target/critic/q1/l1/kernel"])
