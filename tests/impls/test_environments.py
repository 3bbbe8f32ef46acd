"""Environments of both packages: one interface, no global state, and refusals that help."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impls import environments
from impls.environments import collect_transitions, make_environment, random_state
from impls.errors import ConfigError, NonFiniteError, ShapeError, UnknownEnvironmentError

IDS = [
    ("Pendulum-v1", "gymnasium"),
    ("CartPole-v1", "gymnasium"),
    ("LunarLanderContinuous-v3", "gymnasium"),
    ("HalfCheetah-v5", "gymnasium"),
    ("Pendulum-v1", "gym"),
    ("CartPole-v1", "gym"),
]
SIZES = {"Pendulum-v1": (3, 1), "LunarLanderContinuous-v3": (8, 2), "HalfCheetah-v5": (17, 6)}
PACKAGES = {"LunarLanderContinuous-v3": "Box2D", "HalfCheetah-v5": "mujoco"}
each_id = pytest.mark.parametrize(("env_id", "api"), IDS)


@pytest.fixture(autouse=True)
def packages(request):
    named = getattr(request.node, "callspec", None)
    wanted = named.params if named else {}
    pytest.importorskip("gymnasium")
    pytest.importorskip(PACKAGES.get(wanted.get("env_id", ""), "numpy"))
    try:
        environments._import_package(wanted.get("api", "gymnasium"))  # keeps gym's notice away
    except UnknownEnvironmentError as error:
        pytest.skip(str(error))


@each_id
def test_seeded_episodes_repeat_and_seeds_differ(env_id, api):
    def episode(seed):
        env = make_environment(env_id, api=api)
        rng = np.random.default_rng(1)
        rows = [env.reset(seed=seed)[0]]
        for _ in range(5):
            action = environments._random_action(env, rng)
            observation, reward, *_ = env.step(action)
            rows.append(np.append(observation, reward))
        state = random_state(env)
        env.close()
        return np.concatenate(rows), state

    first, state = episode(7)
    again, state_again = episode(7)
    other, _ = episode(8)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(state, state_again)
    assert not np.array_equal(first, other)


@each_id
def test_step_and_reset_have_one_form(env_id, api):
    env = make_environment(env_id, api=api)
    observation, info = env.reset(seed=7)
    assert isinstance(info, dict)
    assert observation.shape == (env.observation_size,)
    action = 1 if env.discrete else (env.low + env.high) / 2
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation.shape == (env.observation_size,)
    assert [type(reward), type(terminated), type(truncated)] == [float, bool, bool]
    assert env.discrete == (env_id == "CartPole-v1")
    assert (env.observation_size, env.action_size) == SIZES.get(env_id, (4, 2))
    env.close()


@each_id
def test_no_global_generator_is_read_or_moved(env_id, api):
    def draws(global_seed):
        np.random.seed(global_seed)
        before = np.random.get_state()[1].copy()
        environments._collect.cache_clear()
        rows = collect_transitions(env_id, 3, 7, api=api)
        np.testing.assert_array_equal(np.random.get_state()[1], before)
        return rows["next_observation"]

    np.testing.assert_array_equal(draws(0), draws(1))


@each_id
def test_transitions_have_the_declared_form(env_id, api):
    rows = collect_transitions(env_id, 9, 7, api=api)
    discrete = env_id == "CartPole-v1"
    size, action_size = SIZES.get(env_id, (4, 0))
    shapes = {name: array.shape for name, array in rows.items()}
    assert shapes == {
        "observation": (9, size),
        "action": (9,) if discrete else (9, action_size),
        "reward": (9,),
        "next_observation": (9, size),
        "terminated": (9,),
        "truncated": (9,),
    }
    dtypes = {name: str(array.dtype) for name, array in rows.items()}
    floats = dict.fromkeys(("observation", "reward", "next_observation"), "float32")
    assert dtypes == {
        **floats,
        "action": "int64" if discrete else "float32",
        "terminated": "bool",
        "truncated": "bool",
    }
    assert not any(array.flags.writeable for array in rows.values())


@settings(max_examples=10)
@given(count=st.integers(1, 60), more=st.integers(0, 20), seed=st.integers(0, 3))
def test_transitions_follow_each_other_within_an_episode(count, more, seed):
    rows = collect_transitions("CartPole-v1", count + more, seed, max_episode_steps=15)
    ended = (rows["terminated"] | rows["truncated"])[:-1]
    following, observation = rows["next_observation"][:-1], rows["observation"][1:]
    np.testing.assert_array_equal(following[~ended], observation[~ended])
    assert (following[ended] != observation[ended]).any(axis=1).all()
    fewer = collect_transitions("CartPole-v1", count, seed, max_episode_steps=15)
    np.testing.assert_array_equal(fewer["observation"], rows["observation"][:count])


def test_transitions_hold_both_kinds_of_end():
    rows = collect_transitions("CartPole-v1", 200, 3, max_episode_steps=15)
    assert rows["terminated"].any()
    assert rows["truncated"].any()
    assert (~(rows["terminated"] | rows["truncated"])).any()
    # a pole that fell is out of its bounds, a truncated one need not be
    last = rows["next_observation"][rows["terminated"]]
    assert ((np.abs(last[:, 0]) > 2.4) | (np.abs(last[:, 2]) > 12 * np.pi / 180)).all()
    whole = collect_transitions("Pendulum-v1", 201, 3)
    assert np.flatnonzero(whole["truncated"]).tolist() == [199]
    assert not whole["terminated"].any()


def test_transitions_can_be_replayed():
    rows = collect_transitions("LunarLanderContinuous-v3", 20, 3)
    env = make_environment("LunarLanderContinuous-v3")
    env.reset(seed=3)
    replayed = [env.step(action)[0] for action in rows["action"]]
    np.testing.assert_array_equal(np.array(replayed, np.float32), rows["next_observation"])
    env.close()


def test_transitions_are_collected_once_and_their_dict_is_yours():
    first, second = (collect_transitions("Pendulum-v1", 5, 3) for _ in range(2))
    assert first["reward"] is second["reward"]
    first.clear()
    assert len(second) == 6
    other = collect_transitions("Pendulum-v1", 5, 4)
    assert not np.array_equal(other["action"], second["action"])


def test_a_float64_action_is_not_rounded_on_the_way():
    def reward(action):
        env = make_environment("Pendulum-v1")
        env.reset(seed=7)
        return env.step(action)[1]

    action = np.array([0.1])
    assert reward(action) != reward(action.astype(np.float32))
    rounded = action.astype(np.float32)
    assert reward(rounded) == reward(rounded.astype(np.float64))


def test_random_state_follows_the_generator():
    env, other = (make_environment("CartPole-v1") for _ in range(2))
    for each in (env, other):
        each.reset(seed=7)
    before = random_state(env)
    assert before.dtype == np.uint64
    np.testing.assert_array_equal(before, random_state(other))
    env.env.unwrapped.np_random.uniform()
    assert not np.array_equal(random_state(env), before)


def test_random_state_reads_other_bit_generators():
    env = make_environment("CartPole-v1")
    env.env.unwrapped.np_random = np.random.Generator(np.random.MT19937(3))
    before = random_state(env)
    assert before.size > 624
    env.env.unwrapped.np_random.uniform()
    assert not np.array_equal(random_state(env), before)


@pytest.mark.parametrize("api", ["gymnasium", "gym"])
def test_unknown_ids_are_answered_with_near_names(api):
    with pytest.raises(UnknownEnvironmentError, match=rf"unknown to {api}; similar: Pendulum-v1"):
        make_environment("Pendulm-v1", api=api)
    with pytest.raises(UnknownEnvironmentError, match=r"similar: .*CartPole-v1"):
        make_environment("CartPole-v99", api=api)
    with pytest.raises(UnknownEnvironmentError, match="similar: none of"):
        make_environment("qqq", api=api)


@pytest.mark.filterwarnings("ignore:.*out of date")
def test_a_retired_environment_is_refused_with_its_reason():
    with pytest.raises(UnknownEnvironmentError, match=r"cannot make it: .*mujoco v2"):
        make_environment("HalfCheetah-v2")


def test_a_missing_simulator_is_answered_with_the_pip_command(monkeypatch):
    for name in [n for n in sys.modules if n.startswith("gymnasium.envs.box2d")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(UnknownEnvironmentError, match=r"pip install 'gymnasium\[box2d\]>=1.0'"):
        make_environment("LunarLanderContinuous-v3")


@pytest.mark.parametrize(
    ("api", "command"), [("gym", "gym==0.26.2"), ("gymnasium", "gymnasium>=1.0")]
)
def test_a_missing_package_is_answered_with_the_pip_command(api, command, monkeypatch):
    monkeypatch.setitem(sys.modules, api, None)
    with pytest.raises(UnknownEnvironmentError, match=f"pip install '{command}'"):
        make_environment("Pendulum-v1", api=api)


@pytest.mark.parametrize(
    ("act", "error", "match"),
    [
        (np.zeros(2), ShapeError, r"action has shape \(2,\), Pendulum-v1 takes \(1,\)"),
        (np.float64(0.0), ShapeError, r"shape \(\)"),
        (np.array([np.inf]), NonFiniteError, r"action\[0\]"),
    ],
)
def test_wrong_continuous_actions_are_refused(act, error, match):
    env = make_environment("Pendulum-v1")
    env.reset(seed=7)
    with pytest.raises(error, match=match):
        env.step(act)


@pytest.mark.parametrize(
    ("act", "error", "match"),
    [
        (2, ConfigError, "CartPole-v1 takes 0 to 1"),
        (-1, ConfigError, "action=-1"),
        (0.5, ConfigError, "action=0.5"),
        (np.array([1]), ShapeError, r"action has shape \(1,\), CartPole-v1 takes \(\)"),
    ],
)
def test_wrong_discrete_actions_are_refused(act, error, match):
    env = make_environment("CartPole-v1")
    env.reset(seed=7)
    with pytest.raises(error, match=match):
        env.step(act)


def test_other_misuses_are_refused():
    with pytest.raises(ConfigError, match="api='gymn'"):
        make_environment("Pendulum-v1", api="gymn")
    with pytest.raises(ConfigError, match="count=0"):
        collect_transitions("Pendulum-v1", 0, 3)
    with pytest.raises(ConfigError, match=r"FrozenLake-v1.*flat"):
        make_environment("FrozenLake-v1")


def test_gyms_notice_is_silenced_and_no_other():
    script = (
        "import sys, gym_notices.notices as n; from impls.environments import make_environment;"
        "make_environment('Pendulum-v1', api='gym'); import gym;"
        "print(gym.__version__ in n.notices); print('something else', file=sys.stderr)"
    )
    pytest.importorskip("gym_notices")
    ran = _python(script)
    assert ran.stdout.split() == ["True"]
    assert ran.stderr.strip() == "something else"


def test_mujoco_prints_nothing_and_leaves_no_log(tmp_path):
    pytest.importorskip("mujoco")
    script = "from impls.environments import make_environment; make_environment('HalfCheetah-v5')"
    ran = _python(script, cwd=tmp_path)
    assert (ran.returncode, ran.stderr.strip()) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_other_warnings_of_mujoco_are_passed_on():
    mujoco = pytest.importorskip("mujoco")
    before = mujoco.get_mju_user_warning()

    def warned():
        with environments._quiet_mujoco():
            mujoco.get_mju_user_warning()("compiler attribute 'settotalmass' is deprecated and ...")
            mujoco.get_mju_user_warning()("unstable")

    with pytest.warns(UserWarning, match="MuJoCo: unstable"):
        warned()
    assert mujoco.get_mju_user_warning() == before


def test_importing_environments_imports_no_package():
    ran = _python(
        "import sys, impls.environments;"
        "print([m for m in ('gym', 'gymnasium', 'torch', 'tensorflow') if m in sys.modules])"
    )
    assert ran.stdout.strip() == "[]"


def _python(script, cwd=None):
    root = str(Path(importlib.import_module("impls").__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {root!r}); {script}"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False
    )
