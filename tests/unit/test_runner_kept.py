"""A recording may serve two tests of one check; nothing else may get it."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

from parity.backends import get_backend
from parity.component import Check, Recording, Side
from parity.runner import recorded


@dataclass(frozen=True, kw_only=True)
class Counting(Check):
    """Counts how often it runs."""

    kind: ClassVar[str] = "counting"
    runs: list[int]

    def record(self, sides: Any) -> Recording:
        self.runs.append(1)
        return Recording({})


def sides(impl: ModuleType, dtype: str = "float64") -> dict[str, Side]:
    return {"reference": Side("reference", impl, get_backend("reference"), dtype)}


def test_a_kept_recording_serves_one_later_call() -> None:
    check, impl = Counting(name="x", case="a", runs=[]), ModuleType("impl")
    first = recorded(check, sides(impl), keep=True)
    assert recorded(check, sides(impl)) is first
    assert len(check.runs) == 1
    assert recorded(check, sides(impl)) is not first
    assert len(check.runs) == 2


def test_another_sibling_dtype_or_check_runs_anew() -> None:
    check, impl = Counting(name="x", case="a", runs=[]), ModuleType("impl")
    recorded(check, sides(impl), keep=True)
    recorded(check, sides(ModuleType("planted")))
    recorded(check, sides(impl, "float32"))
    other = Counting(name="x", case="a", runs=[])
    recorded(other, sides(impl))
    assert (len(check.runs), len(other.runs)) == (3, 1)
