"""Write docs/learning.md and docs/lockstep.md from what was measured.

    python scripts/training_docs.py

Reads ``runs/learning`` and ``runs/lockstep``. What is not there is said to be not run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from impls.training.curves import curves  # noqa: E402
from scripts import learning_runs, lockstep_runs  # noqa: E402

DOCS = ROOT / "docs"
IMAGES = DOCS / "images"
SEEDS = 3


def learning() -> Iterator[str]:
    """The page about learning."""
    yield LEARNING
    yield "| algorithm | environment | goal | framework | seed 0 | seed 1 | seed 2 |"
    yield "|---|---|---|---|---|---|---|"
    folders = []
    for algorithm, env, goal in learning_runs.GOALS:
        for framework in ("torch", "tf"):
            cells = []
            for seed in range(SEEDS):
                run = learning_runs.Run(algorithm, framework, env, seed, goal)
                found = run.evaluation
                if found is None:
                    cells.append("not run")
                    continue
                folders.append(run.folder)
                below = "" if found["mean"] >= goal else " (below)"
                cells.append(f"{found['mean']:.1f} ± {found['std']:.1f}{below}")
            yield f"| {algorithm} | {env} | {goal:g} | {framework} | {' | '.join(cells)} |"
    if folders:
        IMAGES.mkdir(exist_ok=True)
        (IMAGES / "learning.svg").write_text(curves(sorted(folders)), encoding="utf-8")
        yield ""
        yield "![Evaluation score by environment steps, torch and TensorFlow](images/learning.svg)"


def lockstep() -> Iterator[str]:
    """The page about lockstep and free runs."""
    yield LOCKSTEP
    found = {run.name: (run, _read(run)) for run in lockstep_runs.runs()}
    yield "| algorithm | environment | dtype | updates | values | worst error | where | bound |"
    yield "|---|---|---|---|---|---|---|---|"
    for run, data in found.values():
        if run.arguments[0] != "lockstep":
            continue
        algorithm, env = run.arguments[1], run.arguments[3]
        dtype = run.name.rpartition("-")[2]
        if data is None:
            yield f"| {algorithm} | {env} | {dtype} | not run | | | | |"
            continue
        values = sum(link["values"] for link in data["links"].values())
        worst = data["worst"]
        where = f"{worst['link']}, update {worst['update']:,}: `{worst['entry']}`"
        over = "" if data["agree"] else " **over**"
        if data.get("roundings"):
            over += f"; {data['roundings']:,} arrays `rounding`"
        yield (
            f"| {algorithm} | {env} | {dtype} | {data['updates']:,} | {values:,} | "
            f"{worst['error']:.1e}{over} | {where} | {data['bound']:g} |"
        )
    yield FREERUN
    for algorithm, places in lockstep_runs.PLANTED.items():
        yield from _correct(algorithm, places, found)
        yield from _planted(algorithm, places, found)


def _correct(algorithm: str, places: Any, found: Any) -> Iterator[str]:
    yield f"\n### {algorithm}: the correct pair"
    yield "| environment | seeds | verdicts | float32 over 1e-6 at update | float64 | excess |"
    yield "|---|---|---|---|---|---|"
    for env, _, _ in places:
        rows = [
            found[f"freerun-{algorithm}-{env}-correct-{seed}"][1]
            for seed in range(lockstep_runs.SEEDS)
        ]
        rows = [row for row in rows if row is not None]
        if not rows:
            yield f"| {env} | not run | | | | |"
            continue
        counts = {v: sum(r["verdict"] == v for r in rows) for v in ("chaos", "diverge")}
        verdicts = ", ".join(f"{n} {v}" for v, n in counts.items() if n)
        narrow = _range([r["horizon"]["float32"] for r in rows])
        wide = _range([r["horizon"]["float64"] for r in rows])
        excess = max(float(r["excess_over_rounding"]) for r in rows)
        yield f"| {env} | {len(rows)} | {verdicts} | {narrow} | {wide} | at most {excess:.3g} |"


def _range(horizons: list[int | None]) -> str:
    reached = [h for h in horizons if h is not None]
    if not reached:
        return "never within 400"
    missing = len(horizons) - len(reached)
    return f"{min(reached)} to {max(reached)}" + (
        f"; {missing} never within 400" if missing else ""
    )


def _planted(algorithm: str, places: Any, found: Any) -> Iterator[str]:
    yield f"\n### {algorithm}: planted bugs"
    yield "| bug | " + " | ".join(env for env, _, _ in places) + " |"
    yield "|---|" + "---|" * len(places)
    for plant in lockstep_runs.planted(algorithm):
        cells = []
        for env, _, _ in places:
            data = found[f"freerun-{algorithm}-{env}-planted-{plant}"][1]
            if data is None:
                cells.append("not run")
                continue
            if data["verdict"] == "raises":
                cells.append(data["error"].partition(" an update ")[2])
                continue
            note = f"(excess {float(data['excess_over_rounding']):.1e})"
            why = lockstep_runs.unreached(algorithm, plant, env) or "**not seen**"
            cells.append(f"`diverge` {note}" if data["verdict"] == "diverge" else f"{why} {note}")
        yield f"| {plant} | {' | '.join(cells)} |"


def _read(run: lockstep_runs.Run) -> dict[str, Any] | None:
    return json.loads(run.path.read_text()) if run.path.exists() else None


LEARNING = """\
# The pairs learn
<!-- written by scripts/training_docs.py: run that, do not edit this page -->

