"""Contenders measured in turns, each in a process of its own.

One process for all of them would be simpler, but torch's OpenMP threads and TensorFlow's own pool
would then share the cores, one waiting while the other works; ``scripts/bench.py --one-process``
shows what that costs. One contender works at a time, and a turn begins with calls that are not
timed, which bring caches and threads back.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parity.trace import write_atomic
from scripts.bench_cases import Case, environment
from scripts.bench_worker import ROOT, Worker

Seconds = dict[str, list[float]]


@dataclass(frozen=True)
class Settings:
    """How a run measures.

    Attributes:
        threads: of every framework, and cores that a process may use.
        clock: ``wall``, or ``cpu``: what the process used, for one thread on a busy machine.
        turn: seconds that a turn takes at least, long beside a clock's tick.
        log: where the workers' standard error goes.
    """

    device: str = "cpu"
    threads: int = 2
    clock: str = "wall"
    turn: float = 0.1
    log: Any = None


class Remote:
    """A worker in its own process."""

    def __init__(self, name: str, settings: Settings, **variables: str) -> None:
        self.name = name
        command = [sys.executable, str(ROOT / "scripts" / "bench_worker.py"), name]
        command += ["--device", settings.device, "--threads", str(settings.threads)]
        command += ["--clock", settings.clock]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=settings.log,
            text=True,
            cwd=ROOT,
            env={**environment(settings.threads, settings.device, name), **variables},
        )

    def send(self, **request: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            return {"error": f"the process ended with {self.process.wait()}"}
        reply: dict[str, Any] = json.loads(line)
        return reply

    def ask(self, **request: Any) -> dict[str, Any]:
        self.send(**request)
        return self.receive()

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


class Local:
    """A worker in this process: for tests, and to show what sharing a process costs."""

    def __init__(self, name: str, settings: Settings, **variables: str) -> None:
        self.name = name
        self.worker = Worker(name, settings.device, settings.threads, settings.clock)

    def send(self, **request: Any) -> None:
        self.request = request

    def receive(self) -> dict[str, Any]:
        return self.worker.answer(self.request)

    def ask(self, **request: Any) -> dict[str, Any]:
        return self.worker.answer(request)

    def close(self) -> None:
        return


@contextmanager
def workers(
    names: Sequence[str], settings: Settings, *, kind: Any = None, **variables: str
) -> Iterator[dict[str, Any]]:
    """A worker for each name, ended when the block ends."""
    started: dict[str, Any] = {}
    try:
        for name in names:
            started[name] = (kind or Remote)(name, settings, **variables)
        yield started
    finally:
        for worker in started.values():
            worker.close()


def prepare(
    held: Mapping[str, Any], case: Case, *, at_once: bool = False
) -> dict[str, dict[str, Any]]:
    """The facts of every contender's first call; one that failed says why in ``absent``.

    Args:
        at_once: all prepare at the same time: their first calls say nothing then, but are over
            sooner.
    """
    facts = {}
    if at_once:
        for worker in held.values():
            worker.send(do="prepare", case=case.plain())
    for name, worker in held.items():
        if not at_once:
            worker.send(do="prepare", case=case.plain())
        found = worker.receive()
        if "error" in found:
            found = {"absent": found["error"], "can": []}
        facts[name] = found
    return facts


def in_turns(
    held: Mapping[str, Any],
    names: Sequence[str],
    what: str,
    *,
    unit: int,
    rounds: int,
    turn: float,
    fixed: int | None = None,
) -> Seconds:
    """Seconds of one update or one step, per contender and round.

    Args:
        names: who can do it.
        unit: what counts are multiples of.
        turn: seconds that each turn takes at least.
        fixed: the count, where all do the same; else as many as fill a turn.
    """
    counts = {}
    for name in names:
        _run(held[name], what, unit)
        one = _run(held[name], what, unit) / unit
        counts[name] = fixed or max(1, math.ceil(turn / one / unit)) * unit
    seconds: Seconds = {name: [] for name in names}
    for round_ in range(rounds):
        first = round_ % len(names)
        for name in (*names[first:], *names[:first]):
            if fixed is None:
                _run(held[name], what, unit)
            seconds[name].append(_run(held[name], what, counts[name]) / counts[name])
    return {name: [float(f"{s:.5g}") for s in times] for name, times in seconds.items()}


def _run(worker: Any, what: str, count: int) -> float:
    reply = worker.ask(do="run", what=what, count=count)
    if "error" in reply:
        raise RuntimeError(f"{worker.name}, {what}: {reply['error']}")
    return float(reply["seconds"])


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, and the quartiles around it."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    return float(middle), float(low), float(high)


def ratio(seconds: Mapping[str, Sequence[float]], of: str, to: str) -> tuple[float, float, float]:
    """How many times as long ``of`` takes as ``to``: median and quartiles over the rounds.

    Round by round, so that what slows the machine for a while slows both.
    """
    pairs = zip(seconds[of], seconds[to], strict=True)
    return spread([left / right for left, right in pairs])


def best(seconds: Mapping[str, Sequence[float]], names: Sequence[str]) -> str | None:
    """The fastest of those that were measured."""
    there = [name for name in names if seconds.get(name)]
    return min(there, key=lambda name: float(np.median(seconds[name])), default=None)


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write_json(path: Path, found: Mapping[str, Any]) -> None:
    """Replace the file whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, (json.dumps(found, indent=1) + "\n").encode())
