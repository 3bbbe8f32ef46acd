"""Policies and collectors: identities that need no second implementation, and refusals."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parity
from impls.environments import make_environment
from impls.errors import ConfigError, ImplError
from impls.networks.config import ActorConfig, MLPConfig, initial_parameters
from impls.rollouts import spec
from impls.rollouts.config import PolicyConfig
from parity.backends import get_backend, to_numpy
from parity.component import Side
from parity.runner import load_siblings

SIDES = ("torch", "tf", "reference")
RUNS = [*((side, d) for side in SIDES[:2] for d in ("float32", "float64")), (SIDES[2], "float64")]
ACTOR = ActorConfig(3, 2, (11, 7), (2.0, 0.4))
SCORES = MLPConfig(3, (11, 7), 5)
each_side = pytest.mark.parametrize("side", SIDES)
each_run = pytest.mark.parametrize(("side", "dtype"), RUNS)
observations = st.lists(st.floats(-5, 5, width=32), min_size=3, max_size=3).map(np.array)
draws = st.lists(st.floats(-3, 3, width=32), min_size=2, max_size=2).map(np.array)


@pytest.fixture(scope="module")
def siblings():
    return load_siblings("impls.rollouts")


def policy(siblings, side, network=ACTOR, sigma=0.0, dtype="float64", **values):
    parameters = initial_parameters(network, np.random.default_rng(3)) | values
    return siblings[side].Policy(PolicyConfig(network, sigma), parameters, dtype=dtype)


def same(left, right):
    """The two arrays agree to the project's float64 tolerance and hold something."""
    parity.assert_parity(left={"value": left}, right={"value": right})


@dataclass
class Script:
    """An environment whose episodes end as written: ``.`` goes on, ``T`` and ``U`` end it."""

    ends: str
    log: list = field(default_factory=list)
    seen: int = 0

    def reset(self, *, seed=None):
        self.log.append(("reset", seed))
        return self._observation(), {}

    def step(self, action):
        kind = self.ends[sum(name == "step" for name, _ in self.log)]
        self.log.append(("step", to_numpy(action).copy()))
        return self._observation(), float(self.seen), kind == "T", kind == "U", {}

    def _observation(self):
        self.seen += 1
        return np.array([self.seen, 0.5, -0.25])


def test_siblings_have_the_contracts_names_and_signatures(siblings):
    for contract in spec.COMPONENT.contract:
        methods = [n for n in vars(contract) if n == "__init__" or not n.startswith("_")]
        assert len(methods) > 1
        for side in SIDES:
            implemented = getattr(siblings[side], contract.__name__)
            for name in methods:
                wanted = inspect.signature(getattr(contract, name)).parameters
                found = inspect.signature(getattr(implemented, name)).parameters
                assert list(found) == list(wanted), (side, contract.__name__, name)
                assert [(p.kind, p.default) for p in found.values()] == [
                    (p.kind, p.default) for p in wanted.values()
                ]


@each_run
def test_actions_have_the_policys_dtype(siblings, side, dtype):
    acting = policy(siblings, side, sigma=0.1, dtype=dtype)
    action = to_numpy(acting.act(np.array([0.1, -2.0, 0.3]), np.array([0.5, -0.5])))
    assert (action.dtype, action.shape) == (np.dtype(dtype), (2,))
    greedy = to_numpy(policy(siblings, side, SCORES, dtype=dtype).act(np.ones(3)))
    assert (greedy.dtype, greedy.shape) == (np.dtype("int64"), ())


@each_side
@settings(max_examples=20)
@given(observation=observations)
def test_without_noise_the_action_is_the_networks_output(siblings, side, observation):
    acting = policy(siblings, side)
    np.testing.assert_array_equal(
        to_numpy(acting.act(observation)), to_numpy(acting.output(observation))
    )
    quiet = policy(siblings, side, sigma=0.3).act(observation, np.zeros(2))
    same(to_numpy(quiet), to_numpy(acting.output(observation)))


@each_side
@settings(max_examples=20)
@given(observation=observations, draw=draws)
def test_noise_is_a_share_of_the_bound_and_actions_stay_inside(siblings, side, observation, draw):
    acting = policy(siblings, side, sigma=0.5)
    bound = np.array(ACTOR.bounds)
    action = to_numpy(acting.act(observation, draw))
    assert (np.abs(action) <= bound).all()
    moved = to_numpy(acting.output(observation)) + 0.5 * bound * draw
    inside = np.abs(moved) <= bound
    same(np.append(action[inside], 1.0), np.append(moved[inside], 1.0))
    np.testing.assert_array_equal(action[~inside], (np.sign(moved) * bound)[~inside])


