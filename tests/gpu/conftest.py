"""The GPU stage: every component on each framework's GPU, against the goldens and each other.

``pytest -m gpu`` runs it where there is a GPU; ``--parity-device=cpu`` runs every body without one,
so that none of it is dead code. One of the two frameworks is enough: the goldens stand in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from parity.backends.reduced import gpus, use_full_precision
from parity.reduced import reduced_precision
from parity.requirements import GPU, missing, module_name, required
from parity.suite import FRAMEWORKS

# Read when CUDA starts: without it cuBLAS may sum in another order from run to run.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


@dataclass(frozen=True)
class Stage:
    """Where the stage runs.

    Attributes:
        device: ``cuda`` or ``cpu``.
        frameworks: those that can use it.
        absent: why another one is not among them.
    """

    device: str
    frameworks: tuple[str, ...]
    absent: str = ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "gpu":
            item.add_marker("gpu")
            # whether a kernel repeats is measured: that torch knows no better one is no failure
            item.add_marker(pytest.mark.filterwarnings("ignore:.*deterministic:UserWarning"))


@pytest.fixture(scope="session")
def found(request: pytest.FixtureRequest) -> Stage:
    """What there is, without judging it."""
    installed = [name for name in FRAMEWORKS if not missing((name,))]
    why = [f"{module_name(n)} is not installed" for n in FRAMEWORKS if n not in installed]
    if request.config.getoption("--parity-device") == "cpu":
        return Stage("cpu", tuple(installed), "; ".join(why))
    able = [name for name in installed if gpus(name)]
    why += [f"{module_name(n)} sees no GPU" for n in installed if n not in able]
    return Stage("cuda", tuple(able), "; ".join(why))


@pytest.fixture(scope="session")
def stage(found: Stage) -> Iterator[Stage]:
    """The stage, at full precision and deterministic; skips where it cannot run."""
    if not found.frameworks:
        pytest.skip(no_gpu(found))
    for framework in found.frameworks:
        use_full_precision(framework)
    undo = [be_deterministic(name) for name in found.frameworks if found.device != "cpu"]
    reduced = reduced_precision(found.frameworks, found.device)
    assert not reduced, f"float32 is not float32 here: {reduced}"
    yield found
    for back in undo:
        back()


def no_gpu(found: Stage) -> str:
    """The one line that a skipped stage says."""
    return f"no GPU: {found.absent} (--parity-device=cpu runs the stage without one)"


def gpu_required() -> bool:
    return GPU in required()


def be_deterministic(framework: str) -> Callable[[], None]:
    """Ask for kernels that repeat; returns what undoes it."""
    if framework == "torch":
        import torch

        before = torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(True, warn_only=True)
        return lambda: torch.use_deterministic_algorithms(before)
    import tensorflow as tf

    tf.config.experimental.enable_op_determinism()  # there is no way back, and no harm
    return lambda: None
