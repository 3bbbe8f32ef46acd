"""``parity check --isolate``: two processes, two environments, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from parity.cli import main
from parity.requirements import missing
from tests.support.environments import environment_without

AGREE, DIFFER, MISUSE = 0, 1, 2

TORCH = """
import ctypes, os, subprocess, sys, time
import torch
from torch import nn

class Trap(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        if self.kind == "exit":
            print("about to leave", file=sys.stderr, flush=True)
            os._exit(7)
        if self.kind == "segfault":
            ctypes.string_at(0)
        if self.kind == "killed":
            os.kill(os.getpid(), 9)
        if self.kind == "memory":
            raise MemoryError("no room for 9 TB")
        if self.kind == "hang":
            child = subprocess.Popen(["sleep", "600"])
            with open(os.environ["TRAP"], "w") as file:
                file.write(f"{os.getpid()} {child.pid}")
            time.sleep(600)
        return x

def made(kind):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 4), Trap(kind), nn.Linear(4, 2))

def net(): return made("none")
def exits(): return made("exit")
def segfaults(): return made("segfault")
def killed(): return made("killed")
def memory(): return made("memory")
def hangs(): return made("hang")

class Agent:
    def __init__(self):
        torch.manual_seed(3)
        self.actor = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 2))

    def act(self, observation):
        with torch.no_grad():
            return int(self.actor(torch.from_numpy(observation)).argmax())
def raises(): raise ValueError("not today")
"""
TF = """
import os
import keras
import tensorflow as tf
from keras import layers

def net():
    return keras.Sequential([keras.Input((3,)), layers.Dense(4), layers.Dense(2, use_bias=True)])

class Leaves(layers.Layer):
    def call(self, x):
        if tf.executing_eagerly():
            os._exit(5)
        return x

class Agent:
    def __init__(self):
        self.actor = keras.Sequential([layers.Dense(5), layers.Dense(2)])

    def act(self, observation):
        return int(tf.argmax(self.actor(observation[None])[0]))

class Least(Agent):
    def act(self, observation):
        return int(tf.argmin(self.actor(observation[None])[0]))

def leaves():
    return keras.Sequential([keras.Input((3,)), layers.Dense(4), Leaves(), layers.Dense(2)])
"""
STATE = ("--input", "state=float32[5,3]")


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ports")
    (folder / "t.py").write_text(TORCH, encoding="utf-8")
    (folder / "k.py").write_text(TF, encoding="utf-8")
    return folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go; whatever is left there was left behind."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TRAP", str(tmp_path / "trap"))
    return folder


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["check", *map(str, arguments)])


def alive(pid: int) -> bool:
    """Whether a process runs: one that ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(pids: list[int]) -> bool:
    for _ in range(100):
        if not any(map(alive, pids)):
            return True
        time.sleep(0.1)
    return False


def test_two_environments_give_the_report_of_one_process(
    ports: Path, tmp_path: Path, temporary: Path
) -> None:
    only_torch = environment_without("tf", tmp_path / "only-torch")
    only_tf = environment_without("torch", tmp_path / "only-tf")
    sides = f"{ports}/k.py:net", f"{ports}/t.py:net"  # in either order
    pythons = ("--torch-python", only_torch, "--tf-python", only_tf)
    apart = command(*sides, *STATE, *pythons, "--json")
    together = command(*sides, *STATE, "--json")
    assert apart.exit_code == together.exit_code == AGREE, apart.output
    left, right = json.loads(apart.stdout), json.loads(together.stdout)
    for document in (left, right):
        document.pop("reproduce")
    assert left == right
    assert list(temporary.iterdir()) == []


WORLD = """
import gymnasium
def pole(): return gymnasium.make("CartPole-v1")
def low():
    made = gymnasium.make("CartPole-v1")
    made.unwrapped.gravity = 1.6
    return made
"""


