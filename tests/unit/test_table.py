"""Traces as tables, in memory and through ``parity export``."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from parity.cli import main
from parity.table import COLUMNS, VALUES
from parity.trace import Trace

ENTRIES = {
    "forward/q": np.array([[1.5, np.nan], [-2.0, 4.0]], dtype=np.float32),
    "n": np.array([2**62 + 1]),
    'name, "quoted"': np.array([True, False]),
}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


def test_a_row_for_each_entry() -> None:
    columns = Trace(ENTRIES, side="torch").table()
    assert tuple(columns) == COLUMNS
    assert columns["name"] == list(ENTRIES)
    assert columns["position"] == [0, 1, 2]
    assert columns["shape"] == ["2x2", "1", "2"]
    first = {name: column[0] for name, column in columns.items()}
    assert (first["dtype"], first["min"], first["max"], first["nan"]) == ("float32", -2.0, 4.0, 1)
    assert first["mean"] == pytest.approx(3.5 / 3)


def test_a_row_for_each_value() -> None:
    columns = Trace(ENTRIES, side="torch").table(values=True)
    assert tuple(columns) == VALUES
    assert columns["index"] == [0, 1, 2, 3, 0, 0, 1]
    assert columns["value"][2:] == [-2.0, 4.0, 2**62 + 1, True, False]
    assert np.isnan(columns["value"][1])


def test_csv_comes_back(tmp_path: Path) -> None:
    Trace(ENTRIES, side="torch").save(tmp_path / "a.trace")
    result = run(tmp_path / "a.trace", "--csv", tmp_path / "new" / "a.csv", "--values")
    assert result.exit_code == 0, result.output
    assert "7 rows" in result.output
    with (tmp_path / "new" / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == [n for n, a in ENTRIES.items() for _ in range(a.size)]
    assert rows[4]["value"] == str(2**62 + 1)


def test_an_npz_is_a_table_too(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", q=np.arange(3.0))
    assert run(tmp_path / "a.npz", "--csv", tmp_path / "a.csv").exit_code == 0


def test_misuse(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", q=np.arange(3.0))
    for arguments, said in (
        ((tmp_path / "a.npz",), "--csv PATH"),
        ((tmp_path / "gone.npz", "--csv", tmp_path / "a.csv"), "no such file"),
        ((tmp_path / "a.npz", "--csv", tmp_path / "a.npz" / "b.csv"), "a.npz"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2, result.output
        assert said in result.output


def test_parquet_without_pyarrow_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    np.savez(tmp_path / "a.npz", q=np.arange(3.0))
    result = run(tmp_path / "a.npz", "--parquet", tmp_path / "a.parquet")
    assert result.exit_code == 2
    assert "pip install pyarrow" in result.output
    assert not (tmp_path / "a.parquet").exists()


def read_back(tmp_path: Path, *options: str) -> dict[str, list[object]]:
    """What another program finds in the Parquet file of a trace."""
    parquet = pytest.importorskip("pyarrow.parquet")
    Trace(ENTRIES, side="torch").save(tmp_path / "a.trace")
    result = run(tmp_path / "a.trace", *options, "--parquet", tmp_path / "a.parquet")
    assert result.exit_code == 0, result.output
    return dict(parquet.read_table(tmp_path / "a.parquet").to_pydict())


def test_entries_come_back_from_parquet(tmp_path: Path) -> None:
    found, columns = read_back(tmp_path), Trace(ENTRIES, side="torch").table()
    assert found.pop("max_exact") == [None, str(2**62 + 1), None], "float64 cannot hold it"
    assert found.pop("min_exact") == [None, str(2**62 + 1), None]
    floats = {name: [None if v is None else float(v) for v in columns[name]]
              for name in ("min", "max", "mean", "norm")}  # fmt: skip
    assert json.dumps(found) == json.dumps({**columns, **floats}), "as text: NaN equals none"


def test_values_of_several_types_come_back_from_parquet(tmp_path: Path) -> None:
    found = read_back(tmp_path, "--values")
    assert found["name"] == [n for n, a in ENTRIES.items() for _ in range(a.size)]
    assert np.isnan(found["value"][1])
    assert found["value"][2:] == [-2.0, 4.0, float(2**62 + 1), 1.0, 0.0]
    exact = ["4611686018427387905" if i == 4 else None for i in range(7)]
    assert found["value_exact"] == exact, "float64 cannot hold it"


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
def test_values_of_one_type_come_back_as_they_are(tmp_path: Path, dtype: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    array = np.array([0, 1, 3]).astype(dtype)
    np.savez(tmp_path / "a.npz", q=array)
    path = tmp_path / "a.parquet"
    assert run(tmp_path / "a.npz", "--values", "--parquet", path).exit_code == 0
    values = parquet.read_table(path).column("value").to_pylist()
    assert [complex(v) for v in values] == [0, 1, complex(array[2])]
