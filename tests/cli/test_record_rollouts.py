"""Recorded environments and agents: a file says what one process says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parity.errors import InvalidInput
from parity.recording.reading import read_recording
from parity.requirements import missing
from parity.trace import Trace
from tests.support.records import command, found

AGREE, DIFFER, MISUSE = 0, 1, 2
pytestmark = pytest.mark.skipif(
    bool(missing(("torch", "tf", "gymnasium"))), reason="needs both frameworks and gymnasium"
)

WORLD = """
import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit, TransformReward

class Cart(gymnasium.Env):
    def __init__(self, mass=1.0, ended=3.0):
        self.mass, self.ended = mass, ended
        self.observation_space = spaces.Box(-10, 10, (3,), np.float32)
        self.action_space = spaces.Box(-2.0, 2.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.t = self.np_random.uniform(-1, 1, 2), 0
        return self.see(), {}

    def see(self):
        return np.array([*self.state, self.t / 10], np.float32)

    def pull(self, action):
        return np.asarray(action, np.float64)

    def step(self, action):
        pulled = self.pull(action)
        self.t += 1
        self.state[1] += 0.1 * (pulled[0] + 0.5 * pulled[1]) / self.mass
        self.state[0] += 0.1 * self.state[1]
        reward = float(1.7 - self.state[0] ** 2 - 0.1 * (pulled**2).sum())
        return self.see(), reward, bool(abs(self.state[0]) > self.ended), False, {"t": self.t}

class Scaled(Cart):
    def pull(self, action):
        return 0.5 * np.asarray(action, np.float64)

class Unseeded(Cart):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=None)

def cart(): return TimeLimit(Cart(), 25)
def heavy(): return TimeLimit(Cart(mass=1.25), 25)
def scaled(): return TimeLimit(Scaled(), 25)
def unseeded(): return TimeLimit(Unseeded(), 25)
def rewarded(): return TransformReward(TimeLimit(Cart(), 25), lambda r: 2 * r)
def short(): return TimeLimit(Cart(), 20)
def actions(): return {"actions": np.linspace(-1, 1, 60, dtype=np.float32).reshape(30, 2)}
"""
TORCH = """
import torch
from torch import nn

class Agent:
    def __init__(self):
        torch.manual_seed(3)
        self.actor = nn.Sequential(nn.Linear(3, 7), nn.LayerNorm(7), nn.Tanh(), nn.Linear(7, 2))

    def act(self, observation, deterministic=False):
        with torch.no_grad():
            return 2.0 * torch.tanh(self.actor(torch.from_numpy(observation)[None]))[0].numpy()

def network():
    return Agent().actor
"""
TF = """
import keras
import tensorflow as tf
from keras import layers

class Agent:
    scale, epsilon = 2.0, 1e-5

    def __init__(self):
        self.actor = keras.Sequential([layers.Dense(7),
            layers.LayerNormalization(epsilon=self.epsilon), layers.Activation("tanh"),
            layers.Dense(2)])

    def act(self, observation, deterministic=False):
        return self.scale * tf.tanh(self.actor(observation[None]))[0].numpy()

class Unscaled(Agent):
    scale = 1.0

class WrongEpsilon(Agent):
    epsilon = 1e-1

def network():
    return Agent().actor
