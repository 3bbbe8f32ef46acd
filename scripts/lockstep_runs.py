"""Lockstep and free runs that docs/lockstep.md reports on; goes on where it was stopped.

    python scripts/lockstep_runs.py [--only TEXT] [--list]

Each is a process of its own with one thread; its JSON goes to ``runs/lockstep/``; what is there
already is skipped.
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
RUNS = ROOT / "runs" / "lockstep"

SMALL = ("--set", "hidden_sizes=64,64", "--set", "batch_size=64")
OFF_POLICY = (
    ("ddpg", ("Pendulum-v1", "LunarLanderContinuous-v3")),
    ("td3", ("Pendulum-v1", "LunarLanderContinuous-v3")),
    ("sac", ("Pendulum-v1", "LunarLanderContinuous-v3")),
    ("dqn", ("CartPole-v1", "LunarLander-v3")),
)
ON_POLICY = (
    ("reinforce", ("CartPole-v1", "Pendulum-v1", "LunarLander-v3")),
    ("actor_critic", ("CartPole-v1", "Pendulum-v1", "LunarLander-v3")),
    ("a2c", ("CartPole-v1", "Pendulum-v1", "LunarLander-v3")),
    ("ppo", ("CartPole-v1", "Pendulum-v1", "LunarLander-v3")),
)
#: Smaller rollouts than those it learns from: 4,096 steps take longer to make than to compare.
ROLLOUTS = {
    ("ppo", "LunarLander-v3"): (
        "--set", "environments=8", "--set", "rollout=64", "--set", "minibatches=4",
    )
}  # fmt: skip
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
            # so small a bound is met by the actor's gradients too
            ("hidden_sizes=64,64", "batch_size=64", "max_gradient_norm=0.01",
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
NOT_USED = "no update uses it"
OUTSIDE = "made outside the tape: that gradient is zero anyway"
NO_ACCURACY = "costs time, and no accuracy"
NO_TERMINATION = "Pendulum never terminates"
NO_LIMIT = "no episode meets its time limit so early"
NOT_NORMALISED = "advantages are not normalised in this setting"
#: (algorithm, bug, environment) -> why training there cannot show the bug; "*": anywhere.
UNREACHED = {
    ("ddpg", "td-error-of-target-network", "*"): NOT_USED,
    ("ddpg", "missing-stop-gradient", "*"): OUTSIDE,
    ("ddpg", "traced-anew-in-every-update", "*"): NO_ACCURACY,
    ("ddpg", "no-terminated-mask", "Pendulum-v1"): NO_TERMINATION,
    ("ddpg", "time-limit-as-end", "LunarLanderContinuous-v3"): NO_LIMIT,
    ("ddpg", "actor-not-clipped", "LunarLanderContinuous-v3"): "its gradients are below the bound",
    ("a2c", "terminal-state-bootstrapped", "Pendulum-v1"): NO_TERMINATION,
    ("a2c", "time-limit-as-end", "CartPole-v1"): NO_LIMIT,
    ("a2c", "episode-goes-on-after-a-time-limit", "CartPole-v1"): NO_LIMIT,
    ("a2c", "normalised-per-environment", "Pendulum-v1"): NOT_NORMALISED,
    ("a2c", "normalised-by-n-minus-one", "Pendulum-v1"): NOT_NORMALISED,
    ("a2c", "advantage-not-detached", "*"): OUTSIDE,
    ("a2c", "target-not-detached", "*"): OUTSIDE,
    ("a2c", "entropy-of-the-sum", "Pendulum-v1"): "a Gaussian's entropy is one number for all rows",
    ("a2c", "log-of-probability-plus-epsilon", "Pendulum-v1"): "a Gaussian has no probabilities",
    ("a2c", "step-not-applied-to-log-std", "CartPole-v1"): "discrete actions have no log_std",
    ("a2c", "traced-anew-in-every-update", "*"): NO_ACCURACY,
}


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
                         "--dtype", dtype, *more, *ROLLOUTS.get((algorithm, env), ())),
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


def unreached(algorithm: str, plant: str, env: str) -> str | None:
    """Why training in an environment cannot show a bug; None: it should."""
    keys = ((algorithm, plant, place) for place in (env, "*"))
    return next((UNREACHED[key] for key in keys if key in UNREACHED), None)


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
            if " an update raises " in last and not run.path.exists():
                run.path.write_text(json.dumps({"verdict": "raises", "error": last}) + "\n")
            print(f"{run.name}: exit {done.returncode}: {last}", flush=True)
            failed += not run.path.exists()  # a crash exits with 1 as well
        else:
            print(f"{run.name}: {'done' if run.path.exists() else 'not run'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
