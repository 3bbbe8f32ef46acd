"""docs/performance.md and its pictures, from what is in benchmarks/."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts import scaling
from scripts.bench_bounds import SIDES, Bound, bounds, noted, notes
from scripts.bench_measure import best, ratio, read, spread
from scripts.bench_plots import bars, lines

ROOT = Path(__file__).parents[1]
BENCHMARKS, DOCS = ROOT / "benchmarks", ROOT / "docs"
ORDER = (
    "floor", "torch-eager", "torch-compile", "tf-eager", "tf-function", "tf-xla", "sb3", "jax",
)  # fmt: skip


def write_page() -> None:
    """Write the page; a part whose file is missing says so."""
    text = "\n".join(page()).rstrip() + "\n"
    (DOCS / "performance.md").write_text(text, encoding="utf-8")


def page() -> Iterator[str]:
    yield HEAD
    steps = _found("steps")
    if steps is None:
        yield "Not measured yet: run `make bench`."
    else:
        yield from _about(steps)
        yield from _updates(steps["cases"])
        yield from _peers(steps["cases"])
        yield from _loops(steps["cases"])
        yield from _first_calls(steps["cases"])
        yield from _sweep(steps)
        yield from _together(steps)
        yield from _bounds(steps["cases"])
    yield from _harness(_found("harness"))
    yield "\n" + scaling.section(_found("scaling"))
    yield from _suite(_found("suite"))
    if notes():
        yield "\n" + notes()


def _found(name: str) -> dict[str, Any] | None:
    path = BENCHMARKS / f"{name}.json"
    return read(path) if path.exists() else None


def _about(steps: Mapping[str, Any]) -> Iterator[str]:
    machine, settings = steps["machine"], steps["settings"]
    versions = ", ".join(
        f"{label} {machine[key]}"
        for key, label in VERSIONS.items()
        if machine.get(key, "not installed") != "not installed"
    )
    yield (
        f"Measured on {machine['cpu']}, {machine['cpus']} cores, {settings['threads']} threads "
        f"for everyone, device {settings['device']}, in {steps['seconds'] / 60:.0f} minutes. "
        f"{versions}.\n"
    )


def _updates(cases: Mapping[str, Any]) -> Iterator[str]:
    yield UPDATES
    there = [n for n in ORDER if any(n in c.get("update", {}) for c in cases.values())]
    yield f"| algorithm | {' | '.join(there)} |"
    yield f"|---|{'---|' * len(there)}"
    for found in cases.values():
        yield f"| {_sized(found)} | {' | '.join(_update(found, n) for n in there)} |"
    if "td3" in cases:
        picture = bars(cases["td3"]["update"], "One update of TD3, milliseconds")
        _draw("performance-td3", picture)
        yield "\n![One update of TD3, each contender beside the floor](images/performance-td3.svg)"


def _update(found: Mapping[str, Any], name: str) -> str:
    if "absent" in found["contenders"].get(name, {}):
        return str(found["contenders"][name]["absent"])
    seconds = found.get("update", {})
    if name not in seconds:
        return ""
    if name == "floor":
        return f"{spread(seconds[name])[0] * 1e3:.3g} ms"
    return _times(ratio(seconds, name, "floor"))


def _peers(cases: Mapping[str, Any]) -> Iterator[str]:
    yield PEERS
    yield "| algorithm | Stable-Baselines3 | PyTorch's best | TensorFlow's best |"
    yield "|---|---|---|---|"
    for found in cases.values():
        yield _beside(found, "train", "updates/s")


def _loops(cases: Mapping[str, Any]) -> Iterator[str]:
    yield LOOPS
    yield "| algorithm, environment | Stable-Baselines3 | PyTorch's best | TensorFlow's best |"
    yield "|---|---|---|---|"
    for found in cases.values():
        yield _beside(found, "loop", "steps/s")


def _beside(found: Mapping[str, Any], what: str, unit: str) -> str:
    """A row: the peer's own figure, and how many times as fast the best of each framework is."""
    seconds = found.get(what, {})
    fact = found["contenders"].get("sb3", {"absent": "not run"})

    def own(name: str) -> str:
        return f"{1 / spread(seconds[name])[0]:,.0f} {unit}"

    cells = [fact.get("absent", "") if "sb3" not in seconds else own("sb3")]
    for names in SIDES.values():
        mine = best(seconds, names)
        if mine is None:
            cells.append("not run")
        elif "sb3" in seconds:
            cells.append(f"{_times(ratio(seconds, 'sb3', mine))} as fast: {mine}, {own(mine)}")
        else:
            cells.append(f"{mine}, {own(mine)}")
    label = _sized(found) if what == "train" else f"{_name(found)}, {found['case']['env']}"
    return f"| {label} | {' | '.join(cells)} |"


