"""``parity compare`` and ``parity show``: files of arrays, traces, and results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from parity.report import Report
    from parity.trace import Statistics, Trace

TRACES = (".safetensors", ".trace")


@click.command()
@click.argument("left", type=click.Path(path_type=Path))
@click.argument("right", type=click.Path(path_type=Path))
@click.option("--reference", type=click.Path(path_type=Path), help="Float64 values of an oracle.")
@click.option("--atol", type=float, help="Bound for every entry instead of the dtype's default.")
@click.option("--expect-zero", multiple=True, metavar="GLOB", help="Entries zero on purpose.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole report as JSON.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page to this file.")
@click.option("-v", "--verbose", count=True, help="All differing entries; -vv: agreeing ones too.")
def compare(
    left: Path,
    right: Path,
    reference: Path | None,
    atol: float | None,
    expect_zero: tuple[str, ...],
    as_json: bool,
    html: Path | None,
    verbose: int,
) -> NoReturn:
    """Compare two files of arrays (.npz, .safetensors, traces), entry by entry.

    Traces are read block by block: they may be larger than memory. Of entries
    that hold statistics only, what can be compared is, and the rest is no pass.

    \b
    parity compare torch.npz tf.npz
    parity compare torch.trace tf.trace --reference float64.npz --json
    """
    from parity.api import compare as compare_sides
    from parity.cli import AGREE, DIFFER, again, fail, write_html
    from parity.cli import show as show_report
    from parity.details import collecting
    from parity.errors import ParityError
    from parity.waiting import waiting

    try:
        with waiting(first=f"comparing {left.name} and {right.name}"), collecting(html is not None):
            sides: dict[str, Any] = {"torch": read_arrays(left), "tf": read_arrays(right)}
            if reference is not None:
                sides["reference"] = read_arrays(reference)
            report = compare_sides(**sides, tolerance=atol, expect_zero=expect_zero)
        if left.resolve() == right.resolve():  # a file always agrees with itself
            report = one_file(report)
        write_html(report.with_(reproduce=again()), html)
    except ParityError as error:
        fail(str(error))
    show_report(report, as_json=as_json, verbosity=verbose)
    sys.exit(AGREE if report.passed else DIFFER)


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--failed", is_flag=True, help="Only checks that did not pass.")
@click.option("--json", "as_json", is_flag=True, help="A trace: print as JSON.")
def show(path: Path, failed: bool, as_json: bool) -> NoReturn:
    """Print results of ``pytest --parity-json=PATH``, or what a trace holds.

    \b
    parity show parity.json --failed
    parity show torch.trace
    """
    from parity.cli import AGREE, DIFFER, fail
    from parity.errors import ParityError

    try:
        if path.suffix in TRACES:
            _show_trace(path, as_json)
            sys.exit(AGREE)
        passed = _show_results(path, failed)
    except ParityError as error:
        fail(str(error))
    sys.exit(AGREE if passed else DIFFER)


def _show_results(path: Path, failed: bool) -> bool:
    """The table of a run; returns whether every check passed, and there was one."""
    from parity.results import read_results
    from parity.summary import results_table

    document = read_results(path)
    checks = document["checks"]
    passing = {"agree", "rounding", "chaos"}
    bad = [row for row in checks if row["verdict"] not in passing]
    for line in results_table(bad if failed else checks):
        click.echo(line)
    for row in bad:
        place = f" at {row['first_divergence']}" if row.get("first_divergence") else ""
        click.echo(f"{row['verdict']}: {row['id']}{place}")
    raised = document["errors"]
    for failure in raised:
        click.echo(f"raised: {failure['id']}: {failure['message']}")
    click.echo(f"{len(checks)} checks, {len(checks) - len(bad)} passed, {len(bad)} failed")
    return bool(checks) and not bad and not raised


def _show_trace(path: Path, as_json: bool) -> None:
    """An entry per line, with its statistics; values are read block by block, and verified."""
    import json

    from parity import progress
    from parity.trace import Statistics, describe, open_arrays
    from parity.waiting import waiting

    with open_arrays(path) as reader:
        rows: list[Any] = []
        with waiting(first=f"reading {path.name}"), progress.work(len(reader), "entries"):
            for name in reader:
                entry = reader.entry(name)
                found = entry if isinstance(entry, Statistics) else describe(entry)
                kept = "statistics" if isinstance(entry, Statistics) else "values"
                rows.append(_facts(name, kept, found) if as_json else _line(name, found))
                progress.did("entries")
        if as_json:
            head = {"side": reader.side, "detail": reader.detail, "meta": reader.meta}
            click.echo(json.dumps({**head, "entries": rows}, indent=1))
            return
        click.echo(f"{reader.side or path.name}: {len(reader)} entries, {reader.detail}")
        click.echo(f"{'entry':<32} {'dtype':<8} {'shape':<13} {'mean':>11} {'norm':>11}")
        for row in rows:
            click.echo(row)


def _facts(name: str, kept: str, found: Statistics) -> dict[str, Any]:
    facts = {"dtype": str(found.dtype), "shape": list(found.shape)}
    row = {"name": name, "kept": kept, **facts, "sha256": found.sha256}
    return {**row, **found.to_json()}


def _line(name: str, found: Statistics) -> str:
    from parity.text import column, cut

    odd = "".join(
        f" {count:,} {what}" for count, what in ((found.nan, "nan"), (found.inf, "inf")) if count
    )
    shape = cut("x".join(map(str, found.shape)) or "scalar", 13)
    return (
        f"{column(name, 32)} {found.dtype!s:<8} {shape:<13} "
        f"{_figure(found.mean):>11} {_figure(found.norm):>11}{odd}"
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def one_file(report: Report) -> Report:
    """The report of a file that was compared with itself."""
    from parity.report import Problem, judge

    same = Problem("same-object", details={"sides": ["torch", "tf"]})
    return judge(report.with_(problems=(*report.problems, same)))


def read_arrays(path: Path) -> Trace:
    """The arrays of a ``.npz`` or safetensors file, in the file's order, as a trace.

    Entries of a safetensors file are read when they are compared.

    Raises:
        InvalidInput: the file is missing, damaged, of another kind, or holds objects.
    """
    import zipfile

    import numpy as np

    from parity.errors import InvalidInput
    from parity.trace import Trace, open_arrays

    if not path.is_file():
        raise InvalidInput(f"{path}: no such file")
    if path.suffix == ".npz":
        try:
            # np.load leaves the file open where it is not a zip after all
            with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                return Trace({name: file[name] for name in file.files}, side=path.name)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise InvalidInput(f"{path}: not a readable .npz of numbers ({error})") from None
    if path.suffix in TRACES:
        return open_arrays(path)
    raise InvalidInput(f"{path}: a file of arrays ends in .npz, .safetensors or .trace")
