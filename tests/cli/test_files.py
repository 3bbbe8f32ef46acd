"""``parity compare``, ``show`` and ``doctor``: exit codes, output, and what they refuse."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from parity.cli import main
from parity.trace import Trace

AGREE, DIFFER, MISUSE = 0, 1, 2


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {"loss": rng.normal(size=13), "grad": rng.normal(size=(3, 11))}


def save(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    np.savez(path, **arrays)
    return path


def test_equal_files_agree(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    result = run("compare", save(tmp_path / "a.npz", arrays), save(tmp_path / "b.npz", arrays))
    assert result.exit_code == AGREE, result.output
    assert result.output.startswith("AGREE")
    assert "compared 46 values" in result.output


def test_a_difference_is_placed(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    left = save(tmp_path / "a.npz", arrays)
    changed = {**arrays, "grad": arrays["grad"].copy()}
    changed["grad"][2, 4] += 1e-3
    result = run("compare", left, save(tmp_path / "b.npz", changed), "--reference", left)
    assert result.exit_code == DIFFER
    assert "first difference: grad at [2, 4]" in result.output
    assert "tf is off the float64 reference" in result.output
    assert max(map(len, result.output.splitlines())) <= 80


def test_json_holds_the_whole_report(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    paths = [save(tmp_path / name, arrays) for name in ("a.npz", "b.npz")]
    result = run("compare", *paths, "--json")
    document = json.loads(result.output)
    assert document["verdict"] == "agree"
    assert [entry["name"] for entry in document["entries"]] == ["loss", "grad"]


def test_a_bound_of_the_caller_counts(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    left = save(tmp_path / "a.npz", arrays)
    right = save(tmp_path / "b.npz", {n: a + 1e-4 for n, a in arrays.items()})
    assert run("compare", left, right).exit_code == DIFFER
    assert run("compare", left, right, "--atol", "1e-3").exit_code == AGREE
    assert run("compare", left, right, "--atol", "nan").exit_code == MISUSE


def test_traces_keep_their_order(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    swapped = {"grad": arrays["grad"], "loss": arrays["loss"]}
    Trace(swapped, side="torch").save(tmp_path / "a.trace")
    Trace({n: a + 1 for n, a in swapped.items()}, side="tf").save(tmp_path / "b.trace")
    result = run("compare", tmp_path / "a.trace", tmp_path / "b.trace")
    assert result.exit_code == DIFFER
    assert "first difference: grad" in result.output


def test_zeros_prove_nothing(tmp_path: Path) -> None:
    paths = [save(tmp_path / name, {"mask": np.zeros(7)}) for name in ("a.npz", "b.npz")]
    assert run("compare", *paths).exit_code == DIFFER
    assert "all zero: mask" in run("compare", *paths).output
    assert run("compare", *paths, "--expect-zero", "mask").exit_code == AGREE


def test_a_file_with_itself_proves_nothing(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    path = save(tmp_path / "a.npz", arrays)
    result = run("compare", path, tmp_path / "." / "a.npz")
    assert result.exit_code == DIFFER
    assert result.output.startswith("INVALID")


def test_a_page_is_written(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    left = save(tmp_path / "a.npz", arrays)
    right = save(tmp_path / "b.npz", {n: a + 1e-4 for n, a in arrays.items()})
    page = tmp_path / "new" / "page.html"
    assert run("compare", left, right, "--html", page).exit_code == DIFFER
    text = page.read_text(encoding="utf-8")
    assert "First difference" in text
    assert "gap_counts" in text, "histograms were collected"
    blocked = run("compare", left, right, "--html", left / "page.html")
    assert blocked.exit_code == MISUSE
    assert "--html" in blocked.output


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("gone.npz", None, "no such file"),
        ("text.npz", b"hello", "not a readable .npz"),
        ("cut.npz", b"PK\x03\x04", "not a readable .npz"),
        ("notes.txt", b"hello", "ends in .npz"),
        ("bad.safetensors", b"\x00" * 20, "not a readable trace"),
    ],
)
def test_unreadable_files_are_misuse(
    tmp_path: Path, arrays: dict[str, np.ndarray], name: str, content: bytes | None, says: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    result = run("compare", path, save(tmp_path / "good.npz", arrays))
    assert result.exit_code == MISUSE
    assert says in result.output
    assert name in result.output


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "objects.npz"
    np.savez(path, thing=np.array([{"a": 1}], dtype=object))
    result = run("compare", path, path)
    assert result.exit_code == MISUSE
    assert "objects.npz" in result.output


def results(tmp_path: Path, *verdicts: str) -> Path:
    rows = [
        {
            "id": f"returns/function.td_target[case{i}]-float32-eager",
            "component": "returns",
            "case": f"case{i}",
            "check": "function.td_target",
            "dtype": "float32",
            "mode": "eager",
            "verdict": verdict,
            "values_compared": 13,
            "max_abs": 2e-7,
            "allowed": 1e-6,
            "headroom": 0.2,
        }
        for i, verdict in enumerate(verdicts)
    ]
    path = tmp_path / "parity.json"
    parts = {"totals": {}, "environment": {}, "skipped": [], "errors": []}
    path.write_text(json.dumps({"schema": 1, **parts, "checks": rows}))
    return path


def test_show_prints_results_and_fails_with_them(tmp_path: Path) -> None:
    good = run("show", results(tmp_path, "agree", "rounding"))
    assert good.exit_code == AGREE
    assert "2 checks, 2 passed, 0 failed" in good.output
    bad = run("show", results(tmp_path, "agree", "diverge"), "--failed")
    assert bad.exit_code == DIFFER
    assert "case1" in bad.output
    assert "case0" not in bad.output


def test_show_of_no_checks_is_no_success(tmp_path: Path) -> None:
    assert run("show", results(tmp_path)).exit_code == DIFFER


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "of schema 1"),
        ('{"schema": 99, "checks": []}', "of schema 1"),
        ('{"schema": 1, "checks": []}', "lacks environment"),
        (
            '{"schema": 1, "totals": {}, "environment": {}, "skipped": [], "errors": [],'
            ' "checks": [{}]}',
            "check 0 lacks allowed",
        ),
    ],
)
def test_show_refuses_other_files(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "parity.json"
    path.write_text(text)
    result = run("show", path)
    assert result.exit_code == MISUSE
    assert says in result.output


def test_doctor_names_versions() -> None:
    document = json.loads(run("doctor", "--json").output)
    assert document["environment"]["numpy"] == np.__version__
    assert isinstance(document["threats"], list)


def test_help_loads_no_framework() -> None:
    """Also the bound that matters to a user: help answers at once."""
    program = (
        "import sys; from parity.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'tensorflow', 'keras', 'gymnasium'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Exit codes: 0 the sides agree, 1 they differ, 2 misuse." in done.stdout


def test_a_fault_of_the_harness_is_one_line(
    tmp_path: Path, arrays: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("lost")

    monkeypatch.setattr("parity.message.render", broken)
    path = save(tmp_path / "a.npz", arrays)
    result = run("compare", path, path)
    assert result.exit_code == MISUSE
    assert "internal error: RuntimeError: lost" in result.output
    assert "Traceback" not in result.output
    monkeypatch.setenv("PARITY_TRACEBACK", "1")
    assert isinstance(run("compare", path, path).exception, RuntimeError)
