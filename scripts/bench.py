"""Time the training steps, write benchmarks/steps.json and docs/performance.md.

    python scripts/bench.py [--only ALGORITHM ...] [--threads N] [--device cpu|cuda] [--out FILE]
    python scripts/bench.py --page      # the page again, from what is in benchmarks/

Each algorithm runs in torch and TensorFlow, eager and compiled, beside the floor (its matrix
products alone), Stable-Baselines3 and, for TD3, JAX. A peer that is not installed is a row that
says so; `pip install -c constraints.txt '.[peers]'` installs them. With ``--only`` nothing is
written unless ``--out`` names a file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.bench_cases import CASES  # noqa: E402
from scripts.bench_measure import Settings, read, write_json  # noqa: E402
from scripts.bench_run import ROUNDS, Asked, run  # noqa: E402
from scripts.bench_worker import CONTENDERS, ON_A_GPU  # noqa: E402

STEPS = ROOT / "benchmarks" / "steps.json"


def harness(path: Path) -> dict[str, Any]:
    """Of pytest-benchmark's file what the page shows: medians, and ratios kept beside them."""
    found = read(path)
    rows = [
        {"name": b["name"], "median": b["stats"]["median"], "ratios": b["extra_info"]}
        for b in found["benchmarks"]
    ]
    return {"command": "pytest -m benchmark", "benchmarks": rows}


def parsed(arguments: Iterable[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=CASES, help="these algorithms, no sweep")
    parser.add_argument("--contenders", nargs="+", choices=ON_A_GPU)
    parser.add_argument("--what", nargs="+", choices=ROUNDS, default=list(ROUNDS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="cpu, or cuda: by CUDA events")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--rounds", type=int, help="of each kind, in place of 9, 9 and 5")
    parser.add_argument("--turn", type=float, default=0.1, help="seconds of a turn at least")
    parser.add_argument("--one-process", action="store_true", help="all contenders in this one")
    parser.add_argument("--out", type=Path, help="the JSON file; benchmarks/steps.json if all ran")
    parser.add_argument("--page", action="store_true", help="write docs/performance.md and stop")
    parser.add_argument("--harness", type=Path, help="what `pytest --benchmark-json` wrote")
    return parser.parse_args(None if arguments is None else list(arguments))


def main(arguments: Iterable[str] | None = None) -> int:
    options = parsed(arguments)
    on_cpu = options.device == "cpu"
    whole = not (options.only or options.contenders or options.one_process)
    out = options.out or (STEPS if whole and on_cpu else None)
    if not options.page:
        found = run(
            Asked(
                options.only or tuple(CASES),
                options.contenders or (CONTENDERS if on_cpu else ON_A_GPU),
                Settings(options.device, options.threads, options.clock, options.turn),
                {what: options.rounds or ROUNDS[what] for what in options.what},
                whole=whole and on_cpu,
                one_process=options.one_process,
            )
        )
        if out is not None:
            write_json(out, found)
    if options.harness:
        write_json(STEPS.with_name("harness.json"), harness(options.harness))
    if options.page or out == STEPS:
        from scripts.bench_page import write_page

        write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