def _first_calls(cases: Mapping[str, Any]) -> Iterator[str]:
    yield FIRST
    yield "| contender | first call | graphs | a ragged batch | a learning rate | memory |"
    yield "|---|---|---|---|---|---|"
    found = cases.get("td3")
    for name in ORDER if found else ():
        fact = found["contenders"].get(name)
        if fact is None:
            continue
        if "absent" in fact:
            yield f"| {name} | {fact['absent']} | | | | |"
            continue
        anew = fact.get("retraces", {})
        yield (
            f"| {name} | {fact['first_call']:.3g} s | {fact.get('traces', '')} | "
            f"{anew.get('ragged', '')} | {anew.get('learning_rate', '')} | "
            f"{fact['memory'] / 2**20:.0f} MiB |"
        )
    others = [
        f"{name}: torch-compile {_first(c, 'torch-compile')}, tf-function "
        f"{_first(c, 'tf-function')}, tf-xla {_first(c, 'tf-xla')}"
        for name, c in cases.items()
        if name != "td3"
    ]
    if others:
        yield f"\nFirst calls of the others: {'; '.join(others)}."


def _first(found: Mapping[str, Any], name: str) -> str:
    fact = found["contenders"].get(name, {"absent": "not run"})
    return str(fact.get("absent", "")) or f"{fact['first_call']:.2g} s"


def _sweep(steps: Mapping[str, Any]) -> Iterator[str]:
    points = steps["sweep"]
    if not points or "td3" not in steps["cases"]:
        return
    yield SWEEP
    own = {"batch": 256, "width": 256, "update": steps["cases"]["td3"]["update"]}
    by_size: dict[str, dict[int, Any]] = {"batch": {}, "width": {}}
    there = [n for n in ORDER if any(n in p["update"] for p in points)]
    yield f"| batch, width | {' | '.join(there)} |"
    yield f"|---|{'---|' * len(there)}"
    for point in sorted([*points, own], key=lambda p: (p["width"], p["batch"])):
        cells = [_update({"contenders": {}, **point}, n) for n in there]
        yield f"| {point['batch']:,}, {point['width']:,} | {' | '.join(cells)} |"
        if point["width"] == 256:
            by_size["batch"][point["batch"]] = point["update"]
        if point["batch"] == 256:
            by_size["width"][point["width"]] = point["update"]
    panels = {
        "batch (width 256)": by_size["batch"],
        "width of both hidden layers (batch 256)": by_size["width"],
    }
    _draw("performance-sweep", lines(panels, "TD3 update over the floor, by batch and by width"))
    yield "\n![Seconds over the floor, by batch and by width](images/performance-sweep.svg)"


def _together(steps: Mapping[str, Any]) -> Iterator[str]:
    shared = steps.get("together")
    if not shared or "td3" not in steps["cases"]:
        return
    yield TOGETHER
    yield "| contender | own process | one process |"
    yield "|---|---|---|"
    for name in shared:
        cells = [_milliseconds(s[name]) for s in (steps["cases"]["td3"]["update"], shared)]
        yield f"| {name} | {' | '.join(cells)} |"


def _milliseconds(seconds: Sequence[float]) -> str:
    middle, low, high = (s * 1e3 for s in spread(seconds))
    return f"{middle:.2f} ms ({low:.2f} to {high:.2f})"


def _bounds(cases: Mapping[str, Any]) -> Iterator[str]:
    yield BOUNDS
    yield "| bound | measured | |"
    yield "|---|---|---|"
    for bound in bounds(cases):
        yield f"| {bound.text} | {bound.shown()} | {_outcome(bound)} |"


def _outcome(bound: Bound) -> str:
    if bound.met is None:
        return "not measured"
    if bound.met:
        return "reached"
    return "missed, see below" if bound.id in noted() else "missed"


def _harness(harness: Mapping[str, Any] | None) -> Iterator[str]:
    yield HARNESS
    if harness is None:
        yield "Not measured yet: run `make bench`."
        return
    yield "| benchmark | median | beside it |"
    yield "|---|---|---|"
    for row in harness["benchmarks"]:
        more = ", ".join(f"{name} {value:g}x" for name, value in row["ratios"].items())
        yield f"| {row['name']} | {_scaled(row['median'])} | {more} |"


def _suite(suite: Mapping[str, Any] | None) -> Iterator[str]:
    yield SUITE
    if suite is None:
        yield "Not measured yet: run `python scripts/bench_suite.py`."
        return
    yield (
        f"{suite['seconds']:.0f} s in all for {suite['tests']:,} tests; {suite['outside']:.0f} s "
        "of it outside of tests: starting, collecting, importing.\n"
    )
    modes = list(dict.fromkeys(m for row in suite["by_component"].values() for m in row))
    yield f"| component | {' | '.join(modes)} | together |"
    yield f"|---|{'---|' * (len(modes) + 1)}"
    rows = {**suite["by_component"]}
    rows["all"] = {m: sum(r.get(m, 0.0) for r in rows.values()) for m in modes}
    for name, row in rows.items():
        cells = [f"{row[m]:.1f}" if m in row else "" for m in modes]
        yield f"| {name} | {' | '.join(cells)} | {sum(row.values()):.1f} |"
    yield "\nThe slowest tests: " + "; ".join(f"`{n}` {s:.1f} s" for s, n in suite["slowest"][:10])


