"""Golden traces: packing, choosing, thinning, comparing, and the manifest."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

from impls import COMPONENTS, load_component
from parity.component import Check, Component, Recording, Side
from parity.errors import InvalidInput
from parity.golden import (
    LONG,
    MANIFEST,
    Golden,
    compare_reference,
    compare_with_golden,
    golden_change,
    golden_checks,
    golden_file,
    load_golden,
    make_golden,
    manifest_complaints,
    read_manifest,
    thinned,
    total_values,
)
from parity.trace import Trace
from parity.verdict import Verdict

pytest.importorskip("safetensors")
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class ToyCheck(Check):
    """Each side computes ``scale * x``, in its dtype."""

    kind: ClassVar[str] = "toy"
    scale: Mapping[str, float] = field(default_factory=dict)

    def record(self, sides: Mapping[str, Side]) -> Recording:
        x = np.array([0.5, 1.25, -3.0])
        return Recording(
            {
                name: Trace({"y": (x * self.scale.get(name, 2.0)).astype(side.dtype)}, side=name)
                for name, side in sides.items()
            }
        )


CHECK = ToyCheck(name="double", case="a")
TOY = Component("toy", (), (CHECK,))
SIBLINGS = {name: ModuleType(name) for name in ("torch", "tf", "reference")}


@pytest.fixture(autouse=True)
def _no_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parity.runner.get_backend", lambda name: None)


def now(check: Check = CHECK) -> dict[tuple[str, str], Trace]:
    from parity.golden import record_runs

    return record_runs(check, SIBLINGS)


def test_a_file_gives_back_what_was_recorded(tmp_path: Path) -> None:
    golden = make_golden(TOY, CHECK, SIBLINGS)
    path = golden.save(tmp_path)
    assert path == tmp_path / "toy" / "toy.double.a.safetensors"
    back = load_golden(path)
    assert (back.component, back.check, back.case) == ("toy", "toy.double", "a")
    assert set(back.traces) == set(golden.traces)
    for run, trace in golden.traces.items():
        assert back.traces[run].names == trace.names
        assert np.array_equal(back.traces[run]["y"], trace["y"])
        assert back.traces[run]["y"].dtype == trace["y"].dtype
    assert total_values(golden) == 15  # 3 values: torch and tf twice, the reference once


def test_other_files_are_refused(tmp_path: Path) -> None:
    Trace({"y": 1.0}).save(tmp_path / "trace.safetensors")
    with pytest.raises(InvalidInput, match="not a golden one"):
        load_golden(tmp_path / "trace.safetensors")
    with pytest.raises(InvalidInput, match="no such file"):
        load_golden(tmp_path / "none.safetensors")


class TestComparing:
    golden = Golden("toy", CHECK.label, CHECK.case)

    @pytest.fixture(autouse=True)
    def _golden(self) -> None:
        self.golden = make_golden(TOY, CHECK, SIBLINGS)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_nothing_changed(self, dtype: str) -> None:
        report = compare_with_golden(self.golden, now(), CHECK, dtype)
        assert report.verdict is Verdict.AGREE
        assert set(report.sides) == {"torch", "tf", "torch-golden", "tf-golden", "reference"}
        assert report.identifier == f"toy/golden/toy.double[a]-{dtype}-eager"

    def test_a_change_of_all_sides_alike(self) -> None:
        alike = ToyCheck(name="double", case="a", scale=dict.fromkeys(SIBLINGS, 2.001))
        runs = now(alike)
        assert np.array_equal(runs["float64", "torch"]["y"], runs["float64", "reference"]["y"])
        for dtype in CHECK.dtypes:
            report = compare_with_golden(self.golden, runs, CHECK, dtype)
            assert report.verdict is Verdict.DIVERGE
            assert "torch and tf are off the float64 reference" in str(report)

    def test_a_change_of_the_reference_alone(self) -> None:
        changed = now(ToyCheck(name="double", case="a", scale={"reference": 2.001}))
        assert compare_with_golden(self.golden, changed, CHECK, "float64").passed
        report = compare_reference(self.golden, changed, CHECK)
        assert report is not None and report.verdict is Verdict.DIVERGE
        unchanged = compare_reference(self.golden, now(), CHECK)
        assert unchanged is not None and unchanged.passed

    def test_one_framework_is_enough(self) -> None:
        runs = {run: trace for run, trace in now().items() if run[1] == "torch"}
        assert compare_with_golden(self.golden, runs, CHECK, "float32").passed

    def test_entries_that_come_or_go(self) -> None:
        runs = now()
        runs["float64", "tf"].add("more", np.ones(3))
        assert not compare_with_golden(self.golden, runs, CHECK, "float64").passed
        runs["float64", "torch"] = Trace({"z": np.ones(3)}, side="torch")
        assert not compare_with_golden(self.golden, runs, CHECK, "float64").passed

    def test_a_missing_run(self) -> None:
        with pytest.raises(InvalidInput, match="holds no run in float16"):
            compare_with_golden(self.golden, now(), CHECK, "float16")

    def test_a_reference_that_disappeared(self) -> None:
        runs = {run: trace for run, trace in now().items() if run[1] != "reference"}
        report = compare_reference(self.golden, runs, CHECK)
        assert report is not None and not report.passed

    def test_change_in_words(self) -> None:
        assert golden_change(self.golden, make_golden(TOY, CHECK, SIBLINGS), CHECK) == ""
        other = ToyCheck(name="double", case="a", scale={"tf": 2.5})
        why = golden_change(self.golden, make_golden(TOY, other, SIBLINGS), CHECK)
        assert why == "float32 tf: y differs (by 1.5e+00)"
        fewer = Golden("toy", CHECK.label, "a", {("float32", "tf"): Trace({"y": 1.0})})
        assert golden_change(self.golden, fewer, CHECK).startswith("other runs: ")


class TestChoosing:
    def test_the_first_case_and_the_first_without_packages(self) -> None:
        checks = (
            ToyCheck(name="a", case="one", needs=("gymnasium",)),
            ToyCheck(name="a", case="two"),
            ToyCheck(name="a", case="three"),
            ToyCheck(name="b", case="one"),
            ToyCheck(name="b", case="two"),
            ToyCheck(name="c", case="one", needs=("gym",)),
            ToyCheck(name="d", case="one", modes=("compiled",)),
            ToyCheck(name="d", case="two"),
        )
        chosen = golden_checks(Component("toy", (), checks))
        assert [(c.name, c.case) for c in chosen] == [
            *[("a", "one"), ("a", "two"), ("b", "one"), ("c", "one"), ("d", "two")]
        ]

    @pytest.mark.parametrize("name", COMPONENTS)
    def test_every_kind_of_check_has_one(self, name: str) -> None:
        spec = load_component(name)
        labels = {check.label for check in spec.checks if "eager" in check.modes}
        assert {check.label for check in golden_checks(spec)} == labels

    def test_long_traces_keep_their_last_step(self) -> None:
        steps = {f"step/{k}/y": np.float64(k) for k in range(LONG + 5)}
        trace = Trace({"first": 1.0, **steps, "later/y": 2.0})
        assert thinned(trace).names == ["first", f"step/{LONG + 4}/y", "later/y"]
        short = Trace({f"step/{k}/y": np.float64(k) for k in range(3)})
        assert thinned(short) is short


class TestManifest:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        golden = make_golden(TOY, CHECK, SIBLINGS)
        path = golden.save(tmp_path)
        script = load_script()
        facts = script.facts(tmp_path, golden, CHECK, "a test")
        assert facts["bytes"] == path.stat().st_size
        manifest = {"schema": 1, "files": {golden.file: facts}}
        (tmp_path / MANIFEST).write_text(json.dumps(manifest))
        return tmp_path

    wanted = (golden_file("toy", CHECK.label, "a"),)

    def test_all_is_well(self, folder: Path) -> None:
        assert manifest_complaints(folder, self.wanted) == []
        assert read_manifest(folder)[self.wanted[0]]["reason"] == "a test"

    def test_a_missing_file(self, folder: Path) -> None:
        (folder / self.wanted[0]).unlink()
        assert manifest_complaints(folder, self.wanted) == [
            f"missing: {self.wanted[0]}",
            f"only in {MANIFEST}: {self.wanted[0]}",
        ]

    def test_an_unused_file(self, folder: Path) -> None:
        (folder / "toy" / "old.safetensors").write_bytes(b"")
        assert manifest_complaints(folder, self.wanted) == [
            "unused: toy/old.safetensors",
            f"not in {MANIFEST}: toy/old.safetensors",
        ]
        assert manifest_complaints(folder, ())[0].startswith("unused: toy/")

    def test_a_changed_file(self, folder: Path) -> None:
        path = folder / self.wanted[0]
        path.write_bytes(path.read_bytes()[:-1] + b"\x07")
        assert manifest_complaints(folder, self.wanted) == [
            f"{self.wanted[0]}: its sha256 is not the one in {MANIFEST}"
        ]
        with pytest.raises(InvalidInput, match="damaged"):
            load_golden(path)

    def test_facts_that_lack(self, folder: Path) -> None:
        document = json.loads((folder / MANIFEST).read_text())
        del document["files"][self.wanted[0]]["reason"]
        (folder / MANIFEST).write_text(json.dumps(document))
        assert manifest_complaints(folder, self.wanted) == [
            f"{self.wanted[0]}: {MANIFEST} lacks reason"
        ]

    @pytest.mark.parametrize("content", [None, "{", "[]", '{"schema": 9}'])
    def test_no_manifest(self, tmp_path: Path, content: str | None) -> None:
        if content is not None:
            (tmp_path / MANIFEST).write_text(content)
        with pytest.raises(InvalidInput, match=MANIFEST):
            read_manifest(tmp_path)


def load_script() -> Any:
    spec = util.spec_from_file_location("write_fixtures", ROOT / "scripts" / "write_fixtures.py")
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    path, hidden = list(sys.path), pytest.MonkeyPatch()
    hidden.setenv("CUDA_VISIBLE_DEVICES", "-1")
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = path
        hidden.undo()
    return module


class TestWriter:
    """The script, on the toy component."""

    @pytest.fixture
    def script(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        module = load_script()
        monkeypatch.setattr(module, "COMPONENTS", ("toy",))
        monkeypatch.setattr(module, "load_component", lambda name: TOY)
        monkeypatch.setattr(module, "load_siblings", lambda package: SIBLINGS)
        return module

    def run(self, script: Any, folder: Path, *arguments: str) -> int:
        return int(script.main([*arguments, "--folder", str(folder)]))

    def test_it_only_says_what_it_would_do(
        self, script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.run(script, tmp_path) == 1
        assert "would write toy/toy.double.a.safetensors: new" in capsys.readouterr().out
        assert list(tmp_path.iterdir()) == []

    def test_it_writes_when_asked_and_is_then_content(
        self, script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.run(script, tmp_path, "--write", "--reason", "first") == 0
        assert manifest_complaints(tmp_path, TestManifest.wanted) == []
        assert self.run(script, tmp_path) == 0
        assert "1 goldens, 0 to change" in capsys.readouterr().out

    def test_writing_needs_a_reason(self, script: Any, tmp_path: Path) -> None:
        with pytest.raises(SystemExit) as error:
            self.run(script, tmp_path, "--write")
        assert error.value.code == 2

    def test_a_change_is_named_and_replaced(
        self,
        script: Any,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        self.run(script, tmp_path, "--write", "--reason", "first")
        (tmp_path / "toy" / "old.safetensors").write_bytes(b"")
        changed = ToyCheck(name="double", case="a", scale={"tf": 2.5})
        monkeypatch.setattr(script, "load_component", lambda name: Component("toy", (), (changed,)))
        assert self.run(script, tmp_path) == 1
        out = capsys.readouterr().out
        assert "would write toy/toy.double.a.safetensors: float32 tf: y differs" in out
        assert "would remove toy/old.safetensors" in out
        assert self.run(script, tmp_path, "--write", "--reason", "second") == 0
        assert read_manifest(tmp_path)[TestManifest.wanted[0]]["reason"] == "second"
        assert not (tmp_path / "toy" / "old.safetensors").exists()

    def test_last_bits_of_another_machine_change_nothing(
        self, script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.run(script, tmp_path, "--write", "--reason", "first")
        before = (tmp_path / TestManifest.wanted[0]).read_bytes()
        near = ToyCheck(name="double", case="a", scale={"tf": 2.0 + 4e-15})
        monkeypatch.setattr(script, "load_component", lambda name: Component("toy", (), (near,)))
        assert self.run(script, tmp_path, "--write", "--reason", "second") == 0
        assert (tmp_path / TestManifest.wanted[0]).read_bytes() == before