"""


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ports")
    for name, text in (("world.py", WORLD), ("t.py", TORCH), ("k.py", TF)):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def record(subject: str, out: Path, *options: object) -> None:
    result = command("record", subject, "--out", out, *options)
    assert result.exit_code == AGREE, result.output


@pytest.mark.parametrize(
    ("tf", "code", "cause"),
    [
        ("cart", AGREE, None),
        ("heavy", DIFFER, "environment-setting"),
        ("scaled", DIFFER, "action-scale"),
        ("unseeded", DIFFER, "environment-seed"),
        ("rewarded", DIFFER, "wrapper-missing"),
        ("short", DIFFER, "time-limit"),
    ],
)
def test_a_recorded_environment(
    ports: Path, tmp_path: Path, tf: str, code: int, cause: str | None
) -> None:
    repeats, torch, tf = tf != "unseeded", f"{ports}/world.py:cart", f"{ports}/world.py:{tf}"
    record(torch, tmp_path / "run.trace", "--side", "torch", "--steps", 40)
    together = command("check", torch, tf, "--steps", 40, "--json")
    apart = command("check", tmp_path / "run.trace", tf, "--json")
    assert together.exit_code == apart.exit_code == code, apart.output
    one, other = found(together), found(apart)
    assert next((c["cause"] for c in other["causes"]), None) == cause
    assert other == one or not repeats


def test_recorded_actions_and_both_sides_recorded(ports: Path, tmp_path: Path) -> None:
    a, b, c = (tmp_path / f"{name}.trace" for name in "abc")
    given = ("--inputs", f"{ports}/world.py:actions")
    record(f"{ports}/world.py:cart", a, "--side", "torch", *given)
    record(f"{ports}/world.py:heavy", b, "--side", "tf", "--like", a)
    record(f"{ports}/world.py:heavy", c, "--side", "tf", "--steps", 30)
    together = command("check", f"{ports}/world.py:cart", f"{ports}/world.py:heavy", *given,
                       "--json")  # fmt: skip
    apart = command("check", a, b, "--json")
    assert together.exit_code == apart.exit_code == DIFFER, apart.output
    one, other = found(together), found(apart)
    assert other["causes"] == []  # neither can be changed
    assert {**one, "causes": []} == other
    for arguments, said in (
        ((a, c), "different options"),
        ((a, f"{ports}/world.py:cart", "--steps", 7), "leave --steps out"),
        ((a, f"{ports}/world.py:cart", "--input", "actions=float32[30,2]"), "other values"),
        ((a, f"{ports}/k.py:network"), "give two of the same kind"),
        ((c, f"{ports}/world.py:cart", "--input", "actions=float32[30,2]"), "without inputs"),
    ):
        result = command("check", *arguments)
        assert result.exit_code == MISUSE, result.output
        assert said in result.stderr, result.stderr


def env(ports: Path) -> tuple[str, str]:
    return "--env", f"{ports}/world.py:cart"


@pytest.mark.parametrize(
    ("torch", "tf", "code"),
    [
        ("Agent", "Agent", AGREE),
        ("Agent", "Unscaled", DIFFER),
        ("Agent", "WrongEpsilon", DIFFER),
        ("network", "network", AGREE),
    ],
)
def test_a_recorded_agent(ports: Path, tmp_path: Path, torch: str, tf: str, code: int) -> None:
    sides, out = (f"{ports}/t.py:{torch}", f"{ports}/k.py:{tf}"), tmp_path / "run.trace"
    record(sides[0], out, *env(ports), "--steps", 20, "--side", "torch")
    together = command("check", *sides, *env(ports), "--steps", 20, "--json")
    apart = command("check", out, sides[1], "--json")
    assert together.exit_code == apart.exit_code == code, apart.output
    assert found(apart) == found(together)


def test_a_recorded_tf_agent_and_two_recordings(ports: Path, tmp_path: Path) -> None:
    a, b = tmp_path / "a.trace", tmp_path / "b.trace"
    steps = ("--steps", 20)
    record(f"{ports}/k.py:WrongEpsilon", b, *env(ports), *steps, "--side", "tf")
    result = command("check", f"{ports}/t.py:Agent", b, "--json")
    assert result.exit_code == DIFFER, result.output
    document = json.loads(result.stdout)
    assert document["subject"]["place"].startswith("actor/"), document["subject"]
    assert "norm-epsilon" in [cause["cause"] for cause in document["causes"]]
    record(f"{ports}/t.py:Agent", a, *env(ports), *steps, "--side", "torch")
    lone = command("check", a, b)
    assert lone.exit_code == MISUSE
    assert "--like" in lone.stderr
    for name, code in (("Agent", AGREE), ("Unscaled", DIFFER)):
        record(f"{ports}/k.py:{name}", b, "--like", a, "--side", "tf")
        both = command("check", a, b)
        assert both.exit_code == code, both.output


def test_misuse_of_agents(ports: Path, tmp_path: Path) -> None:
    out, module = tmp_path / "a.trace", tmp_path / "m.trace"
    agent, keras = f"{ports}/t.py:Agent", f"{ports}/k.py:Agent"
    record(f"{ports}/t.py:network", module, "--input", "x=float32[5,3]")
    record(agent, out, *env(ports), "--steps", 5, "--side", "torch")
    for arguments, said in (
        (("record", agent, "--side", "torch", "--out", out), "needs an environment"),
        (("record", f"{ports}/world.py:cart", *env(ports), "--side", "tf", "--out", out),
         "not an agent"),
        (("record", agent, "--env", "CartPoole-v1", "--side", "torch", "--out", out), "CartPole"),
        (("check", module, keras, *env(ports)), "record it again with --env"),
        (("check", out, keras, "--steps", 9), "leave --steps out"),
    ):  # fmt: skip
        result = command(*arguments)
        assert result.exit_code == MISUSE, result.output
        assert said in result.stderr, result.stderr


def test_metadata_that_are_not_complete(ports: Path, tmp_path: Path) -> None:
    agent, world = tmp_path / "agent.trace", tmp_path / "world.trace"
    record(f"{ports}/t.py:Agent", agent, *env(ports), "--steps", 5, "--side", "torch")
    record(f"{ports}/world.py:cart", world, "--side", "torch", "--steps", 5)
    for path, names in (
        (world, ("actions", "layers", "rollout", "remade", "unsteady", "starts")),
        (agent, ("agent",)),
    ):
        whole = Trace.load(path)
        for name in names:
            meta = {key: value for key, value in whole.meta.items() if key != name}
            Trace(dict(whole.items()), side="torch", meta=meta).save(path)
            with pytest.raises(InvalidInput, match=f"{path.name}: its metadata are not complete"):
                read_recording(path)
        odd = {**whole.meta, "agent": {**whole.meta.get("agent", {}), "seen": 10**6}}
        odd["layers"] = [{"class": "a\0b", "numbers": {}, "spaces": {}, "limit": None}]
        Trace(dict(whole.items()), side="torch", meta=odd).save(path)
        with pytest.raises(InvalidInput, match="not complete"):
            read_recording(path)