@each_side
@settings(max_examples=20)
@given(observation=observations)
def test_greedy_takes_the_largest_score(siblings, side, observation):
    acting = policy(siblings, side, SCORES)
    scores = to_numpy(acting.output(observation))
    assert scores.shape == (5,)
    assert scores[to_numpy(acting.act(observation))] == scores.max()


@each_side
def test_greedy_takes_the_first_of_equal_scores(siblings, side):
    tied = {"l3/kernel": np.zeros((7, 5)), "l3/bias": np.array([0.0, 2.0, 1.0, 2.0, 2.0])}
    assert to_numpy(policy(siblings, side, SCORES, **tied).act(np.ones(3))) == 1


@each_side
def test_tanh_activation_is_known_to_every_side(siblings, side):
    network = MLPConfig(3, (11,), 5, activation="tanh")
    values = initial_parameters(network, np.random.default_rng(3))
    x = np.array([0.3, -1.0, 2.0])
    hidden = np.tanh(x @ values["l1/kernel"] + values["l1/bias"])
    scores = to_numpy(policy(siblings, side, network).output(x))
    same(scores, hidden @ values["l2/kernel"] + values["l2/bias"])


@each_side
@settings(max_examples=20)
@given(ends=st.text(".TU", min_size=1, max_size=12))
def test_collector_keeps_the_books(siblings, side, ends):
    """Whatever ends how: seeds, observations and flags are those of the environment."""
    environment = Script(ends)
    collector = siblings[side].Collector(environment, policy(siblings, side), seed=40)
    transitions = [collector.step() for _ in ends]

    ended = [kind != "." for kind in ends]
    seeds = [seed for name, seed in environment.log if name == "reset"]
    assert seeds == list(range(40, 41 + sum(ended)))
    assert collector.episode == sum(ended)
    assert [t.terminated for t in transitions] == [kind == "T" for kind in ends]
    assert [t.truncated for t in transitions] == [kind == "U" for kind in ends]
    # the environment counts its observations: 1 for the first reset, then one more each time
    stored = [t.next_observation[0] for t in transitions]
    resets_before = np.cumsum([0, *ended])[:-1]
    assert stored == [2 + step + resets for step, resets in enumerate(resets_before)]
    assert [t.reward for t in transitions] == stored
    seen = [*(t.observation[0] for t in transitions), collector.observation[0]]
    assert seen == [1, *(s + e for s, e in zip(stored, ended, strict=True))]


@each_side
def test_collector_applies_what_it_stores(siblings, side):
    environment = Script("....")
    acting = policy(siblings, side, sigma=0.5)
    collector = siblings[side].Collector(environment, acting, seed=0)
    first = collector.observation
    own = collector.step(np.array([0.5, -0.5]))
    given_action = np.array([0.25, 0.125])
    forced = collector.step(action=given_action)
    applied = [value for name, value in environment.log if name == "step"]
    np.testing.assert_array_equal(applied, [own.action, forced.action])
    np.testing.assert_array_equal(own.action, to_numpy(acting.act(first, np.array([0.5, -0.5]))))
    np.testing.assert_array_equal(forced.action, given_action)


@each_run
@pytest.mark.parametrize("case", spec.ERRORS, ids=lambda case: case.id)
def test_misuse_is_refused_alike(siblings, side, dtype, case):
    pytest.importorskip("gymnasium")
    assert issubclass(case.error, ImplError)
    with pytest.raises(case.error, match=case.match):
        case.call(Side(side, siblings[side], get_backend(side), dtype))


@pytest.mark.parametrize("sigma", [-0.1, float("nan"), float("inf")])
def test_impossible_noise_is_refused(sigma):
    with pytest.raises(ConfigError, match="sigma="):
        PolicyConfig(ACTOR, sigma)


def test_a_greedy_policy_has_no_noise():
    with pytest.raises(ConfigError, match="greedy policy takes no noise"):
        PolicyConfig(SCORES, 0.1)


def test_policy_config_fits_the_environment():
    pytest.importorskip("gymnasium")
    pendulum = spec.policy_config(make_environment("Pendulum-v1"), 0.1)
    assert (pendulum.network.bounds, pendulum.observation_size) == ((2.0,), 3)
    cartpole = spec.policy_config(make_environment("CartPole-v1"))
    assert (cartpole.greedy, cartpole.network.output_size) == (True, 2)
    lopsided = make_environment("Pendulum-v1")
    lopsided.low = lopsided.low + 1
    with pytest.raises(ConfigError, match="action bounds"):
        spec.policy_config(lopsided)
