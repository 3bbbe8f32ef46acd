"""``parity doctor``: what is here, what was recorded, and the difference of two."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from parity.cli import main
from parity.threats import OTHER, PRECISION, REPEATS, environment_changes, threats
from parity.trace import Trace

AGREE, DIFFER, MISUSE = 0, 1, 2
CLEAN: dict[str, Any] = {
    "numpy": "1.26.4",
    "cpus": 2,
    "torch.threads": 2,
    "torch.deterministic": False,
    "torch.matmul_precision": "highest",
    "torch.default_dtype": "float32",
    "torch.matmul_tf32": False,
    "tf.intra_op_threads": 0,
    "tf.gpus": 0,
    "tf.tf32": True,
    "tf.onednn": False,
    "keras.backend": "tensorflow",
    "keras.floatx": "float32",
    "keras.dtype_policy": "float32",
    "import_order": "torch before tensorflow",
}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["doctor", *map(str, arguments)])


def recorded(path: Path, **changes: Any) -> Path:
    Trace({"x": 1.0}, meta={"environment": {**CLEAN, **changes}}).save(path)
    return path


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert threats(CLEAN) == []
    assert threats({}) == []


@pytest.mark.parametrize(
    ("fact", "value", "fix"),
    [
        ("torch.matmul_tf32", True, "allow_tf32 = False"),
        ("torch.matmul_precision", "high", "set_float32_matmul_precision('highest')"),
        ("torch.autocast", "bfloat16", "torch.autocast"),
        ("torch.threads", 7, "OMP_NUM_THREADS=1"),
        ("torch.cudnn_benchmark", True, "benchmark = False"),
        ("tf.onednn", True, "TF_ENABLE_ONEDNN_OPTS=0"),
        ("tf.gpus", 1, "enable_op_determinism"),
        ("keras.dtype_policy", "mixed_bfloat16", "set_dtype_policy"),
        ("keras.floatx", "float16", "set_floatx"),
        ("keras.backend", "jax", "KERAS_BACKEND=tensorflow"),
        ("XLA_FLAGS", "--xla_cpu_enable_fast_math=true", "XLA_FLAGS"),
        ("import_order", "tensorflow before torch", "import torch before"),
        ("torch.cuda", "12.4", "use_deterministic_algorithms"),
    ],
)
def test_each_threat_has_a_reason_and_a_fix(fact: str, value: Any, fix: str) -> None:
    found = threats({**CLEAN, fact: value})
    assert found and fix in " ".join(threat.fix for threat in found)
    assert all(threat.why for threat in found)


def test_gym_on_numpy_2() -> None:
    assert threats({**CLEAN, "gym": "0.26.2"}) == []
    (found,) = threats({**CLEAN, "gym": "0.26.2", "numpy": "2.4.6"})
    assert "np.bool8" in found.why


def test_the_worst_comes_first() -> None:
    found = threats({**CLEAN, "tf.onednn": True, "torch.matmul_tf32": True, "gym": "0.26"})
    assert [threat.rank for threat in found] == sorted(threat.rank for threat in found)
    changes = environment_changes(
        CLEAN, {**CLEAN, "python": "3.12", "tf.onednn": True, "torch.matmul_tf32": True}
    )
    assert [change.fact for change in changes] == ["torch.matmul_tf32", "tf.onednn", "python"]
    assert changes[0].rank == PRECISION and changes[-1].rank == OTHER > REPEATS


def test_a_framework_that_was_not_imported_is_no_difference() -> None:
    without = {name: v for name, v in CLEAN.items() if not name.startswith(("tf.", "keras."))}
    assert environment_changes(CLEAN, without) == []


def test_two_traces(tmp_path: Path) -> None:
    a, b = recorded(tmp_path / "a.trace"), recorded(tmp_path / "b.trace", **{"tf.onednn": True})
    result = run(a, b)
    assert result.exit_code == DIFFER
    assert "tf.onednn: False / True" in result.output
    assert json.loads(run(a, b, "--json").output)["changes"][0]["fact"] == "tf.onednn"
    c = recorded(tmp_path / "c.trace", python="3.12")
    assert run(a, c).exit_code == AGREE and "python" in run(a, c).output
    assert "the same" in run(a, a).output


def test_one_trace(tmp_path: Path) -> None:
    result = run(recorded(tmp_path / "a.trace", **{"torch.matmul_tf32": True}))
    assert result.exit_code == AGREE
    assert "! torch.matmul_tf32 = True" in result.output and "fix: " in result.output


def test_misuse(tmp_path: Path) -> None:
    Trace({"x": 1.0}).save(tmp_path / "a.trace")
    assert "does not say on what" in run(tmp_path / "a.trace").output
    assert run(tmp_path / "a.trace").exit_code == MISUSE
    assert run(tmp_path / "none.trace").exit_code == MISUSE
    assert run("a", "b", "c").exit_code == MISUSE


def test_without_any_framework() -> None:
    program = (
        "import sys; sys.modules.update(torch=None, tensorflow=None, keras=None)\n"
        "from parity.cli import main; main(['doctor', '--json'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == AGREE, done.stderr
    facts = json.loads(done.stdout)["environment"]
    assert facts["numpy"] and not any(name.startswith(("torch.", "tf.")) for name in facts)
