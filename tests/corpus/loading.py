"""Reads the corpus: what a case says about itself, and its code.

What a case says is a few literals at the top of its file. They are read without importing it, so
that the documentation can be made, and the cases listed, where no framework is installed.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

CASES = Path(__file__).parent / "cases"

SUBJECTS = ("module", "function", "optimizer", "environment", "agent")

#: Kind -> heading in the documentation. A case lies in the folder of its kind.
KINDS: Mapping[str, str] = {
    "layer-config": "Layer settings",
    "activation": "Activations",
    "attention": "Attention",
    "recurrent": "Recurrent layers",
    "pooling": "Pooling",
    "resize": "Resizing and padding",
    "weight-layout": "Copying weights",
    "state": "Running statistics and other state",
    "data-layout": "Order of axes and elements",
    "loss": "Losses",
    "gradient": "Gradients",
    "returns": "Returns and advantages",
    "optimizer": "Optimizers and schedules",
    "target-update": "Target networks",
    "graph": "Traced functions",
    "dtype": "Number types",
    "numerics": "Numerics",
    "init": "Initial weights",
    "rng": "Random numbers",
    "rollout": "Environments and rollouts",
    "stacked": "Several faults at once",
    "control": "Correct pairs that look wrong",
}


@dataclass(frozen=True)
class Case:
    """What a case file says about itself.

    Attributes:
        causes, places: one for each fault; empty for a control, which has none.
        options: ``training``, ``weights`` ("keep": the tf side brings its own copy of the weights,
            made by the code under test), ``map`` (torch layer -> tf layer), ``steps``.
        hidden: ``inputs`` do not show the fault; ``revealing`` does.
        float64: False where the pair computes in float32 whatever it is given.
        float32_constants: the framework itself computes with float32 constants in float64.
        channels_last: arrays of three and more axes have their channels last on the tf side.
    """

    id: str
    kind: str
    subject: str
    title: str
    symptom: str
    why: str
    fix: str
    path: Path
    causes: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    hidden: bool = False
    float64: bool = True
    float32_constants: bool = False
    channels_last: bool = False

    @property
    def control(self) -> bool:
        return self.kind == "control"


def read(path: Path) -> Case:
    """The literals of a case file.

    Raises:
        ValueError: one is missing.
    """
    said = dict(_literals(ast.parse(path.read_text(encoding="utf-8"))))
    needed = ["ID", "KIND", "SUBJECT", "TITLE"]
    needed += (
        ["WHY"] if said.get("KIND") == "control" else ["SYMPTOM", "WHY", "CAUSE", "FIX", "PLACE"]
    )
    if missing := [name for name in needed if not said.get(name)]:
        raise ValueError(f"{path} does not say {', '.join(missing)}")
    return Case(
        id=said["ID"],
        kind=said["KIND"],
        subject=said["SUBJECT"],
        title=said["TITLE"],
        symptom=said.get("SYMPTOM", ""),
        why=said["WHY"],
        fix=said.get("FIX", ""),
        path=path,
        causes=_tuple(said.get("CAUSE", ())),
        places=_tuple(said.get("PLACE", ())),
        options=said.get("OPTIONS", {}),
        hidden=said.get("HIDDEN", False),
        float64=said.get("FLOAT64", True),
        float32_constants=said.get("FLOAT32_CONSTANTS", False),
        channels_last=said.get("CHANNELS_LAST", False),
    )


def read_all(folder: Path = CASES, substrings: Sequence[str] = ()) -> list[Case]:
    """Every case below a folder, by kind and name; only those whose path has a substring."""
    paths = (p for p in folder.glob("*/*.py") if not p.name.startswith("_"))
    found = [
        p
        for p in paths
        if not substrings or any(s in f"{p.parent.name}/{p.stem}" for s in substrings)
    ]
    order = list(KINDS)
    return [read(p) for p in sorted(found, key=lambda p: (order.index(p.parent.name), p.stem))]


def load(case: Case) -> ModuleType:
    """Import a case's file; once per process."""
    name = f"corpus_case_{case.id}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, case.path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _literals(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if node.targets[0].id.isupper():
                try:
                    yield node.targets[0].id, ast.literal_eval(node.value)
                except ValueError:
                    continue  # a constant of the user's code, not one that describes the case


def _tuple(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