Each run is `python -m impls train ALGORITHM --framework torch|tf --env ID --seed N` with the
settings of [impls/training/registry.py](../impls/training/registry.py), one thread, float32;
TensorFlow with `--compiled`, torch without. The numbers are the mean and the standard deviation of
100 episodes, by `python -m impls evaluate RUN --episodes 100`: on seeds that the run has never
seen, of the policy that training itself selected by its own evaluations. All of it:

    python scripts/learning_runs.py     # goes on where it was stopped
    python scripts/training_docs.py     # writes this page
"""

LOCKSTEP = """\
# Lockstep and chaos
<!-- written by scripts/training_docs.py: run that, do not edit this page -->

Two correct implementations, trained on their own, part ways: training is a closed loop and
amplifies rounding. So two questions are asked apart.

## Lockstep: is every update right?
`python -m impls lockstep ALGORITHM --env ID --updates N` trains in the real environment. torch
drives; before each update TensorFlow gets its state, and the same batch and draws. In float32 every
link of the update (target, loss, gradients, clip, optimizer, target networks) is run on both with
the inputs and the state that the driving side has there, and must agree within 1e-6 of the largest
magnitude of each array (at least 1). A link over that is run on both once more in float64, from the
same inputs and state. It is `rounding` where at most 1e-12 is left of the difference, or what 23 of
the 29 more bits leave of it (and no more than 1e-10); else it is a difference. Sums over a batch or
a rollout need this now and then, and gradients behind a saturated unit: PPO on Pendulum, whose
value loss is near 1,000, has errors of 1e-4 there, and of 1e-12 in float64. A `rounding` can also
be large where the function itself jumps: where the input of a relu, or the difference of two action
values, is nearer to zero than the rounding of its terms, the sides take different branches. That is
what the few large errors below are (gradients of an actor, DQN's target); in float64 both take the
same one. In float64 the whole update must agree within 1e-10. The command exits with 1 and names
the first update, link and entry that differ.

    python scripts/lockstep_runs.py --only lockstep     # goes on where it was stopped
    python scripts/training_docs.py                     # writes this page
"""

FREERUN = """
## Free runs: is what comes between them chaos?
`python -m impls freerun ALGORITHM --env ID` lets both train on their own from one seed, in float32
and in float64, and looks at the largest difference of their parameters after each update, and of
what the updates return. Rounding begins 2^29 times smaller in float64 and grows alike, so the
update at which the parameters are 1e-6 apart (the horizon) moves out. A bug does not know the
precision. *Excess* is how many times more than 2^-29 of float32's difference float64's is, at most,
before float32's horizon: near 1 for rounding, up to 5e8 for a bug that makes the same difference in
both. Over 1,000 the verdict is `diverge`.

A bug that training cannot reach changes nothing there, and no free run can see it. Such a cell
says why: DDPG's update does not use its TD error, a stop-gradient that is missing on a target or an
advantage has no effect where that is made outside the tape, compiling anew costs time and no
accuracy, and some need an environment whose episodes end in a certain way. The checks of
`pytest -m parity` catch each of them (see `tests/meta/test_mutants.py`).

    python scripts/lockstep_runs.py --only freerun
    python -m impls freerun ALGORITHM --env ID --table     # every bug, with settings of your own
"""


def main() -> int:
    for name, lines in (("learning", learning()), ("lockstep", lockstep())):
        text = "\n".join(lines).rstrip() + "\n"
        (DOCS / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"docs/{name}.md: {text.count('not run')} not run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
