"""Entries of a trace that are made when they are read."""

from __future__ import annotations

import numpy as np
import pytest

from parity.errors import InvalidInput
from parity.late import Late, LateTrace
from parity.report import build_report
from parity.trace import Trace


def trace(values: list[float]) -> tuple[LateTrace, list[int]]:
    asked: list[int] = []

    def make() -> np.ndarray:
        asked.append(len(asked))
        return np.array(values)

    found = LateTrace(side="tf")
    found.add("first", np.ones(2))
    found.later("late", Late((len(values),), np.dtype("float64"), make))
    found.add("last", np.ones(3))
    return found, asked


def test_it_is_made_whenever_it_is_read_and_not_before() -> None:
    found, asked = trace([1.0, 2.0])
    assert found.names == ["first", "late", "last"] and "late" in found and not asked
    np.testing.assert_array_equal(found["late"], [1.0, 2.0])
    np.testing.assert_array_equal(found.entry("late"), [1.0, 2.0])
    np.testing.assert_array_equal(dict(found.items())["late"], [1.0, 2.0])
    assert len(asked) == 3


def test_its_name_is_taken() -> None:
    found, _ = trace([1.0])
    with pytest.raises(InvalidInput, match="'late' recorded twice"):
        found.add("late", np.ones(1))


@pytest.mark.parametrize("value", [2.0, 2.5])
def test_it_is_compared_by_its_values(value: float) -> None:
    found, asked = trace([1.0, value])
    other = Trace(dict(trace([1.0, 2.0])[0].items()), side="torch")
    report = build_report({"torch": other, "tf": found})
    assert [e.name for e in report.failing] == ([] if value == 2.0 else ["late"])
    assert len(asked) == 1
