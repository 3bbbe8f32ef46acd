"""The cases of a corpus as pairs that `parity check` takes, whichever of two forms they have."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from tests.corpus import loading

SEED = 3


@dataclass(frozen=True)
class Pair:
    """A correct pair and, unless the case is a control, the same with a fault.

    Attributes:
        torch, fixed, buggy: what a user would hand to ``parity.check``.
        causes, places: one for each fault; several acceptable ones are joined by ``|``.
        options: keyword arguments of ``parity.check``.
    """

    name: str
    kind: str
    torch: Any
    fixed: Any
    buggy: Any
    inputs: Any
    causes: tuple[str, ...]
    places: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


def read_pairs(
    folder: Path, substrings: Sequence[str], truth: Mapping[str, Mapping[str, str]]
) -> Iterator[Pair]:
    """Every case of a folder, one after the other."""
    if any(folder.glob("*/*.py")):
        for case in loading.read_all(folder, substrings):
            yield _own(case)
    else:
        for path in sorted(folder.glob("*.py")):
            if not substrings or any(s in path.stem for s in substrings):
                yield _flat(path, truth.get(path.stem, {}))


def _own(case: loading.Case) -> Pair:
    code = loading.load(case)
    known = {"training": "training", "weights": "transfer", "map": "names", "steps": "steps"}
    options = {known[name]: value for name, value in case.options.items()}
    if case.hidden:
        options |= _searching()
    if case.subject == "agent":
        options["environment"] = functools.partial(_played, code)
    return Pair(
        f"{case.kind}/{case.id}",
        case.kind,
        code.torch_side,
        code.tf_fixed,
        getattr(code, "tf_buggy", None),
        code.inputs(0) if hasattr(code, "inputs") else None,
        case.causes,
        case.places,
        options,
    )


def _played(code: ModuleType) -> Any:
    """An environment that shows an agent the observations of a case, whatever it does."""
    import gymnasium

    (observations,) = code.inputs(0).values()
    action = np.asarray(code.tf_fixed().act(observations[0]))
    box = gymnasium.spaces.Box

    class Played(gymnasium.Env):
        observation_space = box(-np.inf, np.inf, observations[0].shape, observations.dtype)
        action_space = box(-np.inf, np.inf, action.shape, np.float32)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.turn = 0
            return observations[0], {}

        def step(self, action: Any) -> Any:
            self.turn += 1
            last = self.turn == len(observations) - 1
            return observations[self.turn], 0.0, False, last, {}

    return Played()


def _searching() -> dict[str, Any]:
    """For faults that the given data hides: let the check look for data that shows them."""
    from parity.debug.check import check

    return {"search": 200} if "search" in inspect.signature(check).parameters else {}


def _flat(path: Path, truth: Mapping[str, str]) -> Pair:
    code = _import(path)
    given = code.inputs(0)
    inputs = given
    if hasattr(code, "to_tf_inputs"):
        inputs = {"torch": given, "tf": code.to_tf_inputs(given)}
    first = _seeded(code.build_torch)
    is_module = isinstance(first, torch.nn.Module)
    copying = {
        "fixed": None if is_module and not hasattr(code, "transfer_buggy") else code.transfer,
        "buggy": getattr(code, "transfer_buggy", None if is_module else code.transfer),
    }
    kept = any(copying.values())
    place = code.FIRST_DIVERGENCE
    if not is_module and place == "out":
        place = "output"
    return Pair(
        path.stem,
        code.CATEGORY,
        lambda: _seeded(code.build_torch),
        _copied(code, code.build_tf_fixed, copying["fixed"]),
        _copied(code, code.build_tf_buggy, copying["buggy"]),
        inputs,
        (truth.get("cause", "?"),),
        (truth.get("place", place),),
        {
            "transfer": "keep" if kept else "copy",
            "training": is_module and first.training,
        },
    )


def _copied(
    code: ModuleType, build: Callable[[], Any], copy: Callable[[Any, Any], None] | None
) -> Callable[[], Any]:
    """A factory of the tf side; with the case's own copy of the weights where it makes one."""

    def factory() -> Any:
        made = build()
        if copy is not None:
            copy(_seeded(code.build_torch), made)
        return made

    return factory


def _seeded(build: Callable[[], Any]) -> Any:
    # not by name: a factory that refers to torch would be taken for the torch side
    sys.modules["torch"].manual_seed(SEED)
    return build()


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"flat_case_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
