"""Processes are ended with all that they started, whatever happens; output and steps are kept."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from parity import process, progress

SPAWN = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
"""


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_and_exit_code_come_back(tmp_path: Path) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    ended = process.run(python(code), tmp_path)
    assert (ended.code, ended.timed_out, ended.stdout, ended.tail) == (3, False, "out\n", ["err"])


def test_more_output_than_a_pipe_holds(tmp_path: Path) -> None:
    ended = process.run(python("print('x' * 1_000_000)"), tmp_path, timeout=60)
    assert ended.code == 0
    assert len(ended.stdout) == 1_000_001


def test_a_process_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    ended = process.run(python(SPAWN + "time.sleep(600)"), tmp_path, timeout=3)
    assert ended.timed_out
    assert gone(int(ended.stdout))


def test_one_that_ignores_being_asked_is_ended_too(tmp_path: Path) -> None:
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    ended = process.run(python(stubborn + SPAWN + "time.sleep(600)"), tmp_path, timeout=3)
    assert ended.timed_out
    assert ended.code == -signal.SIGKILL
    assert gone(int(ended.stdout))


def test_children_do_not_outlive_a_process_that_ends_well(tmp_path: Path) -> None:
    ended = process.run(python(SPAWN), tmp_path)
    assert ended.code == 0
    assert gone(int(ended.stdout))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_unwinds_and_ends_the_process(tmp_path: Path, number: signal.Signals) -> None:
    written = tmp_path / "pid"
    code = SPAWN + f"open({str(written)!r}, 'w').write(str(child.pid))\ntime.sleep(600)"

    def send() -> None:
        while not (written.is_file() and written.read_text()):
            time.sleep(0.05)
        os.kill(os.getpid(), number)

    threading.Thread(target=send, daemon=True).start()
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as stopped, process.ending_on_signals():
        process.run(python(code), tmp_path, timeout=60)
    assert stopped.value.code == 128 + number
    assert signal.getsignal(number) is before
    assert gone(int(written.read_text()))


def test_where_a_crash_of_python_happened_is_shown(tmp_path: Path) -> None:
    code = "import ctypes, faulthandler; faulthandler.enable(); ctypes.string_at(0)"
    ended = process.run(python(code), tmp_path)
    assert process.signal_name(-ended.code) == "SIGSEGV"
    assert ended.tail[0].startswith("Fatal Python error")


def test_the_last_step_survives_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "steps"
    code = f"""
import os
from pathlib import Path
from parity import progress
progress.step("nobody reads this")
progress.write_to(Path({str(path)!r}))
progress.step("first")
progress.step("two\\nlines")
os._exit(9)
"""
    assert process.run(python(code), tmp_path).code == 9
    assert progress.last_step(path) == "two lines"
    assert progress.last_step(tmp_path / "none") == ""
