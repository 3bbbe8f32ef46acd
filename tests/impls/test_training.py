"""Training for real: it goes on bit for bit, what is misused is refused, what differs is found."""

from __future__ import annotations

import csv
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from impls.__main__ import main
from impls.environments import make_environment
from impls.errors import ConfigError
from impls.training import bug_table as table_module
from impls.training import lockstep as lockstep_module
from impls.training.bug_table import CORRECT, bug_table
from impls.training.differences import error_of, errors_of
from impls.training.freerun import Series, growth_of, judge, outputs_apart
from impls.training.lockstep import lockstep
from impls.training.registry import ALGORITHMS, algorithm, configure
from impls.training.runs import Asked, Folder
from impls.training.side_by_side import bugs, with_bug
from impls.training.train import evaluate, make_loop
from impls.training.updates import is_rounding
from impls.training.worlds import Draws, World
from parity.random import Stream
from parity.trace import Trace

pytest.importorskip("torch")
pytest.importorskip("tensorflow")
pytest.importorskip("gymnasium")

ROOT = Path(__file__).parents[2]
SMALL = {"hidden_sizes": "11", "evaluate_every": "250", "evaluation_episodes": "2"}
TORCH = ("--framework", "torch", "--env", "CartPole-v1")
OFF = {**SMALL, "batch_size": "13", "learning_starts": "50", "capacity": "300"}
RUNS = {
    "td3-torch": Asked("td3", "torch", "Pendulum-v1", 3, settings={**OFF, "steps": "1500"}),
    "ddpg-tf": Asked(
        "ddpg", "tf", "Pendulum-v1", 3, compiled=True, settings={**OFF, "steps": "1500"}
    ),
    "a2c-torch": Asked("a2c", "torch", "CartPole-v1", 3, settings={**SMALL, "steps": "1500"}),
    "ppo-tf": Asked(
        "ppo", "tf", "CartPole-v1", 3, compiled=True,
        settings={**SMALL, "steps": "1500", "rollout": "32", "environments": "4",
                  "minibatches": "2"},
    ),
    "dqn-torch": Asked("dqn", "torch", "CartPole-v1", 3, settings={**OFF, "steps": "1500"}),
    "rainbow-torch": Asked(
        "dqn", "torch", "CartPole-v1", 3,
        settings={**OFF, "steps": "1500", "n_step": "3", "prioritized": "true"},
    ),
    "n-step-tf": Asked(
        "dqn", "tf", "CartPole-v1", 3, compiled=True,
        settings={**OFF, "steps": "1500", "n_step": "3"},
    ),
    "a3c-torch": Asked(
        "a3c", "torch", "CartPole-v1", 3, settings={**SMALL, "steps": "1500", "workers": "3"}
    ),
    "reinforce-torch": Asked(
        "reinforce", "torch", "CartPole-v1", 3,
        settings={**SMALL, "steps": "1500", "environments": "3"},
    ),
}  # fmt: skip


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def command(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "impls", *arguments],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def outcome(path: Path) -> tuple[dict[str, np.ndarray], list[dict[str, str]]]:
    """The last state of a run, and its log without the seconds."""
    trace = Trace.load(path / "checkpoint.trace")
    with (path / "log.csv").open(newline="") as file:
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]
    return {name: trace[name] for name in trace.names}, rows


def assert_same_run(left: Path, right: Path) -> None:
    (ours, our_log), (theirs, their_log) = outcome(left), outcome(right)
    assert our_log == their_log
    assert len(our_log) >= 2
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


def killed_until_done(path: Path, moments: list[float]) -> int:
    """Resume the run again and again, killing it after each of these seconds of training."""
    kills = 0
    for moment in moments:
        if (path / "result.json").exists():
            break
        process = command("train", "--resume", str(path), "--checkpoint-seconds", "0")
        seen, deadline = (path / "checkpoint.trace"), time.monotonic() + 120
        before = seen.stat().st_mtime_ns if seen.exists() else 0
        while process.poll() is None and time.monotonic() < deadline:
            if seen.exists() and seen.stat().st_mtime_ns != before:
                break  # it has gone on from the checkpoint
            time.sleep(0.01)
        time.sleep(moment)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    process = command("train", "--resume", str(path))
    assert process.wait(timeout=300) == 0
    return kills


