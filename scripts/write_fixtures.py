"""The only writer of ``fixtures/``: golden traces of every component.

    python scripts/write_fixtures.py                                # what would change, and why
    python scripts/write_fixtures.py --write --reason "..."         # change it

A golden whose values are within tolerance of the new ones stays as it is, so that another machine's
last bits make no diff. Needs both frameworks, and runs on the CPU with one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
for variable in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from impls import COMPONENTS, load_component  # noqa: E402
from parity.component import Check, Component  # noqa: E402
from parity.errors import InvalidInput  # noqa: E402
from parity.fingerprint import fingerprint  # noqa: E402
from parity.golden import (  # noqa: E402
    MANIFEST,
    SCHEMA,
    Golden,
    golden_change,
    golden_checks,
    golden_file,
    load_golden,
    make_golden,
    read_manifest,
    sha256,
)
from parity.runner import load_siblings  # noqa: E402
from parity.trace import write_atomic  # noqa: E402

VERSIONS = ("python", "platform", "cpu", "numpy", "torch", "tensorflow", "keras", "gymnasium")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write what changes")
    parser.add_argument("--reason", default="", help="why the goldens change; goes to the manifest")
    parser.add_argument(
        "--only", default="*", metavar="GLOB", help="of file names below the folder"
    )
    parser.add_argument("--folder", type=Path, default=ROOT / "fixtures")
    options = parser.parse_args(arguments)
    if options.write and not options.reason.strip():
        parser.error("--write needs --reason: the manifest says why each golden is what it is")
    return update(options.folder, options.only, options.reason if options.write else None)


def update(folder: Path, only: str, reason: str | None) -> int:
    """Print what changes; with a reason, do it. Returns 1 where something is left to change."""
    files = read_manifest(folder) if (folder / MANIFEST).exists() else {}
    changes = 0
    wanted: set[str] = set()
    for component in map(load_component, COMPONENTS):
        for check in golden_checks(component):
            name = golden_file(component.name, check.label, check.case)
            wanted.add(name)
            if not fnmatch(name, only):
                continue
            golden, why = judge(folder, component, check)
            if name not in files and not why:
                why = "not in the manifest"
            if not why:
                continue
            changes += 1
            print(f"{'writing' if reason else 'would write'} {name}: {why}", flush=True)
            if reason:
                golden.save(folder)
                files[name] = facts(folder, golden, check, reason)
    present = {p.relative_to(folder).as_posix() for p in folder.rglob("*.safetensors")}
    for name in sorted((set(files) | present) - wanted):
        changes += 1
        print(f"{'removing' if reason else 'would remove'} {name}: no check asks for it")
        if reason:
            (folder / name).unlink(missing_ok=True)
            files.pop(name, None)
    if reason and changes:
        document = {"schema": SCHEMA, "files": dict(sorted(files.items()))}
        write_atomic(folder / MANIFEST, json.dumps(document, indent=1).encode() + b"\n")
    print(f"{len(wanted)} goldens, {changes} {'changed' if reason else 'to change'}")
    return 1 if changes and not reason else 0


def judge(folder: Path, component: Component, check: Check) -> tuple[Golden, str]:
    """The golden as it would be now, and why it should be written; empty if it need not be."""
    after = make_golden(component, check, load_siblings(f"impls.{component.name}"))
    path = folder / after.file
    if not path.exists():
        return after, "new"
    try:
        return after, golden_change(load_golden(path), after, check)
    except InvalidInput as error:
        return after, str(error)


def facts(folder: Path, golden: Golden, check: Check, reason: str) -> dict[str, Any]:
    """What the manifest says of a file."""
    path, here = folder / golden.file, fingerprint()
    return {
        "sha256": sha256(path),
        "bytes": path.stat().st_size,
        "component": golden.component,
        "check": golden.check,
        "case": golden.case,
        "seed": f"crc32 of '{check.label}/{check.case}'",
        "reason": reason,
        "command": f"python scripts/write_fixtures.py --write --only '{golden.file}' --reason ...",
        "versions": {name: here[name] for name in VERSIONS if here.get(name)},
    }


if __name__ == "__main__":
    sys.exit(main())
