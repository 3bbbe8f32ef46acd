"""Components on the GPU: against the goldens, against each other, and run a second time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from parity.golden import Run, compare_with_golden, record_runs
from parity.recorder import ParityRecorder
from parity.reduced import name_reduced
from parity.report import Report, build_report
from parity.runner import load_siblings
from parity.tolerance import DEVICE_FLOAT32, Tolerance
from parity.trace import Trace
from tests.gpu.cases import Case, compiled_cases, eager_cases
from tests.gpu.conftest import Stage, gpu_required, no_gpu
from tests.gpu.graphs import as_graphs

pytestmark = pytest.mark.gpu

REPEAT = Tolerance(0.0, "the same kernels on the same values on the same device repeat bit for bit")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    quick = metafunc.config.getoption("--parity-device") == "cpu"
    if "eager_case" in metafunc.fixturenames:
        cases = eager_cases()
        metafunc.parametrize("eager_case", cases, ids=[case.id for case in cases])
    if "compiled_case" in metafunc.fixturenames:
        cases = compiled_cases(quick=quick)
        metafunc.parametrize("compiled_case", cases, ids=[case.id for case in cases])
    if "graph_case" in metafunc.fixturenames:
        cases = [case for case in compiled_cases(quick=False) if case.mode == "compiled"]
        metafunc.parametrize("graph_case", cases, ids=[case.id for case in cases])


def test_there_is_a_gpu(found: Stage) -> None:
    """Where one is required, its absence is a failure and not a skip."""
    if not found.frameworks:
        if gpu_required():
            pytest.fail(f"PARITY_REQUIRE: {no_gpu(found)}", pytrace=False)
        pytest.skip(no_gpu(found))


def test_eager(eager_case: Case, stage: Stage, parity: ParityRecorder) -> None:
    parity.require("safetensors", *eager_case.check.needs)
    runs = record(eager_case, stage)
    check(eager_case, stage, runs, parity)
    if eager_case.dtype == "float32":
        check_repeats(eager_case, stage, runs, parity)


@pytest.fixture
def fresh_compiler(stage: Stage) -> Iterator[None]:
    """torch stops compiling a function after a few variants: each check gets a fresh count."""
    yield
    if "torch" in stage.frameworks:
        import torch

        torch._dynamo.reset()


@pytest.mark.usefixtures("fresh_compiler")
def test_compiled(compiled_case: Case, stage: Stage, parity: ParityRecorder) -> None:
    parity.require("safetensors")
    if compiled_case.mode == "xla" and "tf" not in stage.frameworks:
        pytest.skip("XLA is TensorFlow's: tensorflow is not here")
    check(compiled_case, stage, record(compiled_case, stage), parity)


def test_cuda_graphs(graph_case: Case, stage: Stage, parity: ParityRecorder) -> None:
    """The step recorded once and replayed; without a GPU its operations are, see ``graphs``."""
    parity.require("safetensors")
    if "torch" not in stage.frameworks:
        pytest.skip("CUDA graphs are recorded by torch, which is not here")
    alone = replace(stage, frameworks=("torch",))
    with pytest.MonkeyPatch.context() as patch, as_graphs(patch) as counts:
        runs = record(graph_case, alone)
    assert counts.calls, f"{graph_case.id}: its step never ran as the compiled variant"
    assert counts.recorded and counts.replayed >= counts.recorded, f"{graph_case.id}: {counts}"
    check(graph_case, alone, runs, parity, "cuda-graph")


def record(case: Case, stage: Stage) -> dict[Run, Trace]:
    """The runs of the frameworks that are here, on the device of the stage."""
    siblings = load_siblings(f"impls.{case.component.name}", (*stage.frameworks, "reference"))
    return record_runs(
        case.check, siblings, dtypes=(case.dtype,), mode=case.mode, device=stage.device
    )


def check(
    case: Case, stage: Stage, runs: dict[Run, Trace], parity: ParityRecorder, what: str = "gpu"
) -> None:
    """Compare with the golden; name reduced precision where that is the cause."""
    report = against_golden(case, stage, runs, what)
    if not report.passed and case.dtype == "float32" and "float64" in case.check.dtypes:
        wide = Case(case.component, case.check, "float64", case.mode)
        why = name_reduced(report, against_golden(wide, stage, record(wide, stage)))
        if why is not None:
            parity.record(report)
            parity.fail(f"{report}\nreduced precision: {why}")
    parity.check(report)


def against_golden(case: Case, stage: Stage, runs: dict[Run, Trace], what: str = "gpu") -> Report:
    """Every framework's run, the goldens of both, and the golden reference.

    In compiled modes the eager variants join (``torch-eager``), as in the suite; in mode ``xla``
    torch runs eager.
    """
    tolerances: Any = {"*": DEVICE_FLOAT32} if case.dtype == "float32" else None
    return compare_with_golden(
        case.golden(),
        runs,
        case.check,
        case.dtype,
        tolerances=tolerances,
        subject=subject(case, stage, what),
    )


def check_repeats(case: Case, stage: Stage, runs: dict[Run, Trace], parity: ParityRecorder) -> None:
    """A second run gives the same bits."""
    again = record(case, stage)
    for framework in stage.frameworks:
        one, other = runs[case.dtype, framework], again[case.dtype, framework]
        report = build_report(
            {"first": one, "again": other},
            tolerances={"*": REPEAT},
            expect_zero=("*",),
            dtype=case.dtype,
            subject=subject(case, stage, f"repeat/{framework}"),
        )
        parity.check(report)


def subject(case: Case, stage: Stage, what: str) -> dict[str, Any]:
    return {
        "component": case.component.name,
        "check": f"{what}/{case.check.label}",
        "case": case.check.case,
        "dtype": case.dtype,
        "mode": case.mode,
        "device": stage.device,
    }