def kill_and_compare(tmp_path: Path, name: str, kills: int) -> None:
    asked, rng = RUNS[name], random.Random(name)
    Folder(tmp_path / "whole").create(asked)
    process = command("train", "--resume", str(tmp_path / "whole"))
    Folder(tmp_path / "killed").create(asked)
    done = killed_until_done(tmp_path / "killed", [rng.uniform(0.0, 0.4) for _ in range(kills)])
    assert process.wait(timeout=300) == 0
    assert done >= min(kills, 2), "the runs were over before they could be killed"
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.parametrize("name", ["td3-torch"])
def test_a_killed_run_ends_like_an_undisturbed_one(tmp_path: Path, name: str) -> None:
    kill_and_compare(tmp_path, name, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_killed_ten_times(tmp_path: Path, name: str) -> None:
    kill_and_compare(tmp_path, name, 10)


@pytest.mark.parametrize("name", RUNS)
def test_a_loop_goes_on_from_its_state(name: str) -> None:
    """What a checkpoint holds is all there is: a new loop with it makes the same updates."""
    asked = RUNS[name]
    first, second = make_loop(asked, compiled=False), make_loop(asked, compiled=False)
    while first.updates < 3 or first.step < 120:
        first.advance()
    second.load_state(first.state())
    for _ in range(3 if first.chosen.on_policy else 30):
        first.advance(), second.advance()
    ours, theirs = first.state(), second.state()
    assert ours.keys() == theirs.keys()
    for entry in ours:
        np.testing.assert_array_equal(ours[entry], theirs[entry], err_msg=entry)
    for loop in (first, second):
        loop.close()


@pytest.mark.parametrize("name", RUNS)
def test_both_frameworks_begin_alike(name: str) -> None:
    """One seed gives both the same weights, environments, actions and batches."""
    asked = RUNS[name]
    loops = [make_loop(Asked(asked.algorithm, f, asked.env, 5, "float64", settings=asked.settings))
             for f in ("torch", "tf")]  # fmt: skip
    for loop in loops:
        while loop.updates < 1:
            loop.advance()
    ours, theirs = (loop.state() for loop in loops)
    for entry in ours:
        if ours[entry].dtype.kind == "f":
            error, _ = error_of(ours[entry], np.asarray(theirs[entry]))
            assert error <= 1e-10, entry
        else:
            np.testing.assert_array_equal(ours[entry], theirs[entry], err_msg=entry)
    for loop in loops:
        loop.close()


def test_environments_have_seeds_of_their_own() -> None:
    key = Stream(0).split("environment")
    worlds = [World("CartPole-v1", key, i) for i in range(8)]
    seen = {w.observation.tobytes() for w in worlds}
    for world in worlds:
        while world.episode == 0:
            world.step(0)
        seen.add(world.observation.tobytes())
    assert len(seen) == 16


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "LunarLander-v3"])
def test_a_world_is_put_back_exactly(env_id: str) -> None:
    if env_id.startswith("Lunar"):
        pytest.importorskip("Box2D")
    key = Stream(1).split("environment")
    one, other = World(env_id, key, 0), World(env_id, key, 0)
    draw = (lambda i: i % 2) if one.env.discrete else (lambda i: np.array([0.1 * (i % 7)]))
    for i in range(150):
        one.step(draw(i))
    other.load_state(one.state())
    for i in range(50):
        mine, theirs = one.step(draw(i)), other.step(draw(i))
        np.testing.assert_array_equal(mine[2], theirs[2])
        assert mine[1] == theirs[1]


def test_draws_do_not_depend_on_who_asked_before() -> None:
    rows = Draws(Stream(0), (3,), "normal")
    late = rows[700].copy()
    rows[3]
    np.testing.assert_array_equal(rows[700], late)
    assert not np.array_equal(rows[700], rows[701])


def test_evaluation_scores_whole_episodes() -> None:
    loop = make_loop(RUNS["a2c-torch"])
    scores = evaluate(loop.side, "CartPole-v1", Stream(0), 25)
    again = evaluate(loop.side, "CartPole-v1", Stream(0), 25)
    np.testing.assert_array_equal(scores, again)
    assert (scores >= 8).all()
    assert len(set(scores.tolist())) > 1
    few = evaluate(loop.side, "CartPole-v1", Stream(0), 3)
    np.testing.assert_array_equal(few, scores[:3])
    loop.close()


@pytest.mark.parametrize(
    ("name", "env_id", "dtype"),
    [("ddpg", "Pendulum-v1", "float32"), ("a2c", "CartPole-v1", "float32"),
     ("td3", "Pendulum-v1", "float64")],
)  # fmt: skip
def test_lockstep_agrees(name: str, env_id: str, dtype: str) -> None:
    settings = {**(SMALL if name == "a2c" else OFF)}
    result = lockstep(Asked(name, "torch", env_id, 0, dtype, settings=settings), 12)
    assert result.first is None, result.first
    assert result.updates == 12
    assert all(w.values for w in result.links.values())


