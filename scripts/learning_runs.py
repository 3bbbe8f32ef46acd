"""Train and evaluate what docs/learning.md reports on; goes on where it was stopped.

    python scripts/learning_runs.py [--only TEXT] [--seeds 3] [--list]

Each run is a process of its own with one thread, in ``runs/learning/``; finished ones are skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "learning"
EPISODES = 100

GOALS: tuple[tuple[str, str, float], ...] = (
    ("ppo", "CartPole-v1", 475.0),
    ("a2c", "CartPole-v1", 475.0),
    ("a3c", "CartPole-v1", 475.0),
    ("dqn", "CartPole-v1", 475.0),
    ("reinforce", "CartPole-v1", 400.0),
    ("actor_critic", "CartPole-v1", 400.0),
    ("ddpg", "Pendulum-v1", -200.0),
    ("td3", "Pendulum-v1", -200.0),
    ("sac", "Pendulum-v1", -200.0),
    ("ppo", "LunarLander-v3", 200.0),
    ("dqn", "LunarLander-v3", 200.0),
)
"""Algorithm, environment, and the mean score over 100 fresh episodes that shows that it learns."""


@dataclass(frozen=True)
class Run:
    """One training and its evaluation."""

    algorithm: str
    framework: str
    env: str
    seed: int
    goal: float

    @property
    def folder(self) -> Path:
        return RUNS / f"{self.algorithm}-{self.framework}-{self.env}-{self.seed}"

    @property
    def evaluation(self) -> dict[str, float] | None:
        path = self.folder / "evaluation.json"
        return json.loads(path.read_text()) if path.exists() else None

    @property
    def command(self) -> list[str]:
        """What is run; TensorFlow as a graph, because its eager mode takes ten times as long."""
        if (self.folder / "run.json").exists():
            return ["train", "--resume", str(self.folder)]
        return [
            "train", self.algorithm, "--framework", self.framework, "--env", self.env,
            "--seed", str(self.seed), "--out", str(self.folder),
            *(["--compiled"] if self.framework == "tf" else []),
        ]  # fmt: skip


def runs(seeds: int) -> Iterator[Run]:
    for algorithm, env, goal in GOALS:
        for seed in range(seeds):
            for framework in ("torch", "tf"):
                yield Run(algorithm, framework, env, seed, goal)


def do(run: Run) -> bool:
    """Train and evaluate one; False where it failed."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    for arguments in (
        run.command,
        ["evaluate", str(run.folder), "--episodes", str(EPISODES), "--json"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "impls", *arguments],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            print(f"FAILED {run.folder.name}: {' '.join(arguments)}", flush=True)
            return False
    (run.folder / "evaluation.json").write_text(done.stdout.splitlines()[-1] + "\n")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="", help="runs whose name holds this text")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--list", action="store_true", help="show what there is, run nothing")
    options = parser.parse_args()
    failed = False
    for run in runs(options.seeds):
        if options.only not in run.folder.name:
            continue
        if run.evaluation is None and not options.list:
            failed |= not do(run)
        found = run.evaluation
        shown = "not run" if found is None else f"{found['mean']:.1f} +- {found['std']:.1f}"
        mark = "" if found is None else " ok" if found["mean"] >= run.goal else " BELOW"
        print(f"{run.folder.name:<36} {shown} (goal {run.goal}){mark}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
