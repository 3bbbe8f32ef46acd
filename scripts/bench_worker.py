"""A process that holds one contender and does what it is told, one line of JSON at a time.

    python scripts/bench_worker.py torch-compile --threads 2 --device cpu

Reads requests from standard input, writes an answer to each to standard output; whatever a library
prints goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from parity.quiet import import_tensorflow  # noqa: E402
from scripts.bench_cases import Case  # noqa: E402

OURS = {
    "torch-eager": ("torch", "eager"),
    "torch-compile": ("torch", "compile"),
    "tf-eager": ("tf", "eager"),
    "tf-function": ("tf", "function"),
    "tf-xla": ("tf", "xla"),
}
CONTENDERS = ("floor", *OURS, "sb3", "jax")
ON_A_GPU = (*CONTENDERS, "torch-graph")
"""A CUDA graph is for a GPU alone."""


def make_contender(name: str, device: str, threads: int, clock: str = "wall") -> Any:
    """The contender; its framework is imported here, after the threads have been fixed."""
    from scripts.bench_ours import Floor, Ours, processor, wall

    time_of: Any = {"wall": wall, "cpu": processor}[clock]
    if name == "jax":
        from scripts.bench_jax import Jax

        return Jax(time_of)
    if name in OURS and OURS[name][0] == "tf":
        import_tensorflow()
        return Ours(*OURS[name], device, threads, time_of)
    import torch

    torch.set_num_threads(threads)
    if device != "cpu":
        from scripts.bench_cuda import events as time_of
    if name == "torch-graph":
        from scripts.bench_cuda import Graph

        return Graph("torch", "eager", device, threads, time_of)
    if name in OURS:
        return Ours(*OURS[name], device, threads, time_of)
    if name == "floor":
        return Floor(device, time_of)
    from scripts.bench_sb3 import StableBaselines

    return StableBaselines(device, time_of)


class Worker:
    """Answers requests; the same in a process of its own and in the caller's."""

    def __init__(self, name: str, device: str, threads: int, clock: str = "wall") -> None:
        self.contender = make_contender(name, device, threads, clock)
        self.imported = _memory("VmRSS")

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        what = request["do"]
        if what == "prepare":
            facts = self.contender.prepare(Case(**request["case"]))
            facts["can"] = [] if "absent" in facts else list(self.contender.can)
            return facts
        if what == "run":
            return {"seconds": self.contender.run(request["what"], request["count"])}
        # the most that it has held so far, above what importing the framework took
        peak = max(_memory("VmHWM") - self.imported, 0)
        return {"memory": peak, "retraces": self.contender.retraces()}


def _memory(field: str) -> int:
    """Bytes, as the kernel counts them; 0 where it is not Linux's."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(x.split()[1]) * 1024 for x in lines if x.startswith(f"{field}:")), 0)


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("contender", choices=ON_A_GPU)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    options = parser.parse_args(None if arguments is None else list(arguments))
    warnings.filterwarnings("ignore")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if hasattr(os, "sched_setaffinity"):
        # JAX takes as many threads as there are cores: so everyone gets so many cores
        cores = sorted(os.sched_getaffinity(0))[: options.threads]
        os.sched_setaffinity(0, cores)
    worker: Worker | None = None
    for line in sys.stdin:
        try:
            worker = worker or Worker(
                options.contender, options.device, options.threads, options.clock
            )
            reply = worker.answer(json.loads(line))
        except Exception as error:  # the caller reports it beside the contender's name
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
