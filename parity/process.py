"""A process of its own for one side: started, watched, and never left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

TAIL = 15
"""Lines of stderr that are shown of a process that did not end well."""
_FATAL = ("Fatal Python error", "Windows fatal exception")
_GRACE = 2.0
"""Seconds between asking a process to end and making it."""


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        code: its exit code; negative: the signal that ended it.
        timed_out: it was ended because it took too long.
        seconds: how long it ran.
        stdout: what it printed.
        stderr: the same for its errors.
    """

    code: int
    timed_out: bool
    seconds: float
    stdout: str
    stderr: str

    @property
    def tail(self) -> list[str]:
        """The last lines of its errors; of a crash of Python the lines that say where."""
        lines = [line for line in self.stderr.splitlines() if line.strip()]
        fatal = next((i for i, line in enumerate(lines) if line.startswith(_FATAL)), None)
        if fatal is None:
            return lines[-TAIL:]
        return [line for line in lines[fatal:] if not line.startswith("Extension modules")][:TAIL]


def run(
    command: Sequence[str],
    folder: Path,
    *,
    timeout: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run a command in a process group of its own and wait for it.

    Whatever happens here (an exception, Ctrl-C), the group is ended first. The process holds one
    end of a pipe, on its stdin, by which it notices when this process is gone.

    Args:
        folder: where its output is kept meanwhile: files, which a hanging reader cannot block.
        timeout: seconds; None waits for ever.

    Raises:
        OSError: the program cannot be started.
    """
    started = time.monotonic()
    paths = [folder / f"{name}.{started}" for name in ("stdout", "stderr")]
    with paths[0].open("wb") as out, paths[1].open("wb") as err:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            start_new_session=True,
            env=dict(os.environ if environment is None else environment),
        )
        timed_out = False
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            end_group(process)
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    return Ended(process.returncode, timed_out, time.monotonic() - started, texts[0], texts[1])


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started; it is waited for."""
    if process.poll() is None:
        _signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    _signal_group(process.pid, signal.SIGKILL)  # its children may have outlived it
    process.wait()
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


@contextlib.contextmanager
def ending_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind the stack like Ctrl-C, so that everything is cleaned up."""

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    kept = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        with contextlib.suppress(ValueError):  # not in the main thread
            kept[number] = signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def signal_name(number: int) -> str:
    """``SIGSEGV`` of 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
