"""What the GPU stage runs: the checks that have a golden, and of these some compiled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from impls import COMPONENTS, load_component
from parity.component import Check, Component
from parity.golden import Golden, golden_checks, golden_file, load_golden

FIXTURES = Path(__file__).parents[2] / "fixtures"
COMPILABLE = ("function", "update", "optimizer", "composed")
"""Kinds of checks that run compiled: modules are recorded layer by layer, in eager mode only."""
QUICK = ("returns", "target_update")
"""Components that are compiled in the run without a GPU, which must stay short."""

UNTRACED = ("stream_training",)
"""Their functions split a stream by name; ``torch.compile`` cannot trace the hash of the name."""


@dataclass(frozen=True)
class Case:
    """One check of one component, in one dtype and mode."""

    component: Component
    check: Check
    dtype: str
    mode: str = "eager"

    @property
    def id(self) -> str:
        name = f"{self.component.name}/{self.check.label}[{self.check.case}]"
        return f"{name}-{self.dtype}-{self.mode}"

    def golden(self) -> Golden:
        """What it computed on the CPU when it was last accepted."""
        name = golden_file(self.component.name, self.check.label, self.check.case)
        return load_golden(FIXTURES / name)


def eager_cases() -> list[Case]:
    """Every check with a golden, in each of its dtypes; environments know no device."""
    return [
        Case(spec, check, dtype)
        for spec in map(load_component, COMPONENTS)
        for check in golden_checks(spec)
        if check.kind != "environment"
        for dtype in check.dtypes
    ]


def compiled_cases(*, quick: bool) -> list[Case]:
    """Of each component that is compiled at all one check, in both compiled modes.

    Args:
        quick: only of some components, and of whole updates none.
    """
    found = []
    for name in QUICK if quick else COMPONENTS:
        spec = load_component(name)
        declared = {c.label for c in spec.checks if {"compiled", "xla"} & set(c.modes)}
        checks = [
            check
            for check in golden_checks(spec)
            if check.label in declared and check.kind in COMPILABLE and not check.needs
        ]
        for check in checks[-1:]:  # where there are whole updates, they come last
            modes = ("xla",) if name in UNTRACED else ("compiled", "xla")
            found += [Case(spec, check, check.dtypes[0], mode) for mode in modes]
    return found
