"""Traces as plain columns: what pandas and pyarrow take, without needing either."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parity import progress
from parity.errors import InvalidInput
from parity.trace.atomic import write_atomic
from parity.trace.statistics import Statistics, describe

if TYPE_CHECKING:
    from parity.trace import Trace

COLUMNS = ("position", "name", "dtype", "shape", "size", "min", "max", "mean", "norm", "nan", "inf")
"""Of the table of entries; ``position`` is the place in execution order."""
VALUES = ("position", "name", "index", "value")
"""Of the table of values; ``index`` counts in C order."""


def table(trace: Trace, *, values: bool = False) -> dict[str, list[Any]]:
    """A trace as columns of equal length: ``pandas.DataFrame(table(trace))``.

    Args:
        trace: in memory or in a file; a file is read entry by entry.
        values: a row for each value instead of each entry. Integers and booleans stay exact;
            complex numbers become text.

    Raises:
        InvalidInput: values are asked for, and the trace holds statistics only.
    """
    names, rows = (VALUES, _values(trace)) if values else (COLUMNS, _entries(trace))
    columns: dict[str, list[Any]] = {name: [] for name in names}
    with progress.work(len(trace), "entries"):
        for row in rows:
            for name, cell in zip(names, row, strict=True):
                columns[name].append(cell)
    return columns


def write_csv(path: Path, columns: Mapping[str, list[Any]]) -> None:
    """Write columns as CSV; the file appears whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_atomic(path, text.getvalue().encode("utf-8", "replace"))


def write_parquet(path: Path, columns: Mapping[str, list[Any]]) -> None:
    """Write columns as Parquet; the file appears whole or not at all.

    Raises:
        InvalidInput: pyarrow is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise InvalidInput(
            f"{path}: Parquet needs pyarrow, which is not installed: pip install pyarrow "
            "(or 'parity[export]'), or write --csv"
        ) from None
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(_typed(columns)), sink)
    write_atomic(path, sink.getvalue().to_pybytes())


def _typed(columns: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns of one type each: where numbers of several mix, they are float64.

    Whole numbers that float64 cannot hold keep their digits in a column of text beside it,
    ``value_exact``.
    """
    made: dict[str, list[Any]] = {}
    for name, column in columns.items():
        kinds = {type(v) for v in column if v is not None}
        if len(kinds) < 2:
            made[name] = column
            continue
        if str in kinds:  # complex numbers among others
            made[name] = [None if v is None else str(v) for v in column]
            continue
        made[name] = [None if v is None else float(v) for v in column]
        exact = [str(v) if isinstance(v, int) and int(float(v)) != v else None for v in column]
        if any(exact):
            made[f"{name}_exact"] = exact
    return made


def _entries(trace: Trace) -> Iterator[tuple[Any, ...]]:
    for position, name in enumerate(trace):
        progress.did("entries")
        entry = trace.entry(name)
        s = entry if isinstance(entry, Statistics) else describe(entry)
        shape = "x".join(map(str, s.shape))
        yield (position, name, str(s.dtype), shape, s.size, s.min, s.max, s.mean, s.norm,
               s.nan, s.inf)  # fmt: skip


def _values(trace: Trace) -> Iterator[tuple[Any, ...]]:
    for position, name in enumerate(trace):
        if isinstance(trace.entry(name), Statistics):
            raise InvalidInput(f"{name} is kept as statistics only; its values are not there")
        progress.did("entries")
        flat = trace[name].reshape(-1)
        plain = flat.astype(np.float64) if flat.dtype.name == "bfloat16" else flat
        cells = [str(v) for v in plain] if plain.dtype.kind == "c" else plain.tolist()
        yield from ((position, name, index, cell) for index, cell in enumerate(cells))
