"""Write two traces that are larger than the memory allowed for it, compare them, and delete them.

    python scripts/large_trace.py --gigabytes 8 [--entry-megabytes 64] [--folder /tmp]

Prints time and peak memory of each part. The second trace differs in one value near its end; the
exit code is 1 if the comparison misses it or memory went over ``--limit-megabytes``. Needs three
times the size on disk for a moment.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from parity.report import build_report
from parity.trace import TraceWriter, open_trace


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=8.0, help="of each trace")
    parser.add_argument("--entry-megabytes", type=int, default=64)
    parser.add_argument("--limit-megabytes", type=int, default=1024)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    size = options.entry_megabytes << 18
    entries = max(3, round(options.gigabytes * 1024 / options.entry_megabytes))
    need = 3.1 * entries * size * 4
    if shutil.disk_usage(options.folder).free < need:
        print(f"{options.folder}: less than {need / 2**30:.0f} GB free", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        paths = {side: Path(folder) / f"{side}.trace" for side in ("torch", "tf")}
        for side, path in paths.items():
            start = time.perf_counter()
            write(path, side, entries, size)
            tell(f"written {path.stat().st_size / 2**30:.2f} GB", start)
        start = time.perf_counter()
        report = build_report({side: open_trace(path) for side, path in paths.items()})
        tell(f"compared {report.values_compared:,} values: {report.verdict}", start)
    place = [(entry.name, entry.worst.worst) for entry in report.failing]
    print(f"differs at {place}")
    good = place == [(str(entries - 2), (size // 2,))] and peak() <= options.limit_megabytes
    return 0 if good else 1


def write(path: Path, side: str, entries: int, size: int) -> None:
    generator = np.random.default_rng(1)
    values = generator.standard_normal(size, dtype=np.float32)
    with TraceWriter(path, side=side) as writer:
        for i in range(entries):
            values += np.float32(0.5)  # another entry, in a tenth of the time of new numbers
            changed = side == "tf" and i == entries - 2
            values[size // 2] += changed
            writer.add(str(i), values)
            values[size // 2] -= changed


def tell(what: str, start: float) -> None:
    print(f"{what} in {time.perf_counter() - start:.0f} s; peak memory {peak()} MB", flush=True)


def peak() -> int:
    """Largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    sys.exit(main())