def test_lockstep_from_tensorflow_agrees() -> None:
    settings = {**OFF, "n_step": "3", "prioritized": "true"}
    result = lockstep(Asked("dqn", "tf", "CartPole-v1", 0, settings=settings), 6)
    assert result.first is None, result.first


def test_what_float32_cannot_hold_is_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link over its bound is run again in float64: rounding agrees there, a bug does not."""
    asked = Asked("a2c", "torch", "Pendulum-v1", 0, settings=SMALL)
    monkeypatch.setitem(lockstep_module.BOUNDS, "float32", 1e-9)
    result = lockstep(asked, 2)
    assert result.first is None, result.first
    assert result.roundings > 3
    assert result.worst[1].error > 1e-9
    with with_bug("a2c", "value-loss-without-half") as impls:
        wrong = lockstep(asked, 1, impls=impls)
    assert wrong.first is not None
    assert wrong.first["link"] == "loss"


@pytest.mark.parametrize(
    ("error", "left", "rounding"),
    [
        (2e-6, 9e-13, True),
        (2e-6, 2e-12, False),
        (6.1e-5, 1.2e-12, True),  # what is left of an ill-conditioned gradient
        (6.1e-5, 8e-12, False),
        (0.2, 9e-11, True),  # a relu that took another branch
        (0.2, 2e-10, False),  # no more than a whole update may have, however large it was
        (math.inf, 2e-10, False),
        (math.nan, 9e-13, True),
        (math.nan, 2e-12, False),
        (1e-3, math.nan, False),
    ],
)
def test_an_error_that_shrinks_with_precision_is_rounding(
    error: float, left: float, rounding: bool
) -> None:
    assert is_rounding(error, left) is rounding


def test_lockstep_names_the_link_of_a_planted_bug() -> None:
    result = run("lockstep", "ddpg", "--env", "Pendulum-v1", "--updates", "3", "--plant",
                 "gamma-squared", "--set", "hidden_sizes=11", "--set", "batch_size=13",
                 "--set", "learning_starts=50")  # fmt: skip
    assert result.exit_code == 1, result.output
    assert "first difference: update 0, target, target" in result.output


@pytest.mark.parametrize(
    ("plant", "verdict"), [(None, "chaos"), ("epsilon-of-keras", "diverge")], ids=str
)
def test_freerun_tells_chaos_from_a_small_bug(
    tmp_path: Path, plant: str | None, verdict: str
) -> None:
    path, page = tmp_path / "free.json", tmp_path / "free.html"
    result = run("freerun", "ddpg", "--env", "Pendulum-v1", "--updates", "12", "--set",
                 "hidden_sizes=11", "--set", "batch_size=13", "--set", "learning_starts=50",
                 "--json", str(path), "--html", str(page),
                 *(("--plant", plant) if plant else ()))  # fmt: skip
    found = json.loads(path.read_text())
    assert found["verdict"] == verdict
    assert result.exit_code == (0 if verdict == "chaos" else 1)
    assert f"verdict {verdict}" in result.output
    assert "<svg" in page.read_text(encoding="utf-8")


def test_judging() -> None:
    asked = Asked("ddpg", "torch", "x", 0)
    growing = [1e-8 * 10 ** (0.01 * i) for i in range(300)]
    right = judge(
        asked, 300, Series("float32", growing), Series("float64", [d * 2e-9 for d in growing])
    )
    assert (right.verdict, right.float32.horizon) == ("chaos", 201 + 1)
    assert right.growth == pytest.approx(0.01, rel=1e-6)
    assert right.predicted == pytest.approx(202 + 29 * np.log10(2) / 0.01, rel=1e-3)
    same = judge(asked, 300, Series("float32", growing), Series("float64", growing))
    assert same.verdict == "diverge"
    small = [max(d * 2e-9, 1e-11) for d in growing]
    assert (
        judge(asked, 300, Series("float32", growing), Series("float64", small)).verdict == "diverge"
    )
    lost = judge(asked, 3, Series("float32", [float("nan")] * 3), Series("float64", [1e-16] * 3))
    assert lost.float32.horizon == 1
    assert growth_of(Series("float32", [0.0] * 50)) is None


def test_errors_of_many_are_those_of_each() -> None:
    rng = np.random.default_rng(0)
    ours = [rng.normal(0, 10.0**k, (k + 1, 2)) for k in range(-1, 4)]
    pairs = [(a, a * (1 + 1e-7)) for a in ours]
    assert errors_of(pairs) == [error_of(*pair) for pair in pairs]
    odd = [(np.zeros((0, 3)), np.zeros((0, 3))), (ours[2], None), (ours[2], ours[3]),
           (np.arange(3), np.array([0, 1, 3])), (np.float32(2) * ours[1], ours[1])]  # fmt: skip
    assert errors_of([*odd, *pairs]) == [error_of(*pair) for pair in (*odd, *pairs)]
    lost = [*pairs, (ours[1], np.full_like(ours[1], np.nan))]
    assert errors_of(lost) == [error_of(*pair) for pair in lost]
    assert errors_of([]) == []


def test_error_of_arrays() -> None:
    one = np.ones(3)
    assert error_of(one, one * 1.5) == (0.5, 3)
    assert error_of(one * 1e3, one * 1.001e3)[0] == pytest.approx(1e-3)
    assert error_of(one, None)[0] == error_of(one, np.ones(2))[0] == np.inf
    assert error_of(one, np.array([1, np.nan, 1]))[0] == np.inf
    assert error_of(np.array([1, 2]), np.array([1, 3]))[0] == np.inf


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train",), "needs ALGORITHM"),
        (("train", "ppp", *TORCH), "did you mean ppo"),
        (("train", "ddpg", *TORCH), "continuous actions"),
        (("train", "ppo", "--framework", "torch", "--env", "CartPole-v9"), "CartPole-v1"),
        (("train", "ppo", *TORCH, "--set", "gama=1"), "gamma"),
        (("train", "ppo", *TORCH, "--set", "gamma"), "key=value"),
        (("train", "ppo", *TORCH, "--set", "gamma=x"), "float"),
        (("train", "ppo", *TORCH, "--set", "gamma=2"), "gamma=2"),
        (("train", "ppo", *TORCH, "--steps", "0"), "steps=0"),
        (("train", "ppo", *TORCH, "--set", "prioritized=true"), "dqn learns so"),
        (("train", "dqn", *TORCH, "--set", "weighted=true"), "prioritized=true"),
        (("train", "dqn", *TORCH, "--set", "n_step=2000"), "n_step=2000"),
        (("train", "a3c", *TORCH, "--set", "environments=3"), "workers=N"),
        (("lockstep", "a3c", "--env", "CartPole-v1"), "no chain of links"),
        (("train", "--resume", "/nowhere"), "no run here"),
        (("train", "ppo", "--resume", "/nowhere"), "give nothing else"),
        (("train", "ppo", *TORCH, "--threads", "0"), "--threads 0"),
        (("evaluate", "/nowhere"), "no run here"),
        (("curves", "/nowhere"), "no run here"),
        (("lockstep", "ddpg", "--env", "Pendulum-v1", "--updates", "0"), "at least 1"),
        (("freerun", "ddpg", "--env", "Pendulum-v1", "--plant", "nothing"), "gamma-squared"),
    ],
)  # fmt: skip
def test_misuse_is_one_line_and_exit_code_2(arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert said in result.output
    assert "Traceback" not in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_a_run_is_not_begun_over_another(tmp_path: Path) -> None:
    Folder(tmp_path).create(RUNS["a2c-torch"])
    with pytest.raises(ConfigError, match="--resume"):
        Folder(tmp_path).create(RUNS["a2c-torch"])


@pytest.mark.parametrize("name", ["run.json", "checkpoint.trace"])
def test_damaged_files_are_named(tmp_path: Path, name: str) -> None:
    Folder(tmp_path).create(RUNS["a2c-torch"])
    (tmp_path / name).write_bytes(b"{ damaged")
    result = run("train", "--resume", str(tmp_path))
    assert result.exit_code == 2
    assert name in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", ALGORITHMS)
def test_known_settings_fit_their_algorithm(name: str) -> None:
    for env_id in algorithm(name).settings:
        environment = make_environment(env_id)
        config, loop = configure(algorithm(name), environment, {})
        assert config.observation_size == environment.observation_size
        assert loop.steps >= 1
        environment.close()


def test_curves_have_both_frameworks(tmp_path: Path) -> None:
    for framework in ("torch", "tf"):
        folder = Folder(tmp_path / framework)
        folder.create(Asked("a2c", framework, "CartPole-v1", 0))
        for step in (100, 200):
            row = dict.fromkeys(("updates", "episodes", "score", "spread", "best", "seconds"), 1)
            folder.append({**row, "step": step, "evaluation": step / 2})
    out = tmp_path / "curves.svg"
    folders = [str(tmp_path / "torch"), str(tmp_path / "tf")]
    result = run("curves", *folders, "--out", str(out))
    assert result.exit_code == 0, result.output
    text = out.read_text()
    assert "torch, 1 seeds" in text
    assert "tf, 1 seeds" in text
    assert text.count("<polyline") == 2
    event_file_loader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    )
    result = run("curves", *folders, "--out", str(out), "--tensorboard", str(tmp_path / "events"))
    assert result.exit_code == 0, result.output
    for name in ("torch", "tf"):
        read = event_file_loader.EventAccumulator(str(tmp_path / "events" / name)).Reload()
        tag = "a2c/CartPole-v1/evaluation"
        values = [float(read.Tensors(tag)[i].tensor_proto.float_val[0]) for i in range(2)]
        assert [event.step for event in read.Tensors(tag)] == [100, 200]
        assert values == [50.0, 100.0]


def test_one_process_trains_in_a_folder(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.create(RUNS["a2c-torch"])
    with folder.alone():
        result = run("train", "--resume", str(tmp_path))
    assert result.exit_code == 2
    assert "another process trains here" in result.output
    with folder.alone():  # it was let go of
        pass


def test_a_bug_in_what_is_only_reported_is_seen() -> None:
    asked = Asked("ddpg", "torch", "x", 0)
    same, close = [1e-8] * 5, [1e-17] * 5
    narrow = Series("float32", same, [1e-2] * 5)
    assert judge(asked, 5, narrow, Series("float64", close, [1e-2] * 5)).verdict == "diverge"
    assert judge(asked, 5, narrow, Series("float64", close, [1e-11] * 5)).verdict == "chaos"
    found = outputs_apart({"loss": np.float32(2.0)}, {"loss": np.float32(3.0)})
    assert found == 0.5


def test_table_runs_the_pair_and_every_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    some = bugs("ddpg")[4:5]
    assert some[0].id == "gamma-squared"
    monkeypatch.setattr("impls.training.bug_table.bugs", lambda name: some)
    small = ("--set", "hidden_sizes=11", "--set", "batch_size=13", "--set", "learning_starts=50")
    result = run("freerun", "ddpg", "--env", "Pendulum-v1", "--updates", "4", "--table",
                 *small)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "(the correct pair)                   chaos" in result.output
    assert "gamma-squared                        diverge" in result.output
    assert "2 of 2 verdicts right" in result.output


def test_the_table_of_bugs_says_what_each_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """One is seen, one changes nothing there, with one the update cannot be made."""
    known = {m.id: m for m in bugs("ddpg")}
    wanted = ("gamma-squared", "td-error-of-target-network", "gradients-of-the-wrong-network")
    monkeypatch.setattr(table_module, "bugs", lambda name: [known[n] for n in wanted])
    settings = {"hidden_sizes": "5", "batch_size": "7", "learning_starts": "10"}
    told: list[str] = []
    rows = bug_table(
        Asked("ddpg", "torch", "Pendulum-v1", 3, settings=settings), 3, tell=told.append
    )
    found = [(row["bug"], row["verdict"], row["right"]) for row in rows]
    assert found == [
        (CORRECT, "chaos", True),
        ("gamma-squared", "diverge", True),
        ("td-error-of-target-network", "chaos", False),
        ("gradients-of-the-wrong-network", "raises", True),
    ]
    assert "shape (4, 5), its parameter has (3, 5)" in rows[3]["error"]
    assert "NOT SEEN" in told[2]
    assert told[-1] == "3 of 4 verdicts right, 3 updates each"


def test_a_planted_bug_that_raises_is_told_in_one_line() -> None:
    found = run(
        "freerun", "ddpg", "--env", "Pendulum-v1", "--updates", "1", "--set", "hidden_sizes=5",
        "--set", "batch_size=7", "--set", "learning_starts=10",
        "--plant", "gradients-of-the-wrong-network",
    )  # fmt: skip
    assert found.exit_code == 1
    assert found.output.strip().splitlines()[-1] == (
        "with gradients-of-the-wrong-network an update raises ShapeError: gradient 'l1/kernel': "
        "shape (4, 5), its parameter has (3, 5)"
    )
