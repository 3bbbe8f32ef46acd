"""`scripts/scaling.py`: that it measures and draws; and, as a benchmark, the bounds on a check."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from scripts import scaling


def point(depth: int, seconds: float) -> dict[str, Any]:
    figures = {"seconds": seconds, "cpu": seconds, "peak": 100}
    shape = {"depth": depth, "width": 3, "rows": 2, "parameters": depth * 12}
    return {**shape, "plain": figures, "check": figures, "verdicts": ["agree"], "cores": 2}


def test_the_exponent_is_that_of_the_growth() -> None:
    quadratic = [point(depth, 0.01 * depth**2) for depth in (4, 8, 16)]
    assert scaling.slope(quadratic, "depth") == pytest.approx(2.0)
    shown = scaling.table({"depth": quadratic})
    assert "exponent 2.00 (2.00 over the last three points" in shown
    assert shown.count("\n| ") == 3


def test_the_picture_is_well_formed_and_holds_every_point() -> None:
    found = {"depth": [point(4, 0.1), point(8, 0.2)], "parameters": [point(4, 0.1), point(5, 9.0)]}
    root = ElementTree.fromstring(scaling.plot(found))
    assert len(root.findall(".//{*}polyline")) == 4
    assert len(root.findall(".//{*}circle")) == 8
    assert any("exponent 1.00" in (text.text or "") for text in root.findall(".//{*}text"))


def test_a_run_that_was_broken_off_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("RESULTS", "UNFINISHED", "PICTURE"):
        monkeypatch.setattr(scaling, name, tmp_path / name)
    monkeypatch.setattr(scaling, "DEPTHS", (4, 8, 16))
    asked: list[float] = []
    broken = [True]

    def points(series: str, sizes: list[float], *, rounds: int) -> Iterator[dict[str, Any]]:
        for size in sizes:
            asked.append(size)
            if size == 16 and broken:
                broken.clear()
                raise KeyboardInterrupt
            yield point(int(size), size / 100)

    monkeypatch.setattr(scaling, "points", points)
    with pytest.raises(KeyboardInterrupt):
        scaling.main(["--only", "depth"])
    assert not scaling.RESULTS.exists()
    assert scaling.main(["--only", "depth"]) == 0
    assert asked == [4, 8, 16, 16]
    found = json.loads(scaling.RESULTS.read_text())
    assert [p["depth"] for p in found["depth"]] == [4, 8, 16]
    assert not scaling.UNFINISHED.exists() and scaling.PICTURE.exists()


def test_a_small_point_is_measured() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("tensorflow")
    found = scaling.measure(2, 8, 5, rounds=1)
    assert found["verdicts"] == ["agree"] and found["parameters"] == 2 * (8 * 8 + 8)
    assert found["plain"]["cpu"] > 0 and found["check"]["cpu"] > 0


@pytest.mark.benchmark
def test_a_large_pair_costs_little_more_than_its_own_passes() -> None:
    """At most 2.5 times the plain passes of both sides, of processor time."""
    (found,) = scaling.points("parameters", [scaling.PARAMETERS[-1]], rounds=3)
    assert found["check"]["cpu"] <= 2.5 * found["plain"]["cpu"], found


@pytest.mark.benchmark
def test_a_large_pair_is_not_held_twice() -> None:
    """Beyond what the plain passes hold: two models and their gradients once more."""
    (found,) = scaling.points("parameters", [scaling.PARAMETERS[-1]], rounds=1)
    model = found["parameters"] * 4 / 2**20
    activations = 2 * found["rows"] * found["width"] * 4 / 2**20
    assert found["check"]["peak"] - found["plain"]["peak"] <= 4 * model + activations, found


@pytest.mark.benchmark
def test_time_grows_with_depth_and_no_faster() -> None:
    found = list(scaling.points("depth", scaling.DEPTHS[2:], rounds=2))
    assert scaling.slope(found, "depth") <= 1.1, found
