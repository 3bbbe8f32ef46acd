"""``parity check --isolate``: each side in a process of its own, and in its own environment.

The torch side is recorded in one process, and the TensorFlow side is checked against the recording
in another. So neither framework meets the other, and a side that crashes takes nothing with it.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parity import process, progress
from parity.errors import InvalidInput
from parity.process import Ended
from parity.progress import last_step

SIDES = ("torch", "tf")
NAMES = {"torch": "torch", "tf": "TensorFlow"}
_MEMORY = re.compile(
    r"out of memory|can't allocate memory|cannot allocate memory|bad_alloc|MemoryError|"
    r"RESOURCE_EXHAUSTED|ResourceExhausted|OOM when allocating",
    re.IGNORECASE,
)
_MODULES = {"torch": ("torch",), "tf": ("tensorflow", "keras", "tf_keras")}


@dataclass(frozen=True)
class Isolated:
    """What a check in two processes came to: what it printed, and its exit code."""

    stdout: str
    code: int


@dataclass(frozen=True)
class Job:
    """A check as the command line gave it.

    Attributes:
        pythons: side -> its interpreter.
        timeout: seconds that each side may take.
        options: those of ``parity check``, as JSON.
    """

    side_a: str
    side_b: str
    pythons: Mapping[str, str]
    timeout: float | None
    options: Mapping[str, Any] = field(default_factory=dict)


class _OtherSide(Exception):
    """The subject is of the other framework."""


def check_isolated(job: Job) -> Isolated:
    """Record the torch side in one process, check the other against it in a second one.

    Raises:
        InvalidInput: a side is misused, crashes, hangs or runs out of memory; the message says
            which, its last step, and the end of its stderr. Nothing is left behind.
    """
    from parity.recording.reading import is_recording, read_recording

    if job.options.get("search"):
        raise InvalidInput("--search runs both sides on other inputs; leave --isolate out")
    given = [is_recording(side) for side in (job.side_a, job.side_b)]
    if all(given):
        raise InvalidInput("two recordings run nothing: leave --isolate out")
    with tempfile.TemporaryDirectory(prefix="parity-") as name, process.ending_on_signals():
        folder = Path(name)
        if any(given):
            stored, live = (job.side_a, job.side_b) if given[0] else (job.side_b, job.side_a)
            side = read_recording(stored).subject.side
            other = "tf" if side == "torch" else "torch"
            return _checked(job, folder, other, Path(stored), live, None)
        try:
            torch, tf = job.side_a, job.side_b
            _recorded(job, folder, torch)
        except _OtherSide as first:
            torch, tf = job.side_b, job.side_a
            try:
                _recorded(job, folder, torch)
            except _OtherSide:
                raise InvalidInput(str(first)) from None
        try:
            return _checked(job, folder, "tf", folder / "side.trace", tf, torch)
        except InvalidInput as error:
            if "--as-function" not in str(error):
                raise
            _recorded(job, folder, torch, as_function=True)
            return _checked(job, folder, "tf", folder / "side.trace", tf, torch)


def _recorded(job: Job, folder: Path, subject: str, *, as_function: bool = False) -> None:
    """Record the torch side.

    Raises:
        _OtherSide: the subject is of TensorFlow.
    """
    spec = {"action": "record", "subject": subject, "as_function": as_function}
    ended, result = _run(job, folder, "torch", spec)
    if result is not None and result.get("side") == "tf":
        raise _OtherSide(
            f"{job.side_a} and {job.side_b} are both of TensorFlow: "
            "a check needs one side of each framework"
        )
    if result is not None and "error" in result and _lacks(result["error"], "tf"):
        raise _OtherSide(f"{result['error']} (in {job.pythons['torch']}, the torch side's)")
    _complain(job, folder, "torch", subject, "record", ended, result)


def _checked(
    job: Job, folder: Path, side: str, recording: Path, subject: str, label: str | None
) -> Isolated:
    """Check the other side against the recording; its output is what the user sees."""
    spec = {"action": "check", "subject": subject, "recording": str(recording), "label": label}
    ended, result = _run(job, folder, side, spec)
    _complain(job, folder, side, subject, "check", ended, result)
    return Isolated(ended.stdout, ended.code)


def _run(
    job: Job, folder: Path, side: str, spec: Mapping[str, Any]
) -> tuple[Ended, dict[str, Any] | None]:
    """Run one side's process; what it says of itself is None where it came to no end."""
    whole = {**job.options, **spec, "side": side}
    for left in (f"result.{spec['action']}.json", f"steps.{spec['action']}"):
        (folder / left).unlink(missing_ok=True)
    (folder / "job.json").write_text(json.dumps(whole), encoding="utf-8")
    command = [job.pythons[side], "-m", "parity._side", str(folder)]
    try:
        if job.timeout is not None:
            progress.within(job.timeout)
        with progress.relaying(folder / f"steps.{spec['action']}", f"{NAMES[side]} side"):
            ended = process.run(command, folder, timeout=job.timeout)
    except OSError as error:
        raise InvalidInput(f"{command[0]}: cannot be run ({error.strerror or error})") from None
    path = folder / f"result.{spec['action']}.json"
    if not path.is_file():
        return ended, None
    return ended, json.loads(path.read_text(encoding="utf-8"))


def _complain(
    job: Job,
    folder: Path,
    side: str,
    subject: str,
    action: str,
    ended: Ended,
    result: dict[str, Any] | None,
) -> None:
    """Raise unless the process did what it was to do."""
    if result is not None and not ended.timed_out and ended.code >= 0:
        if "error" not in result:
            return
        text = str(result["error"])
        if not (result.get("memory") or _MEMORY.search(text)):
            raise InvalidInput(text)
    who = f"{subject} (the {NAMES[side]} side)"
    lines = [f"{who} {_how(job, ended, result)}"]
    if step := last_step(folder / f"steps.{action}"):
        lines.append(f"last step: {step}")
    elif "parity" in ended.stderr and "No module named" in ended.stderr:
        lines.append(f"{job.pythons[side]} needs the package parity and {NAMES[side]}")
    if ended.tail:
        lines += ["the end of its stderr:", *(f"  {line}" for line in ended.tail)]
    raise InvalidInput("\n".join(lines))


def _how(job: Job, ended: Ended, result: Mapping[str, Any] | None) -> str:
    """How it ended, in words."""
    if ended.timed_out:
        return f"did not end within {job.timeout:g} s and was stopped"
    if result is not None and "error" in result:
        return f"ran out of memory: {result['error'] or 'MemoryError'}"
    if _MEMORY.search(ended.stderr):
        return f"ran out of memory ({_code(ended.code)})"
    if ended.code == -9:
        return "was killed (SIGKILL): most likely the system ran out of memory"
    return f"crashed ({_code(ended.code)})"


def _code(code: int) -> str:
    return process.signal_name(-code) if code < 0 else f"exit code {code}"


def _lacks(message: str, side: str) -> bool:
    """Whether an import failed because a framework is not in that environment."""
    return any(f"No module named '{name}" in message or f"no module named '{name}" in message
               for name in _MODULES[side])  # fmt: skip


def pythons(torch: str | None, tf: str | None) -> dict[str, str]:
    """The interpreter of each side; this one where none is given."""
    return {"torch": torch or sys.executable, "tf": tf or sys.executable}
