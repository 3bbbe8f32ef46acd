"""``parity export``: a trace as a table that other tools read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--csv", type=click.Path(path_type=Path), help="Write the table as CSV.")
@click.option("--parquet", type=click.Path(path_type=Path), help="Write it as Parquet (pyarrow).")
@click.option("--values", is_flag=True, help="A row for each value, instead of each entry.")
def export(trace: Path, csv: Path | None, parquet: Path | None, values: bool) -> None:
    """Write a trace (or .npz) as a table, for pandas, pyarrow or a spreadsheet.

    A row for each entry: its dtype, shape and statistics. With --values a row
    for each value: entry, index in C order, value.

    \b
    parity export torch.trace --csv torch.csv
    parity export torch.trace --values --parquet torch.parquet
    """
    from parity.cli import fail
    from parity.cli_files import read_arrays
    from parity.errors import ParityError
    from parity.table import table, write_csv, write_parquet
    from parity.waiting import waiting

    if csv is None and parquet is None:
        fail("parity export: name a file: --csv PATH or --parquet PATH")
    try:
        with waiting(first=f"reading {trace.name}"):
            columns: dict[str, list[Any]] = table(read_arrays(trace), values=values)
        if csv is not None:
            write_csv(csv, columns)
        if parquet is not None:
            write_parquet(parquet, columns)
    except ParityError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    rows = len(columns["name"])
    for path in (csv, parquet):
        if path is not None:
            click.echo(f"{path}: {rows:,} rows")
