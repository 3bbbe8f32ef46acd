"""Where the time of a cold `pytest -m parity` goes, by component and mode: benchmarks/suite.json.

    python scripts/bench_suite.py [--junit FILE]

Runs the suite as on a machine that has never run it: a new process, and an empty folder for what
Inductor keeps. ``--junit`` takes the durations of a run that was made already with
`pytest -m parity --junitxml=FILE`. The page is written by `python scripts/bench.py --page`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.bench_measure import write_json  # noqa: E402

SUITE = ROOT / "benchmarks" / "suite.json"
SLOWEST = 20
CASE = re.compile(r"\[(?P<component>\w+)/(?P<check>.+?)(?:-(?P<dtype>float\d+)-(?P<mode>\w+))?\]$")


def cold_run(folder: Path) -> tuple[float, Path]:
    """Run the suite; its seconds, start to end, and its durations."""
    report = folder / "junit.xml"
    variables = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}
    command = [sys.executable, "-m", "pytest", "-m", "parity", "-q", "-p", "no:cacheprovider"]
    started = time.monotonic()
    subprocess.run([*command, f"--junitxml={report}"], cwd=ROOT, env=variables, check=True)
    return time.monotonic() - started, report


def profile(report: Path, wall: float | None = None) -> dict[str, Any]:
    """Seconds by component and mode, the slowest tests, and what is no test's own.

    A test's time holds its setup: the first one of a framework pays for the import.
    """
    suite = ElementTree.parse(report).getroot().find("testsuite")
    if suite is None:
        raise SystemExit(f"{report}: not a report of pytest --junitxml")
    seconds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    slowest = []
    for case in suite.iter("testcase"):
        name, took = case.get("name", ""), float(case.get("time", 0))
        found = CASE.search(name)
        component = found["component"] if found else "others"
        mode = "golden" if "test_golden" in name else (found and found["mode"]) or "others"
        seconds[component][mode] += took
        slowest.append((round(took, 2), name))
    total = sum(sum(modes.values()) for modes in seconds.values())
    wall = float(suite.get("time", total)) if wall is None else wall
    return {
        "command": "python scripts/bench_suite.py",
        "seconds": round(wall, 1),
        "tests": len(slowest),
        "outside": round(max(wall - total, 0.0), 1),
        "by_component": {
            name: {mode: round(s, 2) for mode, s in modes.items()}
            for name, modes in sorted(seconds.items(), key=lambda item: -sum(item[1].values()))
        },
        "slowest": sorted(slowest, reverse=True)[:SLOWEST],
    }


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--junit", type=Path, help="durations of a run that was made already")
    options = parser.parse_args(None if arguments is None else list(arguments))
    if options.junit:
        found = profile(options.junit)
    else:
        with tempfile.TemporaryDirectory() as folder:
            wall, report = cold_run(Path(folder))
            found = profile(report, wall)
    write_json(SUITE, found)
    print(f"{found['seconds']:.0f} s, {found['tests']} tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
