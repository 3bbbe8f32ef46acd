"""What `parity check` costs beside the plain passes of both sides: time, memory, and their growth.

    python scripts/scaling.py                      # measure everything: the JSON, the plot, a table
    python scripts/scaling.py --only parameters    # or --only depth
    python scripts/scaling.py --plot               # draw what was measured before

A run that was broken off goes on where it was.

A pair is a chain of dense layers with ReLU. Each point is a process of its own, in which checks
and plain passes (forward and backward, eager, float32, the same inputs) take turns; figures are
medians. Seconds on the clock mean something on a quiet machine only; the processor's stand beside.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from parity.trace import write_atomic  # noqa: E402

RESULTS = ROOT / "benchmarks" / "scaling.json"
UNFINISHED = ROOT / "runs" / "scaling.part.json"
"""Points of a run that was broken off: the next one goes on from there."""
PICTURE = ROOT / "docs" / "images" / "scaling.svg"
LAYERS, ROWS = 6, 256
PARAMETERS = (1e6, 3e6, 10e6, 30e6, 100e6)
DEPTHS, NARROW, FEW = (4, 8, 16, 32, 64, 128, 256), 16, 16

Point = dict[str, Any]


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("parameters", "depth"))
    parser.add_argument("--most", type=float, default=max(PARAMETERS), help="parameters")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plot", action="store_true", help="draw what was measured before")
    parser.add_argument("--point", nargs=3, type=int, metavar=("DEPTH", "WIDTH", "ROWS"))
    options = parser.parse_args(arguments)
    if options.point:
        print(json.dumps(measure(*options.point, rounds=options.rounds)))
        return 0
    found = _read(RESULTS)
    if not options.plot:
        sizes = {"parameters": [n for n in PARAMETERS if n <= options.most], "depth": DEPTHS}
        for series, wanted in sizes.items():
            if options.only in (None, series):
                found[series] = _measured(series, wanted, rounds=options.rounds)
    _write(RESULTS, found)
    write_atomic(PICTURE, plot(found).encode())
    if not options.plot:
        UNFINISHED.unlink(missing_ok=True)
    print(table(found))
    return 0


def _measured(series: str, sizes: Sequence[float], *, rounds: int) -> list[Point]:
    """The points of one series; those that a run measured before it was broken off are kept."""
    known = {tuple(p["shape"]): p["point"] for p in _read(UNFINISHED).get(series, [])}
    found: list[Point] = []
    for size in sizes:
        key = (*_shape(series, size), rounds)
        if key not in known:
            (known[key],) = points(series, [size], rounds=rounds)
            kept = [{"shape": list(k), "point": p} for k, p in known.items()]
            _write(UNFINISHED, {**_read(UNFINISHED), series: kept})
        found.append(known[key])
    return found


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text())) if path.is_file() else {}


def _write(path: Path, found: Mapping[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    write_atomic(path, (json.dumps(found, indent=1) + "\n").encode())


def _shape(series: str, size: float) -> tuple[int, int, int]:
    """Layers, their width, and rows of a point of ``parameters`` or ``depth``."""
    if series == "parameters":
        return LAYERS, round((size / LAYERS) ** 0.5), ROWS
    return int(size), NARROW, FEW


def points(series: str, sizes: Sequence[float], *, rounds: int) -> Iterator[Point]:
    """The points of ``parameters`` or ``depth``, each measured in a process of its own."""
    for size in sizes:
        shape = _shape(series, size)
        command = [sys.executable, __file__, "--rounds", str(rounds), "--point", *map(str, shape)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        point: Point = json.loads(done.stdout.splitlines()[-1])
        print(_row(point), file=sys.stderr, flush=True)
        yield point


def measure(depth: int, width: int, rows: int, *, rounds: int) -> Point:
    """One pair: checks and plain passes in turns, in this process.

    Returns:
        ``parameters`` of one side, and for ``plain`` and ``check`` the medians ``seconds`` and
        ``cpu`` (the process's), and ``peak``: most MB held beyond the imported frameworks; and on
        how many rows the float64 evidence was taken.
    """
    from parity.quiet import import_frameworks

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import_frameworks()
    import numpy as np

    from parity.debug.check import check

    start = resident()
    one, other = _torch_chain(depth, width), _tf_chain(depth, width)
    data = np.random.default_rng(0).standard_normal((rows, width)).astype(np.float32)
    verdicts, wide = [], 0
    plain, checked = _Clock(start), _Clock(start)
    for clock, work in (
        (plain, lambda: _passes(one, other, data)),
        (checked, lambda: check(one, other, {"x": data})),
    ):
        clock.run(work)
        clock.begin()
    # TensorFlow keeps what it once held for itself, so that what runs later seems to hold it too
    plain_holds, check_holds = plain.peak, checked.peak
    for _ in range(rounds):
        plain.run(lambda: _passes(one, other, data))
        report = checked.run(lambda: check(one, other, {"x": data}))
        verdicts.append(str(report.verdict))
        wide = len(report.subject.get("float64_rows", data))
    count = sum(p.numel() for p in one.parameters())
    shape = {"depth": depth, "width": width, "rows": rows, "parameters": count}
    plain.peak, checked.peak = plain_holds, check_holds
    figures = {"plain": plain.figures(), "check": checked.figures()}
    about = {"verdicts": sorted(set(verdicts)), "float64_rows": wide, "cores": os.cpu_count()}
    return {**shape, **figures, **about}


def _torch_chain(depth: int, width: int) -> Any:
    import torch

    made = [f for _ in range(depth) for f in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    return torch.nn.Sequential(*made)


def _tf_chain(depth: int, width: int) -> Any:
    import keras

    made = [keras.layers.Dense(width, activation="relu") for _ in range(depth)]
    return keras.Sequential([keras.layers.Input((width,)), *made])


def _passes(one: Any, other: Any, data: Any) -> None:
    """Forward and backward of both sides, as a user runs them."""
    import tensorflow as tf
    import torch

    given = torch.from_numpy(data).requires_grad_(True)
    torch.autograd.grad(one(given).sum(), [given, *one.parameters()])
    fed = tf.constant(data)
    with tf.GradientTape() as tape:
        tape.watch(fed)
        total = tf.reduce_sum(other(fed, training=False))
    found = tape.gradient(total, [fed, *other.trainable_variables])
    found[0].numpy()  # the operations may still be running


class _Clock:
    """Seconds, processor seconds and memory of what is run under it."""

    def __init__(self, start: float) -> None:
        self.start = start
        self.seconds: list[float] = []
        self.cpu: list[float] = []
        self.peak = 0.0

    def run(self, work: Callable[[], Any]) -> Any:
        stop = threading.Event()
        watch = threading.Thread(target=self._watch, args=(stop,), daemon=True)
        watch.start()
        began = time.perf_counter(), time.process_time()
        try:
            return work()
        finally:
            self.seconds.append(time.perf_counter() - began[0])
            self.cpu.append(time.process_time() - began[1])
            stop.set()
            watch.join()

    def begin(self) -> None:
        """Forget the seconds of what ran to warm up; the memory that it took counts."""
        self.seconds.clear()
        self.cpu.clear()

    def _watch(self, stop: threading.Event) -> None:
        while not stop.wait(0.01):
            self.peak = max(self.peak, resident() - self.start)

    def figures(self) -> dict[str, float]:
        return {
            "seconds": round(statistics.median(self.seconds), 4),
            "cpu": round(statistics.median(self.cpu), 4),
            "peak": round(self.peak),
        }


def resident() -> float:
    """MB of memory that this process holds now (Linux); 0 where that cannot be told."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


def slope(points: Sequence[Point], over: str, figure: str = "cpu") -> float:
    """Exponent of the growth: the least-squares line through the logarithms."""
    import numpy as np

    x = np.log([p[over] for p in points])
    return float(np.polyfit(x, np.log([p["check"][figure] for p in points]), 1)[0])


def section(found: Mapping[str, Sequence[Point]] | None) -> str:
    """What the page about performance says of this; None: nothing was measured yet."""
    head = "## Cost of a check\n    python scripts/scaling.py\n"
    if not found:
        return f"{head}\nNot measured yet: run `python scripts/scaling.py`."
    return f"""{head}
`parity check` of a chain of dense layers with ReLU, beside the plain passes of both sides (forward
and backward, eager, float32, the same {ROWS} rows), in turns in one process. A check runs both
sides in float32 and in float64, moves the weights and compares every layer and gradient; up to a
few million parameters its time is that of Python and of the frameworks' calls, so a ratio says
little there. *Holds* is the most memory beyond the imported frameworks. Narrow layers ({NARROW}
wide, {FEW} rows) show the growth with depth.

{table(found)}

![Processor seconds of a check and of the plain passes, over parameters and over depth, logarithmic
axes](images/scaling.svg)
"""


def table(found: Mapping[str, Sequence[Point]]) -> str:
    """Markdown: a table and a sentence for each series."""
    names = "layers,width,rows,parameters,plain,check,ratio,ratio of CPU,plain holds,check holds"
    head = f"| {' | '.join(names.split(','))} |\n{'|---:' * 10}|"
    parts = []
    for series, points in found.items():
        parts.append("\n".join([head, *map(_row, points)]))
        if len(points) > 1:
            parts.append(f"`{series}`: {_growth(series, points)}.")
    return "\n\n".join(parts)


def _growth(series: str, points: Sequence[Point]) -> str:
    ends = [points[0][series], points[-1][series]]
    whole, last = slope(points, series), slope(points[-3:], series)
    return (
        f"from {ends[0]:,} to {ends[1]:,} the check's time grows with exponent {whole:.2f} "
        f"({last:.2f} over the last three points; 1 is linear)"
    )


def _row(p: Point) -> str:
    plain, checked = p["plain"], p["check"]
    ratios = [checked[k] / plain[k] for k in ("seconds", "cpu")]
    cells = [p["depth"], p["width"], p["rows"], f"{p['parameters']:,}"]
    cells += [f"{x['seconds']:.3g} s" for x in (plain, checked)]
    cells += [f"{r:.2f}" for r in ratios] + [f"{x['peak']:,.0f} MB" for x in (plain, checked)]
    return "| " + " | ".join(map(str, cells)) + " |"


def plot(found: Mapping[str, Sequence[Point]]) -> str:
    """Both series as an SVG: check and plain passes, logarithmic axes."""
    from scripts.scaling_plot import picture

    panels = {
        f"{series} ({_growth(series, points).partition(' with ')[2].partition(' (')[0]})": {
            name: [(p[series], p[name]["cpu"]) for p in points] for name in ("check", "plain")
        }
        for series, points in found.items()
        if len(points) > 1
    }
    return picture(panels, "processor seconds of a check and of the plain passes of both sides")


if __name__ == "__main__":
    sys.exit(main())
