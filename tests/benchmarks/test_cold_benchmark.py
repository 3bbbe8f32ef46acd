"""How long `parity check` of a small pair takes in a fresh process, beyond importing frameworks."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

SECONDS = 2.0
ROUNDS = 5
PAIR = """
def torch_side():
    from torch import nn
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))

def tf_side():
    import keras
    return keras.Sequential([
        keras.layers.Input((3,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2)
    ])
"""
IMPORTS = "import torch, tensorflow, keras"


def seconds(arguments: list[str], folder: Path) -> float:
    began = time.perf_counter()
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return time.perf_counter() - began


def test_a_small_pair_is_judged_soon_after_the_imports(tmp_path: Path) -> None:
    """In turns, and the median of the differences: a machine that is busy slows down both."""
    pytest.importorskip("torch")
    pytest.importorskip("tensorflow")
    (tmp_path / "pair.py").write_text(PAIR)
    sides = ["pair.py:torch_side", "pair.py:tf_side", "--input", "x=float32[4,3]"]
    check, imports = ["-m", "parity", "check", *sides], ["-c", IMPORTS]
    seconds(imports, tmp_path)  # the files of both come from the disk once
    beyond = []
    for _ in range(ROUNDS):
        base = seconds(imports, tmp_path)
        beyond.append(seconds(check, tmp_path) - base)
    print("seconds beyond the imports:", [round(b, 2) for b in beyond])
    assert statistics.median(beyond) <= SECONDS, beyond
