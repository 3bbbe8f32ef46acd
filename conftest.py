"""Settings of every test run: thread counts, devices, import order, Hypothesis profiles."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

pytest_plugins = ("pytester",)

# One thread per framework: sums in the same order on every machine, and test processes that run
# side by side don't fight for cores. A value that is already set wins.
for variable in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Inductor would compile and run a probe for each vector extension first: 6 s of a cold run.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")


class _TorchFirst(MetaPathFinder):
    """Imports torch right before TensorFlow: the other order has hung.

    Both bring their own OpenMP and protobuf, and sorted imports put ``tensorflow`` first. Only
    executing the module counts: looking for its spec must not import anything.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != "tensorflow":
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or spec.loader is None or "torch" in sys.modules:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            if find_spec("torch") is not None:
                importlib.import_module("torch")
            execute(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _TorchFirst())


def pytest_configure(config: pytest.Config) -> None:
    """Hide GPUs unless this run is about them: a CPU suite must not depend on one, or fill one."""
    asked = [config.getoption("markexpr") or "", *map(str, config.invocation_params.args)]
    if not any("gpu" in text for text in asked) or config.getoption("--parity-device") == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`pytest -m parity` looks where its checks are: the other folders have ten thousand tests.

    To collect those, only to leave them out, takes 11 s.
    """
    if config.getoption("markexpr") != "parity" or collection_path.name == "parity":
        return None
    elsewhere = collection_path.parent == config.rootpath / "tests" and collection_path.is_dir()
    return elsewhere or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A check in another folder would never run: :func:`pytest_ignore_collect`."""
    folder = config.rootpath / "tests" / "parity"
    for item in items:
        if item.get_closest_marker("parity") and folder not in item.path.parents:
            import pytest

            raise pytest.UsageError(f"{item.nodeid}: marked parity, so it belongs to tests/parity")


if find_spec("hypothesis") is not None:
    from hypothesis import HealthCheck, settings

    # Examples call two frameworks, whose first call compiles: time says nothing about a test.
    common: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("dev", max_examples=50, **common)
    settings.register_profile("ci", max_examples=50, derandomize=True, print_blob=True, **common)
    settings.register_profile("thorough", max_examples=1000, **common)
    settings.load_profile(
        os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
    )
