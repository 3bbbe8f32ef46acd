"""What TensorFlow's native code prints is dropped, and nothing else is."""

from __future__ import annotations

import re
import subprocess
import sys

PROGRAM = """
import os, sys
from parity.quiet import _NOTE, dropping
with dropping(_NOTE):
    os.write(2, b"I0000 00:00:1796007231.2  11941 port.cc:153] oneDNN is on\\n")
    os.write(2, b"WARNING: All log messages before absl::InitializeLog() is called\\n")
    os.write(2, b"Segmentation fault\\n")
    print("a warning of yours", file=sys.stderr)
print("after", file=sys.stderr)
"""


def test_only_notes_are_dropped() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == ["Segmentation fault", "a warning of yours", "after"]


def test_an_exception_inside_passes_through() -> None:
    program = PROGRAM.replace(
        '    os.write(2, b"Seg', '    raise OSError("x")\n    os.write(2, b"Seg'
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(r"OSError: x", done.stderr)
    assert "oneDNN" not in done.stderr
