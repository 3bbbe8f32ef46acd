"""Components recorded where only torch is installed, and checked where only TensorFlow is.

The rows are those of one process: verdicts and every number, exactly, since all runs are on one
machine. A few small checks of every component and of every kind here; all of them in the test that
is marked slow. ``PARITY_TORCH_PYTHON`` and ``PARITY_TF_PYTHON`` name interpreters of environments
that were made with pip, such as ``pip install -e '.[torch,gym,test]'``; without them, two are put
together from the packages that are here.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from impls import COMPONENTS, load_component
from parity.requirements import missing
from parity.suite import FRAMEWORKS, SuiteCase, suite_cases
from parity.trace import Trace
from tests.support.environments import environment_without, run

pytestmark = [
    pytest.mark.meta,
    pytest.mark.skipif(bool(missing(FRAMEWORKS)), reason="needs torch and tensorflow"),
]

CASES = suite_cases({f"impls.{name}": load_component(name) for name in COMPONENTS})
SUITE = "tests/parity/test_parity.py"


def chosen() -> list[SuiteCase]:
    """Of every component the first eager check of each kind, in every dtype."""
    found: dict[tuple[str, str], str] = {}
    for case in CASES:
        if case.mode == "eager" and not missing(case.check.needs):
            label = f"{case.check.label}[{case.check.case}]"
            found.setdefault((case.component.name, case.check.kind), label)
    return [
        case
        for case in CASES
        if case.mode == "eager"
        and found.get((case.component.name, case.check.kind))
        == f"{case.check.label}[{case.check.case}]"
    ]


@pytest.fixture(scope="module")
def pythons(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Interpreters of an environment with only torch and of one with only TensorFlow."""
    folder = tmp_path_factory.mktemp("environments")
    given = {side: os.environ.get(f"PARITY_{side.upper()}_PYTHON") for side in FRAMEWORKS}
    made = {
        side: Path(own) if own else environment_without(other, folder / side)
        for (side, own), other in zip(given.items(), reversed(FRAMEWORKS), strict=True)
    }
    for side, absent in (("torch", "tensorflow"), ("tf", "torch")):
        failed = run(made[side], "-c", f"import {absent}")
        assert f"No module named '{absent}'" in failed.stderr
    return made


def rows(python: Path, out: Path, selected: list[str], *options: object) -> dict[str, Any]:
    """Run part of the suite; the rows of its results by id."""
    result = run(
        python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *selected,
        f"--parity-json={out}", *options, timeout=1800,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-2000:]
    document = json.loads(out.read_text(encoding="utf-8"))
    return {row["id"]: row for row in document["checks"]}


def both(
    pythons: dict[str, Path], tmp_path: Path, selected: list[str], first: str = "torch"
) -> dict[str, Any]:
    """Record one side in its environment, check the other in its own."""
    traces = tmp_path / "traces"
    second = "tf" if first == "torch" else "torch"
    recorded = rows(pythons[first], tmp_path / "first.json", selected,
                    f"--parity-record={traces}", f"--parity-side={first}")  # fmt: skip
    checked = rows(pythons[second], tmp_path / "second.json", selected,
                   f"--parity-against={traces}")  # fmt: skip
    assert recorded.keys() == checked.keys()
    return checked


def test_every_component_gives_the_rows_of_one_process(
    pythons: dict[str, Path], tmp_path: Path
) -> None:
    cases = chosen()
    assert {case.component.name for case in cases} == set(COMPONENTS)
    selected = [f"{SUITE}::test_parity[{case.id}]" for case in cases]
    apart = both(pythons, tmp_path, selected)
    together = {case.id: json.loads(json.dumps(case.run().summary())) for case in cases}
    assert apart.keys() == together.keys()
    for name, row in together.items():
        assert apart[name] == row, name


@pytest.mark.slow
def test_the_whole_suite_gives_the_rows_of_one_process(
    pythons: dict[str, Path], tmp_path: Path
) -> None:
    together = rows(Path(sys.executable), tmp_path / "one.json", [SUITE])
    apart = both(pythons, tmp_path, [SUITE])
    assert apart.keys() == together.keys()
    for name, row in together.items():
        assert apart[name] == row, name


def test_a_planted_fault_is_found_apart_as_well(pythons: dict[str, Path], tmp_path: Path) -> None:
    """A recording that was changed in one element: the other environment turns red."""
    wanted = (c.id for c in chosen() if c.dtype == "float64" and c.check.kind == "function")
    selected = [f"{SUITE}::test_parity[{next(wanted)}]"]
    traces = tmp_path / "traces"
    rows(pythons["torch"], tmp_path / "first.json", selected,
         f"--parity-record={traces}", "--parity-side=torch")  # fmt: skip
    (path,) = traces.rglob("*.trace")
    kept = Trace.load(path)
    changed = Trace(side=kept.side, meta=kept.meta)
    name = next(n for n in kept if n.startswith("entries/torch/output"))
    for entry, array in kept.items():
        changed.add(entry, np.where(np.arange(array.size).reshape(array.shape) == 0, array + 1e-9,
                                    array) if entry == name else array)  # fmt: skip
    changed.save(path)
    result = run(pythons["tf"], "-m", "pytest", "-q", "-p", "no:cacheprovider", *selected,
                 f"--parity-against={traces}")  # fmt: skip
    assert result.returncode == 1, result.stdout
    assert name.removeprefix("entries/torch/") in result.stdout
    assert "torch is off the float64 reference" in result.stdout


def test_misuse_of_the_options(tmp_path: Path, pythons: dict[str, Path]) -> None:
    chosen_id = f"{SUITE}::test_parity[{chosen()[0].id}]"
    base = (pythons["torch"], "-m", "pytest", "-q", "-p", "no:cacheprovider", chosen_id)
    for options, said in (
        (("--parity-record", tmp_path), "go together"),
        (("--parity-side", "torch"), "go together"),
        (("--parity-record", tmp_path, "--parity-side", "tf", "--parity-against", tmp_path),
         "not both"),
        (("--parity-against", tmp_path / "none"), "no recordings"),
    ):  # fmt: skip
        result = run(*base, *options)
        assert result.returncode != 0
        assert said in result.stdout + result.stderr, result.stdout + result.stderr
