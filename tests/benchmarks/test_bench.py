"""The benchmark itself: it runs, it times what it says, and what is missing is a row that says so.

Two rounds of one algorithm; whether anything is fast is asked by ``test_steps_benchmark.py``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts import bench, bench_bounds, bench_page, bench_suite
from scripts.bench_bounds import Bound, bounds
from scripts.bench_cases import CASES, draws, rollout, transitions
from scripts.bench_measure import Settings, in_turns, prepare, ratio, workers, write_json
from scripts.bench_plots import bars, lines

QUICK = ("--rounds", "2", "--turn", "0.001", "--threads", "1")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """DQN in processes of their own, without a peer."""
    for package in ("torch", "tensorflow", "gymnasium"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    out = tmp_path_factory.mktemp("bench") / "steps.json"
    contenders = ("floor", "torch-eager", "tf-function")
    arguments = ["--only", "dqn", "--contenders", *contenders, "--out", str(out), *QUICK]
    assert bench.main(arguments) == 0
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def test_every_contender_was_timed_in_every_round(measured: dict[str, Any]) -> None:
    found = measured["cases"]["dqn"]
    ours = {"torch-eager", "tf-function"}
    assert found["update"].keys() == {"floor", *ours}
    assert found["train"].keys() == found["loop"].keys() == ours
    for what in ("update", "train", "loop"):
        assert all(len(s) == 2 and min(s) > 0 for s in found[what].values())


def test_they_compute_the_same_update(measured: dict[str, Any]) -> None:
    facts = measured["cases"]["dqn"]["contenders"]
    np.testing.assert_allclose(
        facts["torch-eager"]["losses"], facts["tf-function"]["losses"], rtol=1e-5
    )
    assert facts["torch-eager"]["parameters"] == facts["tf-function"]["parameters"] == 4610
    assert facts["tf-function"]["traces"] == 1
    assert facts["tf-function"]["retraces"]["learning_rate"] == 0


def test_the_floor_is_below(measured: dict[str, Any]) -> None:
    assert ratio(measured["cases"]["dqn"]["update"], "torch-eager", "floor")[0] > 1


def test_the_page_shows_it(
    measured: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_page, "BENCHMARKS", tmp_path)
    monkeypatch.setattr(bench_page, "DOCS", tmp_path)
    dqn = measured["cases"]["dqn"]
    facts = {**dqn["contenders"], "sb3": {"absent": "not installed", "can": []}}
    # DQN's figures under every name: each has its row
    cases = {n: {**dqn, "case": asdict(CASES[n]), "contenders": facts} for n in CASES}
    write_json(tmp_path / "steps.json", {**measured, "cases": cases})
    bench_page.write_page()
    text = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert "| dqn, 64-64, batch 64 | not installed |" in text
    assert "| dqn, CartPole-v1 | not installed |" in text
    assert "not measured, at most 1" in text
    assert "| a2c, 64-64, rollout 16 x 8 |" in text
    assert "| a3c, 64-64, rollout 16 x 1 |" in text


def test_a_contender_that_fails_is_a_row() -> None:
    class Broken:
        def send(self, **request: Any) -> None:
            assert request["do"] == "prepare"

        def receive(self) -> dict[str, Any]:
            return {"error": "ValueError: no such thing"}

    assert prepare({"sb3": Broken()}, CASES["dqn"]) == {
        "sb3": {"absent": "ValueError: no such thing", "can": []}
    }


def test_a_peer_that_is_not_installed_says_so() -> None:
    pytest.importorskip("torch")
    from scripts.bench_jax import Jax
    from scripts.bench_ours import imported, wall
    from scripts.bench_sb3 import StableBaselines

    assert imported("no_such_package_at_all") is None
    jax, sb3 = Jax(wall), StableBaselines("cpu", wall)
    jax.jax = sb3.library = None
    for contender in (jax, sb3):
        assert contender.prepare(CASES["td3"]) == {"absent": "not installed"}
    assert sb3.prepare(CASES["reinforce"]) == {"absent": "not in Stable-Baselines3"}


def forward_flops(rows: int, sizes: Sequence[int]) -> int:
    return sum(2 * rows * i * o for i, o in zip(sizes[:-1], sizes[1:], strict=True))


def beyond_the_floor(name: str, config: Any, rows: int) -> int:
    """Products of the eager update that the floor leaves out, since no update needs them."""
    observation, hidden = config.observation_size, config.hidden_sizes
    if name in ("td3", "ddpg", "sac"):
        # autograd makes the critics' gradient of the observation as well, next to the action's
        return forward_flops(rows, [observation, hidden[0]]) * (2 if name == "sac" else 1)
    if name == "dqn":  # the td_error that it returns
        return forward_flops(rows, [observation, *hidden, config.action_size])
    if name in ("a2c", "a3c", "actor_critic"):  # the advantage's values, made again by the loss
        return forward_flops(rows, [observation, *hidden, 1])
    return 0


@pytest.mark.parametrize("name", CASES)
def test_the_floor_is_the_updates_own_products(name: str) -> None:
    """Counted by torch in an eager update; what comes on top of the floor is accounted for."""
    pytest.importorskip("gymnasium")
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    from scripts.bench_floor import make_floor

    case = CASES[name] if CASES[name].on_policy else CASES[name].sized(batch=31)
    config, loop = case.configs()
    period, nets = make_floor(case)
    period()
    floor = sum(net.flops for net in nets)
    learner = import_module(f"impls.{name}.torch_impl").make_learner(config, dtype="float32")
    if case.on_policy:
        batch = rollout(case, config, loop)
    else:
        batch = transitions(config, loop.batch_size)
    tensors = {n: torch.as_tensor(v) for n, v in batch.items()}
    drawn = {n: torch.as_tensor(v) for n, v in draws(case, config, batch).items()}
    with FlopCounterMode(display=False) as counter:
        for _ in range(case.period):
            learner.update(tensors, drawn)
    beyond = counter.get_total_flops() - floor
    assert 0 <= beyond <= beyond_the_floor(name, config, batch["reward"].size)


def test_what_a_cuda_graph_records_is_a_period_of_updates() -> None:
    """On a CPU the recorded updates run as they are; recording itself needs a GPU."""
    pytest.importorskip("gymnasium")
    pytest.importorskip("torch")
    from scripts.bench_cuda import Graph
    from scripts.bench_ours import wall

    graph = Graph("torch", "eager", "cpu", 1, wall)
    graph.prepare(CASES["td3"].sized(batch=16, width=8))
    before = graph.learner.step
    assert graph.run("update", 6) > 0
    assert graph.learner.step == before + 6


def test_turns_go_round_and_ratios_are_of_one_round() -> None:
    class Fake:
        def __init__(self, name: str, seconds: float) -> None:
            self.name, self.seconds = name, seconds

        def ask(self, **request: Any) -> dict[str, Any]:
            if request["count"] == 6:
                order.append(self.name)
                slow = 3 if len(order) > 2 else 1  # the machine is busy in the second round
                return {"seconds": slow * 6 * self.seconds}
            return {"seconds": request["count"] * self.seconds}

    order: list[str] = []
    held = {"a": Fake("a", 0.5), "b": Fake("b", 1.0)}
    seconds = in_turns(held, ["a", "b"], "loop", unit=1, rounds=2, turn=0.0, fixed=6)
    assert order == ["a", "b", "b", "a"]
    assert seconds == {"a": [0.5, 1.5], "b": [1.0, 3.0]}
    assert ratio(seconds, "b", "a") == (2.0, 2.0, 2.0)


def test_a_bound_is_missed_or_reached() -> None:
    cases = {
        "td3": {
            "update": {"floor": [1.0], "torch-eager": [1.5], "torch-compile": [1.1], "jax": [1.0]},
            "train": {"torch-compile": [1.0], "sb3": [1.3]},
        }
    }
    found = {b.id: b for b in bounds(cases)}
    assert found["td3-torch-floor"].met is True
    assert found["td3-torch-sb3"].met is False and "1.30" in found["td3-torch-sb3"].shown()
    assert found["td3-tf-floor"].met is None
    assert found["td3-torch-train"].met is True
    assert not Bound("x", "x", (1.21, 1.2, 1.3), 1.2).met


def test_notes_name_bounds_that_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = {b.id for b in bounds({name: {} for name in CASES})}
    assert bench_bounds.noted() <= ids
    note = tmp_path / "notes.md"
    note.write_text("### Missed: `td3-tf-floor`, ppo-tf-train\ntext\n", encoding="utf-8")
    monkeypatch.setattr(bench_bounds, "NOTES", note)
    assert bench_bounds.noted() == {"td3-tf-floor", "ppo-tf-train"}


def test_pictures_are_drawn_for_any_contenders() -> None:
    seconds = {"floor": [1.0, 1.0], "tf-eager": [30.0, 30.0], "jax": [1.2, 1.2]}
    picture = bars(seconds, "t")
    assert "1200.00 ms, 1.20 x floor<" in picture
    assert "30000.00 ms, 30.00 x floor …<" in picture  # the bar is cut off
    picture = lines({"batch": {64: seconds, 4096: seconds}}, "t")
    assert picture.count("<polyline") == 2 and "tf-eager" not in picture


def test_the_suites_time_by_component_and_mode(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    names = (
        ("test_parity[td3/chain.critic_loss[one-row]-float32-eager]", 1.5),
        ("test_parity[td3/composed.update[pendulum]-float64-xla]", 2.0),
        ("test_golden[td3/chain.critic_loss[one-row]]", 0.25),
        ("test_everything_is_covered", 0.5),
    )
    cases = "".join(f'<testcase name="{n}" time="{t}"/>' for n, t in names)
    report.write_text(f'<testsuites><testsuite time="6">{cases}</testsuite></testsuites>')
    found = bench_suite.profile(report)
    assert found["by_component"] == {
        "td3": {"eager": 1.5, "xla": 2.0, "golden": 0.25},
        "others": {"others": 0.5},
    }
    assert (found["seconds"], found["outside"], found["tests"]) == (6.0, 1.8, 4)
    assert found["slowest"][0] == (2.0, names[1][0])


def test_workers_end_with_their_block() -> None:
    pytest.importorskip("torch")
    with workers(["floor"], Settings(threads=1)) as held:
        process = held["floor"].process
        assert held["floor"].ask(do="run", what="update", count=1)["error"].startswith("Attribute")
    assert process.returncode == 0