def _sized(found: Mapping[str, Any]) -> str:
    """``td3, 256-256, batch 256``."""
    settings = found["case"]["settings"]
    width = settings["hidden_sizes"].replace(",", "-")
    if "batch_size" in settings:
        return f"{_name(found)}, {width}, batch {settings['batch_size']}"
    steps, beside = settings.get("rollout", "500"), settings.get("environments", "1")
    return f"{_name(found)}, {width}, rollout {steps} x {beside}"  # a worker of A3C has one


def _name(found: Mapping[str, Any]) -> str:
    return str(found["case"]["algorithm"])


def _times(value: tuple[float, float, float]) -> str:
    middle, low, high = value
    return f"{middle:.2f}x ({low:.2f} to {high:.2f})"


def _scaled(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _draw(name: str, picture: str) -> None:
    (DOCS / "images").mkdir(exist_ok=True)
    (DOCS / "images" / f"{name}.svg").write_text(picture, encoding="utf-8")


VERSIONS = {
    "python": "Python",
    "torch": "torch",
    "tensorflow": "TensorFlow",
    "keras": "Keras",
    "numpy": "NumPy",
    "stable_baselines3": "Stable-Baselines3",
    "jax": "JAX",
}

HEAD = """\
# Performance
<!-- written by scripts/bench.py: run `make bench`, do not edit this page -->

`make bench` measures what is here and writes this page, except where another command stands beside
a section; the figures are in `benchmarks/`. Each is a ratio of two things that took turns in one
run: seconds alone say little about another machine. Beside each median stand the quartiles over the
rounds. On a busy machine, `--threads 1 --clock cpu` counts the processor's time in place of the
clock's.

Each contender has a process of its own, one works at a time, and all have the same number of
threads and cores. TensorFlow has them within an operation, one operation at a time; `tf-function`
has them for operations side by side, of one thread each. A turn begins with calls that are not
timed.

On a GPU, `python scripts/bench.py --device cuda --out FILE` takes torch's times from CUDA events;
that has not been run here: this machine has none.
"""

UPDATES = """\
## One update
    python scripts/bench.py --only ALGORITHM

Float32, on batches that are there as tensors, in turns, each with different rows. *floor* is the
update's matrix products alone, forwards and backwards, each written by `torch.mm` into memory that
is there already; which these are is said in `scripts/bench_floor.py`. For the others: how many
times the floor.
"""

PEERS = """
## Beside Stable-Baselines3
Its own `train()` on the same sizes, constants and buffer, beside ours as training calls it: drawing
the batch and the noise is part of both. Off policy its `train()` is asked for many updates at once,
which spares it the preparation of each. On policy it evaluates values while acting and ours in the
update; the forward pass for them is not held against it. So "as fast" is, if anything, too low.
"""

LOOPS = """
## Whole training
Environment steps per second: `python -m impls train` beside `learn()`, on one environment (on
policy eight) of the same kind, with one update per step (on policy per rollout). Evaluations are
left out, and `Monitor`, which Stable-Baselines3 puts around every environment, is left in.
"""

FIRST = """
## First call, recompilation, memory
For TD3. *first call* is two updates, tracing and compiling included, with nothing kept from earlier
runs. *graphs* is how often something was compiled; then how often again for a last batch that is
not full (one time for each graph: its shape is part of it; the same ragged batch a second time
compiles nothing) and after the learning rate has changed. *memory* is the most that the process has
held above the imported framework, with its buffer of 10,000 transitions.
"""

SWEEP = """
## Batch and width
TD3 with other sizes, as multiples of the floor of that size.
"""

TOGETHER = """
## Why each contender has a process of its own
The same updates of TD3 in turns within one process, where torch and TensorFlow each keep threads
that wait for work: `python scripts/bench.py --one-process --only td3 --what update --contenders
floor torch-eager tf-function`.
"""

BOUNDS = """
## What it is held to
`pytest -m benchmark tests/benchmarks/test_steps_benchmark.py` asserts these, on the figures above.
"""

HARNESS = """
## The harness
    pytest -m benchmark

Streams of random numbers and comparisons beside what NumPy and the frameworks offer.
"""

SUITE = """
## Where the time of the suite goes
    python scripts/bench_suite.py

`pytest -m parity` on a machine that has never run it: nothing is compiled yet. Seconds.
"""
