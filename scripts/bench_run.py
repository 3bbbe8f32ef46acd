"""Measuring: one case, all sizes of a sweep, everything there is."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from parity.fingerprint import fingerprint
from scripts.bench_cases import CASES, Case, environment
from scripts.bench_measure import (
    Local,
    Remote,
    Settings,
    in_turns,
    prepare,
    ratio,
    read,
    spread,
    workers,
)

ROOT = Path(__file__).parents[1]
WHATS = ("update", "train", "loop")
SLOW = {"tf-eager": ("update",)}
"""Operation by operation, TensorFlow takes ten times as long; its update alone is timed."""
ROUNDS = {"update": 9, "train": 9, "loop": 5}
BATCHES, WIDTHS = (64, 1024, 4096), (64, 1024)
"""Sizes of the sweeps beside 256 and 256, which is the case itself."""
SHARING = ("floor", "torch-eager", "tf-function")
"""Whose turns in one process are timed as well, to show what sharing costs."""
NOT_TIMED = ("bench_page.py", "bench_plots.py", "bench_bounds.py", "bench_suite.py")
SOURCES = ("impls/**/*.py", "scripts/bench_*.py")


@dataclass(frozen=True)
class Asked:
    """What a run is to measure.

    Attributes:
        rounds: of each kind of run; a kind that is missing is left out.
        whole: everything, with the sweep.
        one_process: all contenders in the caller's process.
    """

    algorithms: Sequence[str]
    contenders: Sequence[str]
    settings: Settings
    rounds: Mapping[str, int]
    whole: bool = False
    one_process: bool = False


def sources() -> str:
    """A mark of the code that was timed: figures of other code are stale."""
    seen = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            if path.name not in NOT_TIMED:
                seen.update(path.read_bytes())
    return seen.hexdigest()[:16]


def measure(
    held: Mapping[str, Any],
    case: Case,
    settings: Settings,
    rounds: Mapping[str, int],
    *,
    swept: bool = False,
) -> dict[str, Any]:
    """Everything about one case: facts of every contender, and seconds by what was run.

    Args:
        swept: of a sweep: first calls and recompilations are not asked for.
    """
    facts = prepare(held, case, at_once=swept)
    found: dict[str, Any] = {"case": case.plain(), "contenders": facts}
    for what in WHATS:
        names = [
            name
            for name, fact in facts.items()
            if what in fact["can"] and what in SLOW.get(name, WHATS)
        ]
        if not names or not rounds.get(what):
            continue
        loop = what == "loop"
        found[what] = in_turns(
            held,
            names,
            what,
            unit=1 if loop else case.period,
            rounds=rounds[what],
            turn=settings.turn,
            fixed=case.chunk if loop else None,
        )
    for name, fact in facts.items():
        if fact["can"] and not swept:
            fact |= held[name].ask(do="finish")
    return found


def sweep(
    held: Mapping[str, Any], case: Case, settings: Settings, rounds: int
) -> list[dict[str, Any]]:
    """Updates of other sizes: as facts, only who was there."""
    points: list[dict[str, Any]] = [{"batch": b, "width": 256} for b in BATCHES]
    points += [{"batch": 256, "width": w} for w in WIDTHS]
    for point in points:
        found = measure(held, case.sized(**point), settings, {"update": rounds}, swept=True)
        point["update"] = found["update"]
        print(f"batch {point['batch']}, width {point['width']}", flush=True)
        print(table(found), flush=True)
    return points


def table(found: Mapping[str, Any]) -> str:
    """Milliseconds, and how many times the first row's, with quartiles."""
    lines = []
    for what in WHATS:
        seconds = found.get(what, {})
        first = next(iter(seconds), "")
        for name in seconds:
            (t, *_), (r, low, high) = spread(seconds[name]), ratio(seconds, name, first)
            lines.append(
                f"  {what:7} {name:14} {t * 1e3:9.3f} ms   {r:6.2f} x {first} "
                f"({low:.2f} to {high:.2f})"
            )
    for name, fact in found.get("contenders", {}).items():
        if "absent" in fact:
            lines.append(f"  {name}: {fact['absent']}")
    return "\n".join(lines)


def run(asked: Asked) -> dict[str, Any]:
    """Measure what was asked for."""
    began, cases = time.monotonic(), {}
    swept: list[dict[str, Any]] = []
    if asked.one_process:
        os.environ.update(environment(asked.settings.threads, asked.settings.device))
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "log", "w") as log:
        settings = replace(asked.settings, log=log)
        # Inductor keeps what it compiled: in a folder of this run's own first calls are first
        fresh = {"TORCHINDUCTOR_CACHE_DIR": str(Path(folder) / "inductor")}
        kind = Local if asked.one_process else Remote
        with workers(asked.contenders, settings, kind=kind, **fresh) as held:
            for name in asked.algorithms:
                cases[name] = measure(held, CASES[name], settings, asked.rounds)
                shown = f"{name} ({time.monotonic() - began:.0f} s)\n{table(cases[name])}"
                print(shown, flush=True)
            if asked.whole:
                swept = sweep(held, CASES["td3"], settings, asked.rounds["update"] // 2 + 1)
    facts = {k: v for k, v in fingerprint().items() if v is not None}
    return {
        "command": "make bench",
        "sources": sources(),
        "settings": asdict(asked.settings),
        "machine": {**facts, **peers()},
        "cases": cases,
        "sweep": swept,
        "together": together(asked.settings) if asked.whole else {},
        "seconds": round(time.monotonic() - began),
    }


def together(settings: Settings) -> dict[str, Any]:
    """TD3's updates again, with torch and TensorFlow in one process."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "together.json"
        command = [sys.executable, str(ROOT / "scripts" / "bench.py"), "--one-process"]
        command += ["--only", "td3", "--what", "update", "--threads", str(settings.threads)]
        command += ["--clock", settings.clock]
        command += ["--contenders", *SHARING, "--out", str(out)]
        variables = environment(settings.threads, settings.device)
        done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-2000:]}")
        found: dict[str, Any] = read(out)["cases"]["td3"]["update"]
        return found


def peers() -> dict[str, str]:
    """Versions of the peers that are installed."""
    from importlib import metadata

    found = {}
    for package in ("stable_baselines3", "jax"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found
