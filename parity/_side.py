"""The process of one side: ``python -m parity._side FOLDER``; started by ``parity.isolate``.

``FOLDER/job.json`` says what to do. Needs this package and one framework. What it is doing stands
in ``FOLDER/steps``, what came of it in ``FOLDER/result.json``.
"""

from __future__ import annotations

import faulthandler
import json
import os
import shutil
import signal
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parity import progress
from parity.errors import ParityError
from parity.quiet import import_tensorflow

AGREE, DIFFER, MISUSE = 0, 1, 2


def main(folder: Path) -> int:
    """Do the job; the exit code is that of ``parity check`` for this part of it."""
    faulthandler.enable()
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    _end_with_parent(folder)
    progress.write_to(folder / f"steps.{job['action']}")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        code, result = _do(job, folder)
    except ParityError as error:
        code, result = MISUSE, {"error": str(error)}
    except MemoryError as error:
        code, result = MISUSE, {"error": str(error), "memory": True}
    temporary = folder / "result.tmp"
    temporary.write_text(json.dumps(result), encoding="utf-8")
    os.replace(temporary, folder / f"result.{job['action']}.json")
    return code


def _do(job: dict[str, Any], folder: Path) -> tuple[int, dict[str, Any]]:
    progress.step("importing the framework")
    if job["side"] == "tf":  # the other framework stays out, even where it is installed
        import_tensorflow()
    elif find_spec("torch") is not None:
        import torch  # noqa: F401
    return _record(job, folder) if job["action"] == "record" else _check(job, folder)


def _record(job: dict[str, Any], folder: Path) -> tuple[int, dict[str, Any]]:
    from parity.debug.inputs import from_descriptions, from_function
    from parity.debug.subjects import load, resolve
    from parity.recording.subjects import record

    progress.step(f"loading {job['subject']}")
    found = resolve(load(job["subject"]), job["subject"])
    if found.side not in (None, job["side"]):
        return MISUSE, {"side": found.side}
    progress.step("making the inputs")
    inputs: Any = None
    if job["drawn"]:
        inputs = from_descriptions(job["drawn"], seed=job["seed"])
    if job["function"]:
        inputs = from_function(job["function"], seed=job["seed"])
    wanted = ("training", "steps", "seed", "side", "as_function", "environment")
    options = {name: job[name] for name in wanted}
    record(found, inputs, out=folder / "side.trace", **options)
    return AGREE, {}


def _check(job: dict[str, Any], folder: Path) -> tuple[int, dict[str, Any]]:
    from parity.cli import annotate, show, write_html, write_markdown
    from parity.debug.check import check
    from parity.debug.inputs import read_map
    from parity.details import collecting
    from parity.verdict import Verdict

    recording = Path(job["recording"])
    progress.step(f"loading {job['subject']}")
    with collecting(job["html"] is not None):
        report = check(
            recording,
            job["subject"],
            transfer=job["weights"],
            training=job["training"],
            environment=job["environment"],
            names=read_map(Path(job["map_file"])) if job["map_file"] else None,
        )
    names = dict(report.subject)
    if job["label"] is not None:
        names = {k: job["label"] if v == str(recording) else v for k, v in names.items()}
    report = report.with_(subject=names, reproduce=job["reproduce"])
    write_html(report, None if job["html"] is None else Path(job["html"]))
    markdown = job.get("markdown")
    write_markdown(report, None if markdown is None else Path(markdown))
    show(report, as_json=job["as_json"], verbosity=-1 if job.get("quiet") else job["verbose"])
    tolerated = report.passed or (report.verdict is Verdict.LATENT and not job["strict"])
    if not tolerated:
        annotate(report)
    return (AGREE if tolerated else DIFFER), {}


def _end_with_parent(folder: Path) -> None:
    """Where the process that started this one is gone, clean up and go too."""

    def watch() -> None:
        while os.read(0, 1):  # it never writes: the read ends when its end of the pipe closes
            pass
        shutil.rmtree(folder, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