@pytest.mark.skipif(bool(missing(("gymnasium",))), reason="needs gymnasium")
@pytest.mark.parametrize(
    ("sides", "options", "code"),
    [
        (("w.py:pole", "w.py:low"), ("--steps", "12"), DIFFER),
        (("t.py:Agent", "k.py:Agent"), ("--env", "CartPole-v1", "--steps", "12"), AGREE),
        (("t.py:Agent", "k.py:Least"), ("--env", "CartPole-v1", "--steps", "12"), DIFFER),
    ],
)
def test_environments_and_agents(
    ports: Path, temporary: Path, sides: tuple[str, str], options: tuple[str, ...], code: int
) -> None:
    (ports / "w.py").write_text(WORLD, encoding="utf-8")
    names = [f"{ports}/{side}" for side in sides]
    apart = command(*names, *options, "--isolate", "--json")
    together = command(*names, *options, "--json")
    assert apart.exit_code == together.exit_code == code, apart.output
    left, right = json.loads(apart.stdout), json.loads(together.stdout)
    for document in (left, right):
        document.pop("reproduce")
        document["subject"].pop("tried", None)  # the other process cannot be changed
    assert left == right
    assert any("step/11/" in entry["name"] for entry in left["entries"])
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("exits", ["crashed (exit code 7)", "last step: layer 1", "about to leave"]),
        ("segfaults", ["crashed (SIGSEGV)", "last step: layer 1", "in forward"]),
        ("killed", ["was killed (SIGKILL)", "last step: layer 1"]),
        ("memory", ["ran out of memory", "no room for 9 TB"]),
        ("hangs", ["did not end within 20 s", "last step: layer 1"]),
    ],
)
def test_a_side_that_does_not_come_through_is_reported(
    ports: Path, tmp_path: Path, temporary: Path, name: str, said: list[str]
) -> None:
    limit = "20" if name == "hangs" else "600"  # the others end by themselves
    result = command(
        f"{ports}/t.py:{name}", f"{ports}/k.py:net", *STATE, "--isolate", "--timeout", limit
    )
    assert result.exit_code == MISUSE, result.output
    assert f"t.py:{name}" in result.stderr
    for text in said:
        assert text in result.stderr, result.stderr
    assert list(temporary.iterdir()) == []
    if name == "hangs":
        assert gone([int(pid) for pid in (tmp_path / "trap").read_text().split()])


def test_the_second_side_is_watched_too(ports: Path, temporary: Path) -> None:
    result = command(f"{ports}/t.py:net", f"{ports}/k.py:leaves", *STATE, "--isolate")
    assert result.exit_code == MISUSE, result.output
    assert "k.py:leaves (the TensorFlow side) crashed (exit code 5)" in result.stderr
    assert "last step: layer leaves" in result.stderr
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_behind_when_it_is_stopped(
    ports: Path, tmp_path: Path, temporary: Path, number: signal.Signals
) -> None:
    trap = tmp_path / "trap"
    process = subprocess.Popen(
        [sys.executable, "-m", "parity", "check", f"{ports}/t.py:hangs", f"{ports}/k.py:net",
         *STATE, "--isolate"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        # a shell's background job ignores SIGINT, and its children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        for _ in range(1200):
            if trap.is_file() and len(trap.read_text().split()) == 2:
                break
            time.sleep(0.1)
        pids = [int(pid) for pid in trap.read_text().split()]
        assert all(map(alive, pids))
        os.kill(process.pid, number)
        assert process.wait(30) != 0
    finally:
        process.kill()
        process.wait()
    assert gone(pids)
    for _ in range(50):  # after SIGKILL it is the side's process that cleans up
        if not list(temporary.iterdir()):
            break
        time.sleep(0.1)
    assert list(temporary.iterdir()) == []


def test_misuse_names_what_is_wrong(ports: Path, temporary: Path) -> None:
    torch, keras = f"{ports}/t.py:net", f"{ports}/k.py:net"
    for arguments, said in (
        ((torch, keras, *STATE, "--timeout", "5"), "give --isolate too"),
        ((torch, keras, *STATE, "--isolate", "--search", "5"), "leave --isolate out"),
        ((torch, keras, *STATE, "--torch-python", "/no/such/python"), "cannot be run"),
        ((torch, keras, *STATE, "--torch-python", "/bin/false"), "crashed (exit code 1)"),
    ):
        result = command(*arguments)
        assert result.exit_code == MISUSE, result.output
        assert said in result.stderr, result.stderr
    assert list(temporary.iterdir()) == []
