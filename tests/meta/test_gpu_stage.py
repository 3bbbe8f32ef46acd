"""The GPU stage as a whole: without a GPU, where one is required, and with one framework only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from parity.requirements import missing

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.meta,
    pytest.mark.skipif(bool(missing(("torch", "safetensors"))), reason="needs torch"),
]
SOME = "td_error or make_mlp or mantissa or planted or td_target or apply_critic"
WITHOUT_TENSORFLOW = "import sys; sys.modules.update(tensorflow=None, keras=None)"
"""An import of these then fails, and a look for them finds nothing."""


def stage(tmp_path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The script, as on a machine of its own."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "PARITY_"))}
    return subprocess.run(
        [str(ROOT / "scripts" / "gpu_stage.sh"), str(tmp_path / "gpu.json"), *arguments],
        env={
            **inherited,
            "PYTHON": sys.executable,
            "CUDA_VISIBLE_DEVICES": "-1",
            **environment,
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_gpu_the_stage_is_skipped_in_one_line(tmp_path: Path) -> None:
    done = stage(tmp_path, "-k", f"there_is or {SOME}", PARITY_REQUIRE="torch")
    assert done.returncode == 0, done.stdout
    skips = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert skips
    assert all("no GPU: " in line and "torch sees no GPU" in line for line in skips)
    assert "passed" not in done.stdout


def test_a_required_gpu_that_is_missing_fails(tmp_path: Path) -> None:
    done = stage(tmp_path, "-k", "there_is")
    assert done.returncode == 1
    assert "PARITY_REQUIRE: no GPU: " in done.stdout


def test_torch_alone_is_enough(tmp_path: Path) -> None:
    """With a machine's TensorFlow hidden: every body finds its partner in the goldens."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_TENSORFLOW)
    done = stage(tmp_path, "-k", SOME, PARITY_DEVICE="cpu", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((tmp_path / "gpu.json").read_text())
    checks = {row["id"]: row for row in document["checks"]}
    row = checks["losses/gpu/function.td_error[batch]-float32-eager"]
    assert (row["verdict"], row["device"]) == ("agree", "cpu")
    assert row["values_compared"] > 0
    assert not any("repeat/tf" in name for name in checks)
    assert any("repeat/torch" in name for name in checks)
