"""Lockstep and free runs that docs/lockstep.md reports on; goes on where it was stopped.

    python scripts/lockstep_runs.py [--only TEXT] [--list]

Each is a process of its own with one thread; its JSON goes to ``runs/lockstep/``; what is there
already is skipped.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "lockstep"

SMALL = ("--set", "hidden_sizes=64,64", "--set", "batch_size=64")
OFF_POLICY = (
    ("ddpg", ("Pendulum-v1", "LunarLanderContinuous-v3")),
    ("td3", ("Pendulum-v1", "LunarLanderContinuous-v3")),
    ("sac", ("Pendulum-v1", "LunarLanderContinuous-v3")),
    ("dqn", ("CartPole-v1", "LunarLander-v3")),
)
ON_POLICY = (
    ("reinforce", ("CartPole-v1", "LunarLander-v3")),
    ("actor_critic", ("CartPole-v1", "LunarLander-v3")),
    ("a2c", ("CartPole-v1", "Pendulum-v1", "LunarLander-v3")),
    ("ppo", ("CartPole-v1", "Pendulum-v1", "LunarLander-v3")),
)
#: Environment, settings and updates that make the planted bugs of an algorithm reachable: all
#: features on, an environment whose episodes terminate and one whose episodes are cut.
PLANTED = {
    "ddpg": (
        (
            "LunarLanderContinuous-v3",
            ("hidden_sizes=64,64", "batch_size=64", "max_gradient_norm=0.5",
             "critic_weight_decay=0.01", "learning_starts=1500", "tau=0.05"),
            40,
        ),
        (
            "Pendulum-v1",
            ("hidden_sizes=64,64", "batch_size=64", "max_gradient_norm=0.5",
             "critic_weight_decay=0.01", "learning_starts=420", "tau=0.05"),
            40,
        ),
    ),
    "a2c": (
        (
            "CartPole-v1",
            ("hidden_sizes=64,64", "shared=true", "normalize_advantage=true",
             "max_gradient_norm=0.2", "optimizer=adam"),
            40,
        ),
        (
            "Pendulum-v1",
            ("hidden_sizes=64,64", "shared=true", "normalize_advantage=false",
             "max_gradient_norm=0.2", "rollout=32"),
            20,
        ),
    ),
}  # fmt: skip
SEEDS = 10


@dataclass(frozen=True)
class Run:
    """One command, and the file that it writes."""

    name: str
    arguments: tuple[str, ...]

    @property
    def path(self) -> Path:
        return RUNS / f"{self.name}.json"

    @property
    def command(self) -> str:
        return "python -m impls " + " ".join(self.arguments)


def runs() -> Iterator[Run]:
    for dtype in ("float32", "float64"):
        for group, updates, more in ((ON_POLICY, 500, ()), (OFF_POLICY, 10_000, SMALL)):
            for algorithm, environments in group:
                for env in environments:
                    yield Run(
                        f"lockstep-{algorithm}-{env}-{dtype}",
                        ("lockstep", algorithm, "--env", env, "--updates", str(updates),
                         "--dtype", dtype, *more),
                    )  # fmt: skip
    for algorithm, places in PLANTED.items():
        for env, settings, updates in places:
            given = tuple(word for s in settings for word in ("--set", s))
            for seed in range(SEEDS):
                yield Run(
                    f"freerun-{algorithm}-{env}-correct-{seed}",
                    ("freerun", algorithm, "--env", env, "--updates", "400", "--seed", str(seed),
                     *given),
                )  # fmt: skip
            for plant in planted(algorithm):
                yield Run(
                    f"freerun-{algorithm}-{env}-planted-{plant}",
                    ("freerun", algorithm, "--env", env, "--updates", str(updates), "--plant",
                     plant, *given),
                )  # fmt: skip


def planted(algorithm: str) -> list[str]:
    """Bugs of the pair; those of the reference take no part in training."""
    sys.path.insert(0, str(ROOT))
    from importlib import import_module

    mutants = import_module(f"impls.{algorithm}.faults").MUTANTS
    return [m.id for m in mutants if m.sibling in ("torch", "tf")]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="", help="runs whose name holds this text")
    parser.add_argument("--list", action="store_true", help="show what there is, run nothing")
    options = parser.parse_args()
    RUNS.mkdir(parents=True, exist_ok=True)
    failed = 0
    for run in runs():
        if options.only not in run.name:
            continue
        if not run.path.exists() and not options.list:
            done = subprocess.run(
                [sys.executable, "-m", "impls", *run.arguments, "--json", str(run.path)],
                cwd=ROOT,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            last = (done.stdout.strip().splitlines() or [""])[-1]
            print(f"{run.name}: exit {done.returncode}: {last}", flush=True)
            failed += not run.path.exists()  # a crash exits with 1 as well
        else:
            print(f"{run.name}: {'done' if run.path.exists() else 'not run'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
