"""Every algorithm learns, in both frameworks: minutes for each run, so only with -m learning."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("torch")
pytest.importorskip("tensorflow")
pytest.importorskip("gymnasium")

ROOT = Path(__file__).parents[2]


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


learning_runs = _script("learning_runs")
RUNS = list(learning_runs.runs(seeds=3))


@pytest.mark.learning
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.folder.name)
def test_learns(run: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy that training selected reaches its goal on 100 episodes that it has never seen."""
    if "Lunar" in run.env:  # type: ignore[attr-defined]
        pytest.importorskip("Box2D")
    monkeypatch.setattr(learning_runs, "RUNS", tmp_path)
    assert learning_runs.do(run), "the training or its evaluation failed"
    found = run.evaluation  # type: ignore[attr-defined]
    assert found["episodes"] == learning_runs.EPISODES
    assert found["mean"] >= run.goal, found  # type: ignore[attr-defined]


def test_a_goal_is_set_for_every_algorithm() -> None:
    """In the default suite: a new algorithm cannot be left out of the runs."""
    from impls.training.registry import ALGORITHMS

    assert {run.algorithm for run in RUNS} == set(ALGORITHMS)
    assert len({run.folder for run in RUNS}) == len(RUNS)
